"""The authority: it signs certificates for brokers and clients, and revokes them."""

from atexit import register
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from fakebroker.broker.core.security.distinguished_names import subject_of
from fakebroker.testing.certificates.certificate import PASSWORD, Certificate
from fakebroker.testing.certificates.client_configs import client_config
from fakebroker.testing.certificates.stores import (
    crypto_missing,
    pem_of,
    pem_of_key,
    write_pkcs12,
    write_private,
    write_truststore,
)

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ModuleNotFoundError:
    raise crypto_missing() from None

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
VALID_FOR = timedelta(days=365)
_DAY = timedelta(days=1)
_BOTH_SIDES = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
_OF_AUTHORITY = timedelta(days=3650)  # before and after now: longer than those that it signs


class CertificateAuthority:
    """A certificate authority of its own: two of them do not trust each other's certificates."""

    def __init__(self, directory: str | Path | None = None, name: str = "fakebroker test authority") -> None:
        """Its files are written to `directory`, which is made; without one to a temporary one of this process."""
        self.directory = Path(directory or _temporary_directory())
        self.directory.mkdir(parents=True, exist_ok=True)
        self._key: ec.EllipticCurvePrivateKey = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._sign_itself()
        self._revoked: list[Certificate] = []
        self._made: dict[str, int] = {}  # names of files, and how many there are
        self._broker: Certificate | None = None
        self._write_trust()

    @property
    def ca_file(self) -> Path:
        """The authority's own certificate in PEM: what clients and brokers trust."""
        return self.directory / "ca.pem"

    @property
    def crl_file(self) -> Path:
        """The list of revoked certificates in PEM, for clients that look at one; empty of entries at first."""
        return self.directory / "crl.pem"

    @property
    def truststore_file(self) -> Path:
        """What a broker trusts: the authority's certificate and the list of those that it revoked, in PEM."""
        return self.directory / "truststore.pem"

    @property
    def truststore_pkcs12_file(self) -> Path:
        """The authority's certificate as a truststore of Java in PKCS12, which opens with "fakebroker"."""
        return self.directory / "truststore.p12"

    # Certificates

    def issue(
        self,
        *hosts: str,
        common_name: str | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
    ) -> Certificate:
        """A certificate for a broker at these hosts, names or addresses; for this machine unless some are given.

        It is valid from a day ago until in a year, unless said otherwise.
        """
        names = hosts or LOCAL_HOSTS
        return self._issue(common_name or names[0], names, valid_from, valid_to)

    def issue_client(
        self, common_name: str, valid_from: datetime | None = None, valid_to: datetime | None = None
    ) -> Certificate:
        """A certificate for a client: its principal is "User:CN=<common_name>"."""
        return self._issue(common_name, (), valid_from, valid_to)

    def issue_expired(self, common_name: str | None = None) -> Certificate:
        """One that expired a day ago, for a broker on this machine; with a `common_name` for that client."""
        now = _now()
        return self._of_either(common_name, now - 10 * _DAY, now - _DAY)

    def issue_not_yet_valid(self, common_name: str | None = None) -> Certificate:
        """One that is valid from tomorrow on, for a broker on this machine; with a `common_name` for that client."""
        now = _now()
        return self._of_either(common_name, now + _DAY, now + 10 * _DAY)

    def issue_wrong_host(self) -> Certificate:
        """One for a broker at a host where none of a test is: "wrong-host.example"."""
        return self.issue("wrong-host.example")

    def issue_revoked(self, common_name: str | None = None) -> Certificate:
        """One that was revoked at once, for a broker on this machine; with a `common_name` for that client."""
        certificate = self._of_either(common_name, None, None)
        self.revoke(certificate)
        return certificate

    def revoke(self, certificate: Certificate) -> None:
        """Revoke a certificate. Brokers with this `truststore_file` refuse it from their next connection on."""
        self._revoked.append(certificate)
        self._write_trust()

    # Settings

    def broker_config(self, client_auth: str = "none", certificate: Certificate | None = None) -> dict[str, str]:
        """Settings of a broker whose listeners speak TLS, by Kafka's names.

        Without a `certificate` it has a good one for this machine. `client_auth` says whether clients have to show one
        of this authority: "none", "requested" or "required".
        """
        if certificate is None:
            certificate = self._broker = self._broker or self.issue()
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificate.keystore_file),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.truststore_file),
            "ssl.client.auth": client_auth,
        }

    def client_config(
        self, library: str, certificate: Certificate | None = None, *, security_protocol: str = "SSL"
    ) -> dict[str, Any]:
        """Settings of a client that trusts this authority, by the names of its library.

        `library` is "confluent-kafka", "kafka-python", "aiokafka", "java" or "java-pkcs12". With a `certificate` the
        client shows that. `security_protocol` is "SSL", or "SASL_SSL" for a client that logs in, too. Raises
        InvalidArgument for another library.
        """
        return client_config(self, library, certificate, security_protocol)

    # Making

    def _of_either(self, common_name: str | None, start: datetime | None, end: datetime | None) -> Certificate:
        if common_name is None:
            return self.issue(valid_from=start, valid_to=end)
        return self.issue_client(common_name, start, end)

    def _sign_itself(self) -> x509.Certificate:
        now = _now()
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        return (
            self._builder(self._name, self._key, now - _OF_AUTHORITY, now + _OF_AUTHORITY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _issue(
        self, common_name: str, hosts: tuple[str, ...], valid_from: datetime | None, valid_to: datetime | None
    ) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        now = _now()
        builder = self._builder(subject, key, valid_from or now - _DAY, valid_to or now + VALID_FOR)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(_BOTH_SIDES), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_host(name) for name in hosts]), False)
        return self._write(builder.sign(self._key, hashes.SHA256()), key, common_name)

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, start: datetime, end: datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )

    def _write(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, common_name: str) -> Certificate:
        base = self.directory / self._file_name(common_name)
        made = Certificate(
            subject_of(certificate.public_bytes(Encoding.DER)),
            certificate.serial_number,
            base.with_name(base.name + ".crt.pem"),
            base.with_name(base.name + ".key.pem"),
            base.with_name(base.name + ".pem"),
            base.with_name(base.name + ".p12"),
        )
        made.file.write_text(pem_of(certificate))
        write_private(made.key_file, pem_of_key(key))
        write_private(made.keystore_file, pem_of_key(key) + pem_of(certificate))
        write_pkcs12(made.pkcs12_file, key, certificate, self._certificate, PASSWORD)
        return made

    def _file_name(self, common_name: str) -> str:
        """A name for files that none has yet."""
        name = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in common_name) or "_"
        self._made[name] = count = self._made.get(name, 0) + 1
        return name if count == 1 else f"{name}-{count}"

    def _write_trust(self) -> None:
        """Write what brokers and clients trust."""
        now = _now()
        crl = x509.CertificateRevocationListBuilder().issuer_name(self._name)
        crl = crl.last_update(now - _OF_AUTHORITY).next_update(now + _OF_AUTHORITY)
        for certificate in self._revoked:
            revoked = x509.RevokedCertificateBuilder().serial_number(certificate.serial_number)
            crl = crl.add_revoked_certificate(revoked.revocation_date(now - _DAY).build())
        crl_pem = pem_of(crl.sign(self._key, hashes.SHA256()))
        self.ca_file.write_text(pem_of(self._certificate))
        self.crl_file.write_text(crl_pem)
        self.truststore_file.write_text(pem_of(self._certificate) + (crl_pem if self._revoked else ""))
        write_truststore(self.truststore_pkcs12_file, self._certificate, PASSWORD)


def _temporary_directory() -> str:
    """A directory that is removed when the process ends."""
    directory = mkdtemp(prefix="fakebroker-tls-")
    register(rmtree, directory, ignore_errors=True)
    return directory


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _now() -> datetime:
    return datetime.now(UTC)
