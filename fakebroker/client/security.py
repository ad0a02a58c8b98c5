"""How a client connects to a secured broker: over TLS, with a login, or both. Data only; nothing here connects."""

from dataclasses import dataclass, field

from fakebroker.client.login import Credentials
from fakebroker.protocol.listeners import PLAINTEXT


@dataclass(frozen=True)
class Tls:
    """The client's side of TLS. Texts are PEM; without `authorities` those of the system are trusted.

    `server_name` replaces the host of the address, for a broker that is reached by another name than its certificate's.
    """

    authorities: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)
    verifies: bool = True
    checks_host: bool = True
    server_name: str = ""


@dataclass(frozen=True)
class Security:
    """A security protocol of Kafka, and what it needs."""

    protocol: str = PLAINTEXT
    tls: Tls | None = None
    credentials: Credentials | None = None


@dataclass(frozen=True)
class ClientConfig:
    """A running Kafka: HOST:PORT of one broker or several, with commas between, and how to connect to them.

    `file` is the path of the client properties that `security` was read from.
    """

    bootstrap: str
    security: Security = Security()
    file: str = ""
