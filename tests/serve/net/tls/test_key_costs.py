"""What keys cost: the iterations are found wherever they stand, before OpenSSL sees them."""

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from fakebroker.serve.net.tls.der import MAX_ELEMENTS
from fakebroker.serve.net.tls.key_costs import MAX_BLOCKS, MAX_ITERATIONS, KeyRefused, check_pem, check_pkcs12
from tests.support.der import (
    SALT,
    certificate,
    curve_without_name,
    der,
    encrypted_key,
    number,
    pbkdf2,
    pem,
    public_key,
    scrypt,
    sequence,
)
from tests.support.tls import authority

TOO_MANY = 2**31 - 1
COSTLY = encrypted_key(pbkdf2(TOO_MANY))


def test_usual_keys_are_served(tmp_path: Path) -> None:
    """Encrypted or not, with certificates and other text around them; OpenSSL reads what comes out."""
    good = authority().issue()
    key = load_pem_private_key(good.key_file.read_bytes(), None)
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pa"))
    for text in (encrypted.decode(), good.key_file.read_text()):
        store = tmp_path / "store.pem"
        store.write_text(check_pem(f"Bag Attributes: none\n{text}\nsubject=CN=x\n{good.file.read_text()}"))
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(store, password="pa")
    check_pkcs12(good.pkcs12_file.read_bytes())


@pytest.mark.parametrize(
    "key",
    [
        COSTLY,
        encrypted_key(pbkdf2(MAX_ITERATIONS + 1)),
        encrypted_key(pbkdf2(2**5000)),
        encrypted_key(scrypt(2**14, 8, 1000)),
        sequence(sequence(der(6, bytes.fromhex("2a864886f70d010c0103")), sequence(SALT, number(TOO_MANY))), SALT),
    ],
    ids=["pbkdf2", "just over", "no number of a machine", "scrypt", "pkcs12's own"],
)
@pytest.mark.parametrize("label", ["ENCRYPTED PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY"])
def test_a_key_that_would_cost_minutes_is_refused(key: bytes, label: str) -> None:
    """Whatever derives its password, and whatever the block is called; the error says how many are served."""
    with pytest.raises(KeyRefused, match=r"its encryption takes .* iterations, and at most 100,000 are served"):
        check_pem(pem(key, label))


def test_a_store_has_not_very_many_certificates() -> None:
    """OpenSSL takes 17 s for 8,000 of them, and a client can produce them: a file of a topic's log is a store, too."""
    block = pem(certificate(public_key(b"")), "CERTIFICATE")
    check_pem(block * MAX_BLOCKS)
    with pytest.raises(KeyRefused, match="over 256 certificates, keys and CRLs: leave those that are needed"):
        check_pem(block * (MAX_BLOCKS + 1))


