"""A broker with a listener of each security protocol, and the client properties for each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fakebroker import FakeBroker
from fakebroker.client.cluster.client_properties import security_of
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.errors import NotLetIn
from fakebroker.protocol.listeners import PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL
from tests.support.tls import authority, stranger

PASSWORD = "a-secret-that-no-text-may-have"
LISTENERS = {
    PLAINTEXT: PLAINTEXT,
    SSL: SSL,
    SASL_PLAINTEXT: SASL_PLAINTEXT,
    SASL_SSL: SASL_SSL,
    "MUTUAL": SSL,  # which wants a certificate of the client
    "ONLY_PLAIN": SASL_PLAINTEXT,
}
SECURED = (SSL, SASL_PLAINTEXT, SASL_SSL)
CA = {"ssl.ca.location": str(authority().ca_file)}
LOGIN = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": PASSWORD}
_TLS = {"security.protocol": SSL, **CA}
_SASL = {"security.protocol": SASL_PLAINTEXT, **LOGIN}


class Refused(NamedTuple):
    """A connection that does not come about: to which listener, with which properties, and what is said of it."""

    listener: str
    properties: dict[str, str]
    pattern: str


REFUSED = {
    "plain to TLS": Refused(SSL, {}, "speaks TLS: security.protocol is SSL or SASL_SSL there"),
    "TLS to plain": Refused(
        PLAINTEXT,
        _TLS,
        "no TLS handshake: .*; if the listener has no TLS, security.protocol is PLAINTEXT",
    ),
    "no login": Refused(
        SASL_PLAINTEXT, {}, r"wants a login \(SASL: .*PLAIN.*\): set security.protocol=SASL_PLAINTEXT or SASL_SSL, sasl"
    ),
    "a login to plain": Refused(
        PLAINTEXT, _SASL, "the login failed: the listener takes no logins; its security protocol is PLAINTEXT or SSL"
    ),
    "another password": Refused(
        SASL_PLAINTEXT,
        {**_SASL, "sasl.password": "guessed"},
        "the login failed: <credentials of alice for PLAIN> were refused: Authentication failed",
    ),
    "another mechanism": Refused(
        "ONLY_PLAIN",
        {**_SASL, "sasl.mechanism": "SCRAM-SHA-512"},
        "the login failed: the listener has no mechanism SCRAM-SHA-512; it offers PLAIN",
    ),
    "another authority": Refused(
        SSL,
        {"security.protocol": SSL, "ssl.ca.location": str(stranger().ca_file)},
        "certificate is not accepted: .*; ssl.ca.location names the authorities that are trusted",
    ),
    "another host": Refused(
        SSL,
        {**_TLS, "fakebroker.ssl.server.name": "kafka.example"},
        "the broker's certificate is not accepted: .*kafka.example",
    ),
    "no certificate": Refused("MUTUAL", _TLS, "set ssl.certificate.location and ssl.key.location"),
}


def refusal(bootstrap: str, refused: Refused) -> str:
    """What the client says; it has no secret in it."""
    security = security_of(refused.properties, "client.properties")
    with ClusterClient(bootstrap, security=security) as cluster, pytest.raises(NotLetIn) as error:
        cluster.topics()
    assert PASSWORD not in str(error.value)
    return str(error.value)


KAFKA_SETTINGS = {
    **authority().broker_config(),
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "listener.name.mutual.ssl.client.auth": "required",
    "listener.name.only_plain.sasl.enabled.mechanisms": "PLAIN",
    **{
        f"listener.name.{name}.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule"
        f' required user_alice="{PASSWORD}";'
        for name in ("sasl_plaintext", "sasl_ssl", "only_plain")
    },
    **dict.fromkeys(
        (f"listener.name.{name}.scram-sha-512.sasl.jaas.config" for name in ("sasl_plaintext", "sasl_ssl")),
        "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    ),
}
"""The settings of a real Kafka with the same listeners; alice has a password for PLAIN only."""


@contextmanager
def secured_broker(first: str = PLAINTEXT, **options: Any) -> Iterator[FakeBroker]:
    """A broker with all of `LISTENERS`; `first` is the one that `bootstrap` and its scripted clients are for."""
    names = [first, *(name for name in LISTENERS if name != first)]
    config = {
        **authority().broker_config(),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.only_plain.sasl.enabled.mechanisms": "PLAIN",
        **options.pop("config", {}),
    }
    listen = [f"{name}://localhost:0" for name in names]
    with FakeBroker(listen=listen, users={"alice": PASSWORD}, config=config, **options) as broker:
        yield broker


def properties_of(protocol: str, mechanism: str = "SCRAM-SHA-512") -> str:
    """The text of client properties for a listener of this protocol."""
    return (
        f"security.protocol={protocol}\n"
        "ssl.truststore.type=PEM\n"
        f"ssl.truststore.location={authority().ca_file}\n"
        f"sasl.mechanism={mechanism}\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        f'  username="alice" password="{PASSWORD}";\n'
    )


def command_config(folder: Path, protocol: str) -> str:
    """The path of a file with `properties_of` the protocol."""
    path = folder / f"{protocol}.properties"
    path.write_text(properties_of(protocol))
    return str(path)
