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