def test_a_list_of_revoked_certificates_may_be_long() -> None:
    """It has no keys, but several elements for each certificate."""
    revoked = sequence(*[sequence(number(n)) for n in range(MAX_ELEMENTS // 2)])
    assert "X509 CRL" in check_pem(pem(revoked, "X509 CRL"))


def test_a_store_has_one_key() -> None:
    """OpenSSL may try one after the other."""
    one = pem(encrypted_key(pbkdf2(1000)))
    check_pem(one)
    with pytest.raises(KeyRefused, match="it has several private keys: leave the one that is meant"):
        check_pem(one * 2)


@pytest.mark.parametrize(
    "text",
    [
        pem(COSTLY).replace("\n", "\r\n"),
        pem(COSTLY).replace("-----\n", "-----  \n"),
        "-----BEGIN CERTIFICATE-----\n" + pem(COSTLY),
        pem(b"x", "CERTIFICATE").replace("-----END CERTIFICATE-----\n", "") + pem(COSTLY),
        "-----END X----------BEGIN \n" + pem(COSTLY),
    ],
)
def test_a_key_cannot_hide_in_pem(text: str) -> None:
    """Behind what is no block, or with other ends of lines."""
    with pytest.raises(KeyRefused, match="iterations"):
        check_pem(text)


@pytest.mark.parametrize("header", ["Proc-Type: 4,ENCRYPTED\nDEK-Info: DES-EDE3-CBC,00\n\n", "Comment: x\n\n"])
def test_a_key_cannot_hide_in_the_old_encryption(header: str) -> None:
    """Only its password would show what is in it; Kafka reads no such key."""
    with pytest.raises(KeyRefused, match=r"openssl pkcs8 -topk8"):
        check_pem(pem(COSTLY, "RSA PRIVATE KEY").replace("-----\n", f"-----\n{header}", 1))


def test_a_key_of_any_size_would_cost_each_handshake_much() -> None:
    """RSA with 100,000 bits takes a minute to sign."""
    with pytest.raises(KeyRefused, match=r"its key has 12,50\d bytes, and at most 2,560 are served"):
        check_pem(pem(sequence(number(2**100_000)), "RSA PRIVATE KEY"))


def in_pkcs12(*safes: bytes, mac: bytes = b"") -> bytes:
    """A PKCS12 file with these octet strings as its content."""
    data = der(6, bytes.fromhex("2a864886f70d010701"))
    contents = [sequence(data, der(0xA0, safe)) for safe in safes]
    return sequence(number(3), sequence(data, der(0xA0, der(4, sequence(*contents)))), mac)


IN_PARTS = b"\x24\x80" + der(4, COSTLY[:20]) + der(4, COSTLY[20:]) + b"\0\0"


@pytest.mark.parametrize(
    "content",
    [
        in_pkcs12(der(4, COSTLY)),
        in_pkcs12(IN_PARTS),
        in_pkcs12(der(4, COSTLY + b"more")),
        in_pkcs12(b"\x1f\x84\x00", der(4, COSTLY)),
        in_pkcs12(mac=sequence(sequence(sequence(), der(4, bytes(20))), SALT, number(TOO_MANY))),
        in_pkcs12(der(4, encrypted_key(pbkdf2(1))), der(4, COSTLY)),
        b"\x30\x80" + in_pkcs12(der(4, COSTLY))[2:] + b"\0\0",
    ],
    ids=["bag", "in parts", "with a rest", "long tag", "mac", "second", "open end"],
)
def test_iterations_in_pkcs12_are_found(content: bytes) -> None:
    """Of bags and of the MAC, in DER and in BER."""
    with pytest.raises(KeyRefused, match="iterations"):
        check_pkcs12(content)


@pytest.mark.parametrize(
    "content",
    [b"\x05\x00" * 200_001, b"\x30\x80" * 70, der(4, b"\x24\x80" * 70), b"\x30\x80" * 8_000_000],
    ids=["many", "deep", "deep in a string", "deeper"],
)
def test_the_look_at_a_file_is_bounded(content: bytes) -> None:
    """In elements and in depth."""
    with pytest.raises(KeyRefused, match="nested too deeply, or has too many elements"):
        check_pkcs12(content)


@pytest.mark.parametrize("content", ["", "30", "3085", "1f", "1fff", "3084ffffffff", "0280"])
def test_what_is_no_der_is_left_to_openssl(content: str) -> None:
    """It reports that itself."""
    check_pkcs12(bytes.fromhex(content))


@pytest.mark.parametrize(
    ("content", "label"),
    [
        (certificate(public_key(curve_without_name())), "CERTIFICATE"),
        (certificate(public_key(curve_without_name())), "TRUSTED CERTIFICATE"),
        (sequence(number(1), der(4, b"1"), der(0xA0, curve_without_name())), "EC PRIVATE KEY"),
        (curve_without_name(), "EC PARAMETERS"),
    ],
)
def test_curves_without_names_are_refused(content: bytes, label: str) -> None:
    """OpenSSL would take half a second for each point on one of 660 bits, if its prime is badly chosen."""
    with pytest.raises(KeyRefused, match="an elliptic curve that has no name: use a named one, such as P-256"):
        check_pem(authority().issue().file.read_text() + pem(content, label))


RSA, DSA = der(6, bytes.fromhex("2a864886f70d010101")), der(6, bytes.fromhex("2a8648ce380401"))


def rsa_numbers(**changed: int) -> bytes:
    """The structure of an RSA key with numbers of 2,048 bits, and others as given, of so many bits."""
    sizes = {"n": 2048, "e": 17, "d": 2048, "p": 1024, "q": 1024, "dp": 1024, "dq": 1024, "qi": 1024} | changed
    return sequence(number(0), *(number(2 ** (bits - 1) + 1) for bits in sizes.values()))


def pkcs8(algorithm: bytes, key: bytes) -> bytes:
    return sequence(number(0), sequence(algorithm, b"\5\0"), der(4, key))


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (pkcs8(DSA, number(2**9000)), "its key is unusual"),
        (sequence(*map(number, [0, 23, 11, 2, 5, 3])), "its key is unusual"),
        (rsa_numbers(n=4104), "its RSA key has 4,104 bits, and at most 4,096 are served"),
        (rsa_numbers(p=4096), "its key is unusual"),
        (rsa_numbers(dp=4096), "its key is unusual"),
        (rsa_numbers(d=4096), "its key is unusual"),
        (rsa_numbers(e=2048), "its key is unusual"),
        (sequence(number(0), number(2**2048)), "its key is unusual"),
        (b"", "its key is unusual"),
        (b"no structure", "its key is unusual"),
    ],
)
@pytest.mark.parametrize("label", ["PRIVATE KEY", "RSA PRIVATE KEY", "DSA PRIVATE KEY"])
def test_unusual_keys_are_refused(key: bytes, problem: str, label: str) -> None:
    """What a key costs follows from its kind and its numbers, not from its length alone."""
    with pytest.raises(KeyRefused, match=problem):
        check_pem(pem(key, label))


def test_the_numbers_of_rsa_are_found_in_pkcs8() -> None:
    """As most keys are written."""
    check_pem(pem(pkcs8(RSA, rsa_numbers()), "PRIVATE KEY"))
    for key in (rsa_numbers(p=4096), b"", number(1)):
        with pytest.raises(KeyRefused, match="its key is unusual"):
            check_pem(pem(pkcs8(RSA, key), "PRIVATE KEY"))


def test_nobody_sees_the_numbers_of_an_encrypted_key() -> None:
    """It has no more bytes than one of RSA with 4,096 bits needs."""
    key = sequence(sequence(der(6, b"x"), SALT), der(4, bytes(2600)))
    with pytest.raises(KeyRefused, match=r"its key has 2,6.. bytes, and at most 2,560 are served"):
        check_pem(pem(key))


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
def test_keys_as_tools_make_them_are_served(form: PrivateFormat) -> None:
    """Of each kind and usual size, encrypted or not."""
    keys = rsa.generate_private_key(65537, 4096), ec.generate_private_key(ec.SECP384R1()), ed25519_key(form)
    for key in keys:
        if key is not None:
            check_pem(key.private_bytes(Encoding.PEM, form, NoEncryption()).decode())
            if form is PrivateFormat.PKCS8:
                check_pem(key.private_bytes(Encoding.PEM, form, BestAvailableEncryption(b"pa")).decode())


def ed25519_key(form: PrivateFormat) -> ed25519.Ed25519PrivateKey | None:
    """It has one form only."""
    return ed25519.Ed25519PrivateKey.generate() if form is PrivateFormat.PKCS8 else None
