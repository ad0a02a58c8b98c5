"""A certificate authority for tests; the public name of `fakebroker.testing.certificates`. Needs the extra `tls`."""

from typing import TYPE_CHECKING, Any

from fakebroker.testing.certificates import Certificate

if TYPE_CHECKING:
    from fakebroker.testing.certificates import CertificateAuthority

__all__ = ["Certificate", "CertificateAuthority"]


def __getattr__(name: str) -> Any:
    """`CertificateAuthority`, imported when it is first used. Raises AttributeError for other names."""
    if name == "CertificateAuthority":
        from fakebroker.testing.certificates import CertificateAuthority

        return CertificateAuthority
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
