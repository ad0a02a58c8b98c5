"""No secret that a broker has heard comes out of it again: not by the journal, the log, the story, HTTP or an error.

Everything that there is to log in with is used, rightly and wrongly; then all that a broker tells is searched for it.
"""

import asyncio
import hashlib
import json
import logging
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker
from fakebroker.cli.http.operations import OPERATIONS
from fakebroker.client.login import LoginRefused
from fakebroker.client.scram import HASHES
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.tokens import TokenAuthority
from tests.support.control import Client, with_control

ALICE, BOB, WRONG, NEWER = "alices-own-secret", "bobs-own-secret", "a-wrong-secret", "a-newer-secret"
SECRET_KEY, CLIENT_SECRET, CONTROL = "the-brokers-own-secret", "the-oauth-clients-secret", "the-control-tokens-secret"
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="{BOB}";'
SALTED = hashlib.pbkdf2_hmac("sha256", NEWER.encode(), b"salt" * 4, 4096)


def use_secrets(broker: AsyncFakeBroker, authority: TokenAuthority) -> list[str | bytes]:
    """Log in by everything, with right and wrong secrets; returns those that were made on the way."""
    for mechanism in ("PLAIN", *HASHES):
        broker.client("a", user="alice", password=ALICE, mechanism=mechanism).metadata()
        with pytest.raises(LoginRefused) as refused:
            broker.client("a", user="alice", password=WRONG, mechanism=mechanism)
        assert WRONG not in f"{refused.value!r}"
    alice = broker.client("a", user="bob", password=BOB)
    alice.request("AlterUserScramCredentials", 0, deletions=[], upsertions=[
        {"name": "carol", "mechanism": 1, "iterations": 4096, "salt": b"salt" * 4, "salted_password": SALTED},
    ])  # fmt: skip
    broker.client("c", user="carol", password=NEWER, mechanism="SCRAM-SHA-256").metadata()
    broker.users.add("dora", NEWER)
    with pytest.raises(InvalidArgument) as wrong:
        broker.users.add("", NEWER)
    assert NEWER not in f"{wrong.value!r} {wrong.value} {wrong.value.value}"

    tokens = [authority.token("eve"), authority.token("eve", lifetime_s=-100), authority.forged("eve")]
    assert broker.client("e", token=tokens[0]).metadata().brokers
    for token in tokens[1:]:
        with pytest.raises(LoginRefused):
            broker.client("e", token=token)
    made: Any = alice.request("CreateDelegationToken", 3, renewers=[], max_lifetime_ms=-1)
    for period_ms in (100_000, 200_000):
        alice.request("RenewDelegationToken", 2, hmac=made.hmac, renew_period_ms=period_ms)
    alice.request("DescribeDelegationToken", 3, owners=None)
    holder = broker.client("f")
    holder.login(made.token_id, b64encode(made.hmac).decode(), delegation_token=True)
    use_raw_login(broker)
    broken = broker.client("g")
    broken.request("SaslHandshake", 1, mechanism="PLAIN")
    broken.request("SaslAuthenticate", 2, auth_bytes=f"{WRONG}\0{WRONG}".encode())
    settings = [{"name": "listener.name.x.sasl.jaas.config", "config_operation": 0, "value": JAAS}]
    resources = [{"resource_type": 4, "resource_name": "1", "configs": settings}]
    alice.request("IncrementalAlterConfigs", 1, resources=resources)
    alice.request("DescribeConfigs", 4, resources=[{"resource_type": 4, "resource_name": "1"}])
    return [*tokens, *(token.rpartition(".")[2] for token in tokens[:1]), made.hmac, SALTED]


def use_raw_login(broker: AsyncFakeBroker) -> None:
    """A password that comes bare, after the oldest handshake."""
    client = broker.client("r")
    client.request("SaslHandshake", 0, mechanism="PLAIN")
    message = f"\0alice\0{WRONG}".encode()
    client.steps.connection.send_bytes(len(message).to_bytes(4, "big") + message)
    client.clients.driver.flush(client.steps.connection)


def forms(secret: str | bytes) -> Iterator[bytes]:
    """How it could stand somewhere."""
    data = secret.encode() if isinstance(secret, str) else secret
    yield data
    yield data.hex().encode()
    yield b64encode(data).rstrip(b"=")
    if isinstance(secret, bytes):
        yield repr(secret)[2:-1].encode()


async def texts_over_http(client: Client) -> dict[str, str]:
    """What the HTTP API answers: each list, and refusals of bad arguments."""
    paths = [row.path for row in OPERATIONS if row.verb == "GET" and not row.in_path]
    texts = {path: (await client.ask("GET", path)).text for path in [*paths, "/metrics", "/openapi.json"]}
    (token,) = json.loads(texts["/delegation_tokens"])
    texts["a token"] = (await client.ask("GET", f"/delegation_tokens/{token['token_id']}")).text
    texts["a user"] = (await client.ask("PUT", "/users/x", {"password": NEWER})).text
    for body in ({"password": "", "secret": "x"}, {"password": [WRONG]}, {"password": {"a": WRONG}}):
        texts[f"refusal {body}"] = (await client.ask("PUT", "/users/y", body)).text
    for users in ({"a": 5, "b": WRONG}, [WRONG], {"": WRONG}):
        texts[f"refusal {users}"] = (await client.ask("POST", "/brokers", {"users": users})).text
    return texts


def test_secrets_do_not_come_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are searched for as text, hexadecimal and base64."""
    caplog.set_level(logging.DEBUG)
    texts: dict[str, str | bytes] = {}
    secrets: list[str | bytes] = [ALICE, BOB, WRONG, NEWER, SECRET_KEY, CLIENT_SECRET, CONTROL]

    with TokenAuthority(clients={"svc": CLIENT_SECRET}) as authority:
        config = authority.settings() | {
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS,
            "delegation.token.secret.key": SECRET_KEY,
        }

        async def use(client: Client) -> None:
            broker = client.broker
            client.http.headers["Authorization"] = f"Bearer {CONTROL}"
            secrets.extend(await asyncio.to_thread(use_secrets_from_thread, broker, authority))
            texts.update(await texts_over_http(client))
            texts["story"] = broker.story()
            texts["journal"] = json.dumps(broker.journal.rows())
            texts["brief"] = repr(broker.journal.brief())
            texts["entries"] = "\n".join(map(repr, broker.journal.entries()))
            for name, write in {"lines": "save", "trace": "export_trace", "pcap": "export_pcap"}.items():
                getattr(broker.journal, write)(tmp_path / name)
            broker.snapshot().save(tmp_path / "snapshot")
            texts["snapshot"] = repr(broker.snapshot())

        with_control(
            use, token=CONTROL, config=config, users={"alice": ALICE}, verbose=True, journal_dir=tmp_path / "all"
        )

    texts["log"] = caplog.text
    texts |= {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert caplog.text.count("refused") > 3  # it has been listened to
    found = [
        (place, secret)
        for place, text in texts.items()
        for secret in secrets
        for form in forms(secret)
        if form in (text.encode() if isinstance(text, str) else text)
    ]
    assert found == []


def use_secrets_from_thread(broker: AsyncFakeBroker, authority: TokenAuthority) -> list[str | bytes]:
    """Scripted clients block, so they are in a thread; powers are called in the broker's loop."""
    loop_broker: Any = FromLoop(broker)
    return use_secrets(loop_broker, authority)


class FromLoop:
    """The clients of a broker, and its users by its own thread."""

    def __init__(self, broker: AsyncFakeBroker) -> None:
        self.client = broker.client
        self.users = broker.users
