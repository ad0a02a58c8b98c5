"""The TLS options of each client library: the same three files, under other names."""

import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakebroker.protocol.errors import InvalidArgument, nearest
from fakebroker.testing.certificates.certificate import PASSWORD, Certificate

if TYPE_CHECKING:
    from fakebroker.testing.certificates.authority import CertificateAuthority


def client_config(
    authority: "CertificateAuthority", library: str, certificate: Certificate | None, security_protocol: str
) -> dict[str, Any]:
    """The settings of a client, by the names of its library. Raises InvalidArgument for one that is not known."""
    make = LIBRARIES.get(library)
    if make is None:
        known = nearest(library, LIBRARIES)
        raise InvalidArgument("library", library, f"library: there is no {library!r}; {known}")
    return make(authority, certificate, security_protocol)


def _confluent(authority: "CertificateAuthority", certificate: Certificate | None, protocol: str) -> dict[str, Any]:
    own = {} if certificate is None else _files(certificate, "ssl.certificate.location", "ssl.key.location")
    return {"security.protocol": protocol, "ssl.ca.location": str(authority.ca_file), **own}


def _kafka_python(authority: "CertificateAuthority", certificate: Certificate | None, protocol: str) -> dict[str, Any]:
    own = {} if certificate is None else _files(certificate, "ssl_certfile", "ssl_keyfile")
    return {"security_protocol": protocol, "ssl_cafile": str(authority.ca_file), **own}


def _aiokafka(authority: "CertificateAuthority", certificate: Certificate | None, protocol: str) -> dict[str, Any]:
    context = ssl.create_default_context(cafile=str(authority.ca_file))
    if certificate is not None:
        context.load_cert_chain(certificate.keystore_file)
    return {"security_protocol": protocol, "ssl_context": context}


def _java(authority: "CertificateAuthority", certificate: Certificate | None, protocol: str) -> dict[str, Any]:
    config = {
        "security.protocol": protocol,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.ca_file),
    }
    if certificate is not None:
        config |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificate.keystore_file)}
    return config


def _java_pkcs12(authority: "CertificateAuthority", certificate: Certificate | None, protocol: str) -> dict[str, Any]:
    config = {
        "security.protocol": protocol,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(authority.truststore_pkcs12_file),
        "ssl.truststore.password": PASSWORD,
    }
    if certificate is not None:
        config |= {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(certificate.pkcs12_file),
            "ssl.keystore.password": certificate.password,
            "ssl.key.password": certificate.password,
        }
    return config


def _files(certificate: Certificate, file: str, key_file: str) -> dict[str, Any]:
    return {file: str(certificate.file), key_file: str(certificate.key_file)}


LIBRARIES: dict[str, Callable[["CertificateAuthority", Certificate | None, str], dict[str, Any]]] = {
    "confluent-kafka": _confluent,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
    "java": _java,
    "java-pkcs12": _java_pkcs12,
}
