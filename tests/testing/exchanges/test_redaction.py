"""No secret leaves the process: not in rows, files, captures, logs or stories."""

from pathlib import Path

import pytest

from fakebroker.broker.engine.journal import Exchange, Journal, Peer
from fakebroker.broker.settings.declare import PASSWORD
from fakebroker.broker.settings.table import BROKER
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.schema import Bytes, Message, Str, Struct, field
from fakebroker.protocol.schema.entities import has_secrets
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest
from fakebroker.protocol.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.exchanges.redaction import REDACTED, is_secret_setting
from fakebroker.testing.exchanges.writing import line_of
from fakebroker.testing.journal.pcap import write_pcap
from fakebroker.testing.journal.request_log import line_of as log_line_of
from fakebroker.testing.journal.rows import rows_of
from tests.support.frames import request

SECRET = "hunter2-hunter2"
PASSWORDS = [setting.name for setting in BROKER.values() if setting.type == PASSWORD]


def exchange_of(frame: bytes) -> Exchange:
    journal = Journal()
    journal.exchange(Peer(1, "/127.0.0.1", 1), frame[4:], None, Instant(0, 0), Instant(0, 0))
    return journal.requests()[0]


def altering(name: str, value: str = SECRET, padding: int = 0) -> Exchange:
    configs = [
        AlterableConfig(name=name, value=value),
        AlterableConfig(name="retention.ms", value="1" * padding or "5"),
    ]
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=configs)
    return exchange_of(bytes(4) + encode_request(AlterConfigsRequest(resources=[resource]), 2, 1, "c"))


def everything_said_of(exchange: Exchange, path: Path) -> bytes:
    write_pcap([exchange], path)
    rows = b"".join(line_of(row) for row in rows_of(exchange, "r"))
    return rows + path.read_bytes() + log_line_of(exchange).encode() + repr(exchange).encode()


@pytest.mark.parametrize("name", [*PASSWORDS, "listener.name.x.ssl.key.password", "my.own.setting"])
def test_passwords_in_settings_are_replaced(name: str, tmp_path: Path) -> None:
    """Settings of type password, and those that nobody knows, as DescribeConfigs hides them; others are shown."""
    exchange = altering(name)
    said = everything_said_of(exchange, tmp_path / "p.pcap")

    assert SECRET.encode() not in said
    assert REDACTED.encode() in said
    assert b"retention.ms" in said
    assert exchange.request.resources[0].configs[0].value == SECRET


def test_a_request_that_cannot_be_read_whole_is_blank(tmp_path: Path) -> None:
    """Of a cut or malformed request of such an API nothing but the header is captured."""
    cut = altering("ssl.key.password", padding=10_000)
    torn = exchange_of(request("AlterConfigs", 2, resources=[])[:-1] + b"\x05" + SECRET.encode())

    for exchange in (cut, torn):
        assert exchange.request is None
        assert SECRET.encode() not in everything_said_of(exchange, tmp_path / "p.pcap")


def test_known_settings_of_any_scope_are_shown() -> None:
    """A value that is no secret helps whoever reads the journal."""
    assert not any(map(is_secret_setting, ("retention.ms", "num.partitions", "consumer.session.timeout.ms")))
    assert is_secret_setting("ssl.keystore.password")


def test_which_messages_may_have_secrets() -> None:
    """Found by what their fields mean, in whatever API: those with settings, and those with secrets."""

    class ScramThing(Struct):
        proof: Bytes = field("0+", entity="secret")

    class AuthenticateLike(Message, versions="0"):
        name: Str = field("0+")
        things: list[ScramThing] = field("0+")

    assert has_secrets(AuthenticateLike)
    assert has_secrets(IncrementalAlterConfigsRequest)
    assert not has_secrets(HeartbeatRequest)
    assert [api.name for api in APIS.values() if has_secrets(api.request)] == [
        "CreateTopics", "AlterConfigs", "SaslAuthenticate", "RenewDelegationToken", "ExpireDelegationToken",
        "IncrementalAlterConfigs", "AlterUserScramCredentials",
    ]  # fmt: skip
