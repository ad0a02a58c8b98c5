"""The name of the subject of an X.509 certificate as text: "CN=alice,OU=billing,O=Example" (RFC 2253).

It is read from the certificate itself: principals are these texts, and Java, which Kafka has them from, writes
attributes that it knows no keyword for with the bytes of their values.
"""

from collections.abc import Iterator
from typing import NamedTuple

_SEQUENCE, _OBJECT_ID, _CONTEXT_0 = 0x30, 0x06, 0xA0
_TEXT_TYPES = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be", 0x1C: "utf-32-be"}
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
_ESCAPED = ',+"\\<>;'


class Element(NamedTuple):
    """An element of DER: its tag, its content, and both together with the length as they stand."""

    tag: int
    content: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """The subject's name in a certificate in DER. Raises ValueError for what is no certificate."""
    try:
        (outer,) = elements(certificate)
        (signed, *_) = elements(outer.content)
        fields = [each for each in elements(signed.content) if each.tag != _CONTEXT_0]  # without the version
        _serial, _algorithm, _issuer, _validity, subject, *_ = fields
        names = [_relative_name(each) for each in elements(subject.content)]
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"no certificate: {error}") from None
    return ",".join(reversed(names))


def elements(data: bytes) -> Iterator[Element]:
    """The elements that DER has one after the other. Raises ValueError or IndexError for what is no DER."""
    position = 0
    while position < len(data):
        start, tag, size = position, data[position], data[position + 1]
        position += 2
        if size & 0x80:
            count = size & 0x7F
            size = int.from_bytes(data[position : position + count])
            position += count
        if position + size > len(data):
            raise ValueError("an element is longer than what it is in")
        content = data[position : position + size]
        position += size
        yield Element(tag, content, data[start:position])


def _relative_name(element: Element) -> str:
    """One level of a name, nearly always a single attribute."""
    attributes = (tuple(elements(each.content)) for each in elements(element.content))
    return "+".join(_attribute(kind, value) for kind, value in attributes)


def _attribute(kind: Element, value: Element) -> str:
    number = _object_id(kind.content)
    keyword, encoding = _KEYWORDS.get(number), _TEXT_TYPES.get(value.tag)
    if keyword is None or encoding is None:
        return f"{keyword or number}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode(encoding))}"


def _escaped(text: str) -> str:
    escaped = "".join(f"\\{letter}" if letter in _ESCAPED else letter for letter in text)
    if escaped[:1] in ("#", " "):
        escaped = "\\" + escaped
    return escaped[:-1] + "\\ " if len(escaped) > 1 and escaped.endswith(" ") else escaped


def _object_id(content: bytes) -> str:
    numbers, value = [min(content[0] // 40, 2)], content[0] - 40 * min(content[0] // 40, 2)
    if content[0] < 0x80:
        numbers.append(value)
        content = content[1:]
    value = 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    return ".".join(map(str, numbers))
