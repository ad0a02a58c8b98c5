"""A broker with a listener of each security protocol, and the client properties for each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fakebroker import FakeBroker
from fakebroker.protocol.listeners import PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL
from tests.support.tls import authority

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
