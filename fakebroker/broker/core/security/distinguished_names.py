"""The name of the subject of an X.509 certificate as text: "CN=alice,OU=billing,O=Example" (RFC 2253).

It is read from the certificate itself: principals are these texts, and Java, which Kafka has them from, writes
attributes that it knows no keyword for with the bytes of their values.
"""

from collections.abc import Iterator
from typing import NamedTuple

_SEQUENCE, _SET, _OBJECT_ID = 0x30, 0x31, 0x06  # tags
_VERSION = 0xA0  # the tag of a field that may be missing
_MAX_LENGTH_BYTES = 4
# UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString: Java reads all of them as UTF-8.
_TEXTS = (0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E)
_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_ESCAPES = {ord(letter): f"\\{letter}" for letter in ',=+<>#;"\\'} | {0: "\\00"}


class Element(NamedTuple):
    """An element of DER: its tag, its content, and both together with the length as they stand."""

    tag: int
    content: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """The subject's name in a certificate in DER. Raises ValueError for what is no certificate.

    OpenSSL also takes BER, and names of any shape: what is read here in another way would be somebody else's name.
    """
    try:
        (outer,) = elements(certificate)
        (signed, *_) = _inside(outer, _SEQUENCE)
        fields = [each for each in _inside(signed, _SEQUENCE) if each.tag != _VERSION]
        _serial, _algorithm, _issuer, _validity, subject, *_ = fields
        names = [_relative_name(each) for each in _inside(subject, _SEQUENCE)]
    except IndexError as error:
        raise ValueError(f"not a certificate: {error}") from None
    return ",".join(reversed(names))


def _inside(element: Element, tag: int) -> Iterator[Element]:
    """What an element is made of. Raises ValueError unless it has this tag."""
    if element.tag != tag:
        raise ValueError(f"not a certificate: tag {element.tag:#04x} where {tag:#04x} belongs")
    return elements(element.content)


def elements(data: bytes) -> Iterator[Element]:
    """The elements that DER has one after the other. Raises ValueError or IndexError for what is no DER."""
    position = 0
    while position < len(data):
        start, tag, size = position, data[position], data[position + 1]
        position += 2
        if size & 0x80:
            count = size & 0x7F
            if not 0 < count <= _MAX_LENGTH_BYTES:
                raise ValueError("not DER: an element without a length, or with a very long one")
            size = int.from_bytes(data[position : position + count])
            position += count
        if position + size > len(data):
            raise ValueError("an element is longer than the one that contains it")
        content = data[position : position + size]
        position += size
        yield Element(tag, content, data[start:position])


def _relative_name(element: Element) -> str:
    """One level of a name, nearly always a single attribute."""
    attributes = (tuple(_inside(each, _SEQUENCE)) for each in _inside(element, _SET))
    return "+".join(_attribute(kind, value) for kind, value in attributes)


def _attribute(kind: Element, value: Element) -> str:
    if kind.tag != _OBJECT_ID:
        raise ValueError("not a certificate: an attribute of its name has no type")
    number = _object_id(kind.content)
    keyword = _KEYWORDS.get(number)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or number}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode(errors='replace'))}"


def _escaped(text: str) -> str:
    """Text with a backslash before what has a meaning in names, and before spaces at either end."""
    inner = text.strip(" ")
    before = len(text) - len(text.lstrip(" "))
    after = len(text) - before - len(inner)
    return "\\ " * before + inner.translate(_ESCAPES) + "\\ " * after


def _object_id(content: bytes) -> str:
    """An object identifier with dots; its first number holds two."""
    numbers, value = list[int](), 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))
