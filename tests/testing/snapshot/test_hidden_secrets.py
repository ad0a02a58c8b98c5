"""Files of snapshots: a broker goes on with its secrets, and nobody reads them in the file."""

from pathlib import Path

import pytest

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.snapshot.file_format import decode, encode
from fakebroker.testing.snapshot.snapshot import Snapshot
from fakebroker.testing.virtual_broker import VirtualBroker

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="bobs-own-secret";'
CONFIG = {"sasl.jaas.config": JAAS, "delegation.token.secret.key": "the-key"}


def test_a_file_has_no_secret_that_can_be_read_and_a_broker_from_it_has_all(tmp_path: Path) -> None:
    """Settings of the options, tokens; users log in as before."""
    broker = VirtualBroker(users={"alice": "alices-own-secret"}, config=CONFIG)
    token = broker.users.create_token("alice")
    broker.snapshot().save(tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    for secret in (b"bobs-own", b"the-key", b"alices-own", token.secret().encode()):
        assert secret not in content

    fork = Snapshot.load(tmp_path / "file").virtual_fork()
    assert fork.snapshot().state.options == broker.snapshot().state.options
    for user, password in (("alice", "alices-own-secret"), ("bob", "bobs-own-secret")):
        assert fork.client("a", user=user, password=password).metadata().brokers
    assert fork.users.token(token.token_id).secret() == token.secret()


def test_a_file_whose_hidden_text_is_none_is_damaged() -> None:
    """It is reported as any damage, whoever wrote the file."""
    state = VirtualBroker().snapshot().state
    for text in ("\0hidden xy", "\0hidden 00ff"):
        bad = state._replace(options=state.options._replace(config={"num.partitions": text}))
        with pytest.raises(InvalidArgument, match="is damaged"):
            decode(encode(bad), "file")
