"""What keys cost before they can be used, read from the keys themselves.

An encrypted key names how often its password is hashed: 400 bytes can ask for 2,147,483,647 times, eight minutes in
which the broker serves no client. A key, also that in a certificate, may bring an elliptic curve of its own, of which
OpenSSL needs half a second to decode a point. They come from settings, and so perhaps from a client that may alter
them. They are looked at here before OpenSSL reads them.

MOCK: Kafka has no such bounds.
"""

from base64 import encodebytes
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from fakebroker.serve.net.tls.der import (
    INTEGER,
    OBJECT_IDENTIFIER,
    OCTET_STRING,
    SEQUENCE,
    Element,
    TooComplex,
    read_elements,
)

MAX_ITERATIONS = 100_000  # of a key, and of all that a file of PKCS12 encrypts: 0.1 s. OpenSSL takes 2,048, Java 10,000
MAX_KEY_BYTES = 2560  # in DER; RSA with 4,096 bits takes 2,489 when it is encrypted
# Of the modulus. A handshake takes 8 ms with such a key, 40 if its numbers do not belong together: OpenSSL finds
# the signature wrong, and computes it anew without the primes.
MAX_RSA_BYTES = 512
MAX_EXPONENT_BYTES = 8  # of the public one, as in OpenSSL
MAX_BLOCKS = 256  # of a store: 0.1 s. OpenSSL takes the square of the number; the authorities of browsers are 150

_BEGIN, _END, _DASHES = "-----BEGIN ", "-----END ", "-----"
_KEY, _REVOKED = "PRIVATE KEY", "X509 CRL"
_LARGEST_BYTES = 16  # of a number: more are too many anyway

# id-fieldType prime-field and characteristic-two-field: a curve that is not named begins with its field.
_FIELDS = bytes.fromhex("2a8648ce3d0101"), bytes.fromhex("2a8648ce3d0102")

_RSA = bytes.fromhex("2a864886f70d010101"), bytes.fromhex("2a864886f70d01010a")  # rsaEncryption, RSASSA-PSS
# Of private keys; beside RSA: id-ecPublicKey, Ed25519, Ed448. OpenSSL computes the public key of others, such as DSA,
# as it reads them: 8 s for 6 KB.
_ALGORITHMS = *_RSA, bytes.fromhex("2a8648ce3d0201"), bytes.fromhex("2b6570"), bytes.fromhex("2b6571")
_RSA_NUMBERS = 9  # version, modulus, both exponents, two primes, and three numbers of these
_UNLIKE_BYTES = 16  # by which one prime may be longer than the other


class KeyRefused(Exception):
    """A key or certificate is not used, for what it would cost; the text says why."""


class _Block(NamedTuple):
    """One block of PEM: what stands between BEGIN and END."""

    label: str
    body: str


def check_pem(text: str) -> str:
    """The blocks of a PEM text, if its keys and certificates can be used at a reasonable cost.

    They are encoded anew: OpenSSL is to be given what this returns, and reads nothing else than was read here. Raises
    KeyRefused.
    """
    checked, has_key = list[str](), False
    for label, body in _blocks(text):
        if len(checked) == MAX_BLOCKS:
            raise KeyRefused(f"it has over {MAX_BLOCKS} certificates, keys and CRLs: leave those that are needed")
        if _KEY in label:
            if has_key:  # if OpenSSL cannot use the first, it tries the next
                raise KeyRefused("it has several private keys: leave the one that is meant")
            has_key = True
            content = _key(body)
            structure = _structure(content)
            _check_iterations(structure)
            _check_kind(structure)
            _check_curve(structure)
        else:
            content = _decoded(body, label.lower())
            if label != _REVOKED:  # it may be long, and has no keys
                _check_curve(_structure(content))
        checked.append(f"{_BEGIN}{label}{_DASHES}\n{encodebytes(content).decode().strip()}\n{_END}{label}{_DASHES}\n")
    return "".join(checked)


def check_pkcs12(content: bytes) -> None:
    """Raises KeyRefused if the keys and certificates of a PKCS12 file cannot be decrypted at a reasonable cost."""
    _check_iterations(_structure(content))


def _check_iterations(structure: Sequence[Element]) -> None:
    """Raises KeyRefused if what is encrypted names too many iterations for its keys, all together."""
    if (iterations := sum(map(_named, _elements(structure)))) > MAX_ITERATIONS:
        raise KeyRefused(
            f"its encryption takes {iterations:,} iterations, and at most {MAX_ITERATIONS:,} are served: "
            f"encrypt it with fewer, as `openssl pkcs8 -topk8 -iter 10000` does"
        )


