"""A certificate authority for tests: certificates that are good, and each kind of those that are not.

    authority = CertificateAuthority()
    with FakeBroker(listen="SSL://127.0.0.1:0", config=authority.broker_config()) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, **authority.client_config("confluent-kafka")})

It needs the extra `tls`. The settings that it gives are Kafka's own, so a running Kafka takes them, too.
"""

from typing import TYPE_CHECKING, Any

from fakebroker.testing.certificates.certificate import Certificate

if TYPE_CHECKING:
    from fakebroker.testing.certificates.authority import CertificateAuthority

__all__ = ["Certificate", "CertificateAuthority"]


def __getattr__(name: str) -> Any:
    """`CertificateAuthority`, whose library is imported when it is asked for. Raises AttributeError for other names."""
    if name == "CertificateAuthority":
        from fakebroker.testing.certificates.authority import CertificateAuthority

        return CertificateAuthority
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
