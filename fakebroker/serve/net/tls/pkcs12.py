"""Keystores and truststores in PKCS12, which Java makes. OpenSSL is given PEM; `cryptography` reads the file."""

from typing import TYPE_CHECKING

from fakebroker.protocol.errors import SettingError
from fakebroker.protocol.extras import install_command
from fakebroker.serve.net.tls.key_costs import KeyRefused, check_pkcs12
from fakebroker.serve.net.tls.tls_settings import Store

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates


def key_and_certificates(store: Store, content: bytes) -> str:
    """The key and its chain, as PEM. Raises SettingError."""
    found = _read(store, content)
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if found.key is None or found.cert is None:
        raise store.wrong(f"{store.location} has no key with a certificate")
    key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = [found.cert, *found.additional_certs]
    return key.decode() + "".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in chain)


def certificates(store: Store, content: bytes) -> str:
    """The certificates of authorities, as PEM. Raises SettingError."""
    found = _read(store, content)
    from cryptography.hazmat.primitives.serialization import Encoding

    return "".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in found.additional_certs)


def _read(store: Store, content: bytes) -> "PKCS12KeyAndCertificates":
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ModuleNotFoundError:
        needed = f"PKCS12 needs the extra `tls`: {install_command('tls')}; PEM needs nothing"
        raise SettingError(f"{store.name}.location: {needed}") from None
    try:
        check_pkcs12(content)
        return load_pkcs12(content, store.password.encode())
    except ValueError:
        raise store.wrong(f"{store.location} is not a PKCS12 file, or {store.name}.password is wrong") from None
    except KeyRefused as error:
        raise store.wrong(f"{store.location}: {error}") from None
