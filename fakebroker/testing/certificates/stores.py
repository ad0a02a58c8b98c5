"""Keys and certificates in files: PEM, and PKCS12 for Java."""

import os
from pathlib import Path

from fakebroker.protocol.extras import MissingExtra, missing_extra


def crypto_missing() -> MissingExtra:
    """The error for certificates without the library that makes them."""
    return missing_extra("tls", "certificates need cryptography")


try:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        pkcs12,
    )
except ModuleNotFoundError:
    raise crypto_missing() from None


def pem_of(thing: x509.Certificate | x509.CertificateRevocationList) -> str:
    """A certificate or a list of revoked ones as PEM."""
    return thing.public_bytes(Encoding.PEM).decode()


def pem_of_key(key: EllipticCurvePrivateKey) -> str:
    """A key as PEM, in the form that Kafka reads: PKCS8, not encrypted."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    _write_private(path, text.encode())


def write_pkcs12(
    path: Path, key: EllipticCurvePrivateKey, certificate: x509.Certificate, issuer: x509.Certificate, password: str
) -> None:
    """Write a key and its certificate as a keystore of Java."""
    encryption = BestAvailableEncryption(password.encode())
    content = pkcs12.serialize_key_and_certificates(b"fakebroker", key, certificate, [issuer], encryption)
    _write_private(path, content)


def write_truststore(path: Path, certificate: x509.Certificate, password: str) -> None:
    """Write an authority's certificate as a truststore of Java, which asks for a mark that says that it is trusted."""
    trusted = pkcs12.PKCS12Certificate(certificate, b"fakebroker")
    path.write_bytes(pkcs12.serialize_java_truststore([trusted], BestAvailableEncryption(password.encode())))


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
