"""Writing DER, for keys that no tool would make."""

from base64 import encodebytes

OF_PBKDF2 = bytes.fromhex("06092a864886f70d01050c")
OF_PBES2 = bytes.fromhex("06092a864886f70d01050d")
OF_SCRYPT = bytes.fromhex("06092b06010401da47040b")
OF_AES_256 = bytes.fromhex("060960864801650304012a")
SALT = b"\x04\x08saltsalt"


def der(tag: int, *parts: bytes) -> bytes:
    """An element with that tag, made of the parts."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 + len(length)]) + length + content


def sequence(*parts: bytes) -> bytes:
    """A SEQUENCE of the parts."""
    return der(0x30, *parts)


def number(value: int) -> bytes:
    """An INTEGER that is not negative."""
    return der(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def encrypted_key(derivation: bytes) -> bytes:
    """A key in PKCS #8, encrypted with PBES2 with that key derivation and AES, whose content is nonsense."""
    cipher = sequence(OF_AES_256, der(4, bytes(16)))
    return sequence(sequence(OF_PBES2, sequence(derivation, cipher)), der(4, b"0123456789abcdef"))


def pbkdf2(iterations: int) -> bytes:
    """A key derivation with PBKDF2."""
    return sequence(OF_PBKDF2, sequence(SALT, number(iterations)))


def scrypt(n: int, r: int, p: int) -> bytes:
    """A key derivation with scrypt."""
    return sequence(OF_SCRYPT, sequence(SALT, number(n), number(r), number(p)))


def pem(content: bytes, label: str = "ENCRYPTED PRIVATE KEY") -> str:
    """DER as a block of PEM."""
    return f"-----BEGIN {label}-----\n{encodebytes(content).decode()}-----END {label}-----\n"


_EC_KEY = der(6, bytes.fromhex("2a8648ce3d0201"))
_PRIME_FIELD = der(6, bytes.fromhex("2a8648ce3d0101"))
_SHA_WITH_ECDSA = sequence(der(6, bytes.fromhex("2a8648ce3d040302")))


def curve_without_name(prime: int = 23) -> bytes:
    """The parameters of an elliptic curve over a prime field that is described in place of being named."""
    size = (prime.bit_length() + 7) // 8
    coefficient, base = der(4, bytes([1] * size)), der(4, b"\x02" + bytes([1] * size))
    field = sequence(_PRIME_FIELD, number(prime))
    return sequence(number(1), field, sequence(coefficient, coefficient), base, number(prime), number(1))


def public_key(curve: bytes) -> bytes:
    """An EC public key on a curve; its point is nonsense."""
    return sequence(sequence(_EC_KEY, curve), der(3, b"\0\x02\x01"))


def certificate(key: bytes) -> bytes:
    """A certificate that nobody has signed."""
    name = sequence(der(0x31, sequence(der(6, bytes.fromhex("550403")), der(12, b"a"))))
    dates = sequence(der(23, b"250101000000Z"), der(23, b"490101000000Z"))
    content = sequence(der(0xA0, number(2)), number(1), _SHA_WITH_ECDSA, name, dates, name, key)
    return sequence(content, _SHA_WITH_ECDSA, der(3, b"\0"))
