"""Names of certificates as text: each as `X500Principal.getName()` of Java 17 gave it for the same certificate."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.security.distinguished_names import subject_of

KEY = ec.generate_private_key(ec.SECP256R1())
CN, ORG, OU = NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME
# The attributes of each level of a name, and the text.
NAMES: list[tuple[list[list[tuple[x509.ObjectIdentifier, str]]], str]] = [
    ([[(CN, "alice")]], "CN=alice"),
    ([], ""),
    (
        [
            [(NameOID.COUNTRY_NAME, "DE")],
            [(NameOID.STATE_OR_PROVINCE_NAME, "Berlin")],
            [(NameOID.LOCALITY_NAME, "B")],
            [(NameOID.STREET_ADDRESS, "S 1")],
            [(ORG, "Ex, Inc.")],
            [(OU, "a+b")],
            [(CN, 'q"x\\y<z>;=#')],
        ],
        r"CN=q\"x\\y\<z\>\;\=\#,OU=a\+b,O=Ex\, Inc.,STREET=S 1,L=B,ST=Berlin,C=DE",
    ),
    ([[(CN, "  two  spaces  ")]], r"CN=\ \ two  spaces\ \ "),
    ([[(CN, " ")]], r"CN=\ "),
    ([[(CN, "#hash")]], r"CN=\#hash"),
    ([[(CN, "Jürgen 日本")]], "CN=Jürgen 日本"),
    ([[(CN, "a\x00b")]], r"CN=a\00b"),
    ([[(CN, "tab\there")]], "CN=tab\there"),
    (
        [[(NameOID.DOMAIN_COMPONENT, "com")], [(NameOID.DOMAIN_COMPONENT, "example")], [(NameOID.USER_ID, "u1")]],
        "UID=u1,DC=example,DC=com",
    ),
    ([[(NameOID.EMAIL_ADDRESS, "a@b.c")], [(CN, "x")]], "CN=x,1.2.840.113549.1.9.1=#16056140622e63"),
    ([[(x509.ObjectIdentifier("2.999.5"), "big")]], "2.999.5=#0c03626967"),
    ([[(OU, "a"), (NameOID.USER_ID, "u"), (CN, "b")]], "CN=b+OU=a+UID=u"),
]


def certificate_of(levels: list[list[tuple[x509.ObjectIdentifier, str]]]) -> bytes:
    """A certificate with this subject, in DER."""
    subject = x509.Name(
        x509.RelativeDistinguishedName([x509.NameAttribute(kind, text) for kind, text in level]) for level in levels
    )
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(x509.Name([])).serial_number(1)
    builder = builder.not_valid_before(datetime(2026, 1, 1, tzinfo=UTC)).not_valid_after(
        datetime(2027, 1, 1, tzinfo=UTC)
    )
    return builder.public_key(KEY.public_key()).sign(KEY, hashes.SHA256()).public_bytes(Encoding.DER)


@pytest.mark.parametrize(("levels", "text"), NAMES)
def test_names_are_written_as_java_writes_them(
    levels: list[list[tuple[x509.ObjectIdentifier, str]]], text: str
) -> None:
    """The last level first; what has a meaning is escaped, what has no keyword is its number with its bytes."""
    assert subject_of(certificate_of(levels)) == text


def test_long_values() -> None:
    """A length may have several bytes."""
    long = [[(OU, "u" * 60)] for _ in range(40)]
    assert subject_of(certificate_of(long)) == ",".join(["OU=" + "u" * 60] * 40)


GOOD = certificate_of([[(CN, "alice")], [(ORG, "Example")]])


@given(st.binary(max_size=60), st.integers(0, len(GOOD)))
def test_what_is_no_certificate_is_refused_in_no_other_way(noise: bytes, place: int) -> None:
    """Damage gives another name, or a ValueError."""
    damaged = GOOD[:place] + noise + GOOD[place + len(noise) :]
    for data in (noise, damaged):
        with suppress(ValueError):
            assert isinstance(subject_of(data), str)


def changed(before: bytes, after: bytes) -> bytes:
    """The good certificate with other bytes in its subject; all lengths stay."""
    assert GOOD.count(before) == 1
    assert len(before) == len(after)
    return GOOD.replace(before, after)


ALICE = bytes.fromhex("310e300c06035504030c05") + b"alice"  # a set of one sequence: the type, and the value
ENDS = b"\0\0"  # of an element without a length


@pytest.mark.parametrize(
    "data",
    [
        changed(ALICE, ALICE.replace(b"\x31\x0e", b"\x30\x0e")),
        changed(ALICE, ALICE.replace(b"\x30\x0c", b"\x31\x0c")),
        changed(ALICE, ALICE.replace(b"\x06\x03", b"\x04\x03")),
        changed(ALICE, b"\x31\x80" + ALICE[2:-4] + b"a" + ENDS + b"\0"),
        changed(ALICE, b"\x31\x0e\x06\x0c" + ALICE[4:]),
        changed(ALICE, b"\x31\x89" + ALICE[2:]),
    ],
)
def test_a_name_of_another_shape_is_refused(data: bytes) -> None:
    """OpenSSL takes BER, too, and shows another name for it, or numbers."""
    with pytest.raises(ValueError):
        subject_of(data)
