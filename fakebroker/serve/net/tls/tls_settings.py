"""What the settings of a listener say of TLS, under Kafka's names: `ssl.keystore.location` and the like."""

from pathlib import Path
from typing import NamedTuple

from fakebroker.broker.settings import Settings
from fakebroker.platform.files import regular_file
from fakebroker.protocol.errors import SettingError
from fakebroker.protocol.listeners import Listener
from fakebroker.serve.host_reads import HostReads

PEM, PKCS12, JKS = "PEM", "PKCS12", "JKS"
_PEM_BEGIN, _JKS_BEGIN = b"-----BEGIN", b"\xfe\xed\xfe\xed"
STORE_SETTINGS = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.key.password",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.certificates",
)
"""What says which keys and certificates a listener has."""
# Of a keystore or truststore. What has changed is read again: if a client can write the file, for each connection.
MAX_BYTES = 1024 * 1024
# What tells one content of a file from another, without reading it; of a file that is not there, nothing.
Stamp = tuple[int, int, int]


class Store(NamedTuple):
    """A keystore or a truststore: a file, or text in PEM. `name` is that of its settings: "ssl.keystore"."""

    name: str
    location: str
    password: str
    text: str  # of certificates, if there is no file
    key_text: str = ""
    key_password: str = ""
    refusal: str = ""  # why the broker does not read the file, although it is named

    @property
    def is_given(self) -> bool:
        """Whether there is a file or a text."""
        return bool(self.location or self.text)

    def stamp(self) -> Stamp | None:
        """Another one once the file has changed."""
        if self.refusal:
            return None
        try:
            status = Path(self.location).stat()
        except (OSError, ValueError):  # no path has a NUL
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def read(self) -> tuple[str, bytes]:
        """The kind of the file ("PEM" or "PKCS12") and what is in it. Raises SettingError.

        The kind is what the file is, whatever `ssl.keystore.type` says: Java, too, reads a PKCS12 file as the JKS that
        is Kafka's default.
        """
        if self.refusal:
            raise self.wrong(self.refusal)
        try:
            content = _content_of(self.location)
        except OSError as error:
            raise self.wrong(f"cannot read {self.location}: {error.strerror}") from None
        except ValueError as error:
            raise self.wrong(f"cannot read {self.location!r}: {error}") from None
        if len(content) > MAX_BYTES:
            raise self.wrong(f"{self.location} is larger than {MAX_BYTES:,} bytes")
        if content.startswith(_JKS_BEGIN):
            advice = "keytool -importkeystore -srckeystore FILE -destkeystore NEW -deststoretype PKCS12"
            raise self.wrong(f"{self.location} is a JKS file, which only Java can read: convert it with {advice}")
        return (PEM if _PEM_BEGIN in content else PKCS12), content

    def wrong(self, problem: str) -> SettingError:
        """The error of a store that cannot be used."""
        return SettingError(f"{self.name}.location: {problem}")


def _content_of(path: str) -> bytes:
    """The beginning of a regular file, up to one byte more than MAX_BYTES. Raises OSError.

    Clients that may alter configs name files while the broker runs (KIP-226). A named pipe would wait for its writer,
    a device such as /dev/zero never ends, and both would stop the broker.
    """
    with regular_file(path, "rb") as file:
        return file.read(MAX_BYTES + 1) or b""  # a file of the kernel may have nothing yet


class TlsSettings(NamedTuple):
    """What one listener does by TLS."""

    keystore: Store
    truststore: Store
    client_auth: str
    protocols: tuple[str, ...]
    mapping_rules: str
    has_sasl: bool  # who the client is comes by its login, not by its certificate


def read_settings(settings: Settings, listener: Listener, host_reads: HostReads) -> TlsSettings:
    """The settings of TLS in force for a listener. Raises SettingError if there is no certificate for it."""

    def text(name: str) -> str:
        value = settings.of_listener(listener.name, name)
        return value if isinstance(value, str) else ""

    protocols = settings.of_listener(listener.name, "ssl.enabled.protocols")
    keystore = Store(
        "ssl.keystore",
        text("ssl.keystore.location"),
        text("ssl.keystore.password"),
        text("ssl.keystore.certificate.chain"),
        text("ssl.keystore.key"),
        text("ssl.key.password"),
        refusal=host_reads.refusal(text("ssl.keystore.location")),
    )
    if not keystore.location and not (keystore.text and keystore.key_text):
        raise SettingError(
            f"the listener {listener.name} needs a certificate: set ssl.keystore.location, or "
            f"ssl.keystore.key and ssl.keystore.certificate.chain (`fakebroker tls DIRECTORY` makes "
            f"some for tests, as fakebroker.tls does)"
        )
    truststore = Store(
        "ssl.truststore",
        text("ssl.truststore.location"),
        text("ssl.truststore.password"),
        text("ssl.truststore.certificates"),
        refusal=host_reads.refusal(text("ssl.truststore.location")),
    )
    return TlsSettings(
        keystore,
        truststore,
        _client_auth(settings, listener),
        protocols if isinstance(protocols, tuple) else (),
        text("ssl.principal.mapping.rules"),
        listener.has_sasl,
    )


def _client_auth(settings: Settings, listener: Listener) -> str:
    """`ssl.client.auth`. Where clients log in by SASL, only what is set for that listener alone counts, as in Kafka."""
    own = f"listener.name.{listener.name.lower()}.ssl.client.auth"
    if listener.has_sasl and not settings.is_given_at_start(own):
        return "none"
    return str(settings.of_listener(listener.name, "ssl.client.auth"))