def _blocks(text: str) -> Iterator[_Block]:
    """The blocks one after the other; what stands around them is left out."""
    end = text.find(_END)
    last = 0
    while end >= 0:
        begin = text.rfind(_BEGIN, last, end)
        if begin >= 0:
            label, dashes, body = text[begin + len(_BEGIN) : end].partition(_DASHES)
            if dashes and label.isprintable():
                yield _Block(label, body)
        last = end + len(_END)
        end = text.find(_END, last)


def _key(body: str) -> bytes:
    """A private key in DER."""
    if ":" in body:
        raise KeyRefused(
            "its key has headers of PEM, as in the old encryption of OpenSSL, which Kafka does not read: "
            "convert it with `openssl pkcs8 -topk8 -in FILE`"
        )
    key = _decoded(body, "key")
    if len(key) > MAX_KEY_BYTES:
        raise KeyRefused(f"its key has {len(key):,} bytes, and at most {MAX_KEY_BYTES:,} are served: use a smaller key")
    return key


def _decoded(body: str, what: str) -> bytes:
    """What a block has in base64."""
    try:
        return a2b_base64(body)
    except ValueError as error:
        raise KeyRefused(f"its {what} cannot be read: {error}") from None


def _check_curve(structure: Sequence[Element]) -> None:
    """Raises KeyRefused for a key with an elliptic curve that has no name, or a certificate with such a key."""
    if any(element.tag == OBJECT_IDENTIFIER and element.content in _FIELDS for element in _elements(structure)):
        raise KeyRefused("it has a key with an elliptic curve that has no name: use a named one, such as P-256")


def _check_kind(key: Sequence[Element]) -> None:
    """Raises KeyRefused for a key of an unusual kind, or with unusual numbers: they decide what it costs.

    The structures are those of PKCS #8, plain and encrypted, of PKCS #1 (RSA) and of SEC 1 (elliptic curves).
    """
    parts = key[0].children if key else []
    tags = [part.tag for part in parts[:3]]
    if tags[:2] == [SEQUENCE, OCTET_STRING]:
        return  # nobody sees its numbers, but no key has more than MAX_KEY_BYTES
    if tags == [INTEGER, SEQUENCE, OCTET_STRING]:
        _check_algorithm(parts[1], parts[2])
    elif tags == [INTEGER, INTEGER, INTEGER]:
        _check_rsa(parts)
    elif tags[:2] != [INTEGER, OCTET_STRING]:
        raise _unusual()


def _check_algorithm(named: Element, key: Element) -> None:
    """The same for the two parts of a plain key of PKCS #8."""
    algorithm = bytes(named.children[0].content) if named.children else b""
    if algorithm not in _ALGORITHMS:
        raise _unusual()
    if algorithm in _RSA:
        _check_rsa(key.children[0].children if key.children else [])


def _check_rsa(numbers: Sequence[Element]) -> None:
    """The same for the numbers of an RSA key: each signature takes the cube of their sizes."""
    if [number.tag for number in numbers] != [INTEGER] * _RSA_NUMBERS:
        raise _unusual()
    modulus, public, private, *of_primes = (len(bytes(number.content).lstrip(b"\0")) for number in numbers[1:])
    if modulus > MAX_RSA_BYTES:
        raise KeyRefused(f"its RSA key has {modulus * 8:,} bits, and at most {MAX_RSA_BYTES * 8:,} are served")
    if public > MAX_EXPONENT_BYTES or private > modulus or max(of_primes) > modulus // 2 + _UNLIKE_BYTES:
        raise _unusual()


def _unusual() -> KeyRefused:
    return KeyRefused(
        "its key is unusual: use an RSA key, one of a named elliptic curve, or Ed25519, as tools make them"
    )


def _elements(structure: Sequence[Element]) -> Iterator[Element]:
    """All elements, those inside of others, too."""
    return (element for each in structure for element in each.all())


def _structure(data: bytes) -> list[Element]:
    """The elements of data in DER. Raises KeyRefused if they are too many, or nested too deeply."""
    try:
        return read_elements(data)
    except TooComplex:
        raise KeyRefused("it is nested too deeply, or has too many elements") from None


def _named(element: Element) -> int:
    """The iterations that the element names: parameters of PBKDF2, PBES1, PKCS12's own encryption, scrypt, or a MAC.

    The form tells, not the name of the algorithm: a salt, then the iterations. scrypt has three numbers there, and
    takes time by their product.
    """
    if element.tag != SEQUENCE:
        return 0
    parts = element.children
    if [part.tag for part in parts[:3]] == [SEQUENCE, OCTET_STRING, INTEGER]:
        parts = parts[1:]
    if not parts or parts[0].tag != OCTET_STRING:
        return 0
    numbers: list[int] = []
    for part in parts[1:4]:
        if part.tag != INTEGER:
            break
        numbers.append(abs(int.from_bytes(part.content[:_LARGEST_BYTES], "big", signed=True)))
    if not numbers:
        return 0
    return prod(numbers) if len(numbers) == 3 else numbers[0]
