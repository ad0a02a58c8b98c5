"""Reading DER and BER as far as it takes to find something in them.

What OpenSSL can decode is found here. What it cannot is passed over: OpenSSL reports that itself.
"""

from collections.abc import Iterator
from typing import NamedTuple

MAX_ELEMENTS = 200_000
MAX_DEPTH = 60  # a key in a PKCS12 file is about 20 deep
MAX_JOINED_BYTES = 64 * 1024 * 1024  # of octet strings in parts

INTEGER, OCTET_STRING, OBJECT_IDENTIFIER, SEQUENCE = 2, 4, 6, 16
_UNIVERSAL, _CONSTRUCTED, _LONG, _OPEN = 0xC0, 0x20, 0x1F, 0x80


class TooComplex(Exception):
    """The data has more elements than MAX_ELEMENTS, deeper ones than MAX_DEPTH, or too many octet strings in parts."""


class Element(NamedTuple):
    """One element. `tag` is its number in the universal class, -1 in another; `children` are what it is made of."""

    tag: int
    content: memoryview
    children: "list[Element]"

    def all(self) -> "Iterator[Element]":
        """The element and everything in it, the outer ones first."""
        left = [self]
        while left:
            element = left.pop()
            yield element
            left += reversed(element.children)


def read_elements(data: bytes) -> list[Element]:
    """The elements that follow each other in `data`, up to the first that cannot be read.

    The content of an octet string is read as well. Raises TooComplex.
    """
    return _Reader().elements(memoryview(data), depth=0)[0]


class _Head(NamedTuple):
    """The beginning of an element, of `size` bytes. `length` is that of the content, None for an open end."""

    tag: int
    is_constructed: bool
    size: int
    length: int | None


class _Reader:
    """Reads one text, and counts what it has read."""

    def __init__(self) -> None:
        self._count = self._joined_bytes = 0

    def elements(self, data: memoryview, depth: int, has_open_end: bool = False) -> tuple[list[Element], int]:
        """The elements up to the end, or with an open end to its mark, and how many bytes they take."""
        if depth > MAX_DEPTH:
            raise TooComplex
        found: list[Element] = []
        at = 0
        while at < len(data):
            head = _head(data[at:])
            if head is None:
                return found, len(data)
            at += head.size
            if has_open_end and head.tag == 0 and head.length == 0:
                return found, at
            self._count += 1
            if self._count > MAX_ELEMENTS:
                raise TooComplex
            element, size = self._element(head, data[at:], depth + 1)
            found.append(element)
            at += size
        return found, at

    def _element(self, head: _Head, rest: memoryview, depth: int) -> tuple[Element, int]:
        """The element whose content begins here, and how long that is."""
        content = rest if head.length is None else rest[: head.length]
        children: list[Element] = []
        size = len(content)
        if head.is_constructed:
            children, size = self.elements(content, depth, head.length is None)
        if head.tag != OCTET_STRING:
            return Element(head.tag, content, children), size
        if head.is_constructed:
            content = self._joined(children)
        return Element(head.tag, content, self.elements(content, depth)[0]), size

    def _joined(self, parts: list[Element]) -> memoryview:
        self._joined_bytes += sum(len(part.content) for part in parts)
        if self._joined_bytes > MAX_JOINED_BYTES:
            raise TooComplex
        return memoryview(b"".join(part.content for part in parts))


def _head(data: memoryview) -> _Head | None:
    """The beginning of the element that is next, None if there is none that is whole."""
    first, at = data[0], 1
    tag = first & _LONG
    if tag == _LONG:
        tag, is_last = 0, False
        while at < len(data) and not is_last:
            tag, is_last = (tag << 7 | data[at] & 0x7F) & 0xFFFF_FFFF, data[at] < _OPEN
            at += 1
    if at >= len(data):
        return None
    length: int | None = data[at]
    at += 1
    if data[at - 1] == _OPEN:
        length = None
    elif data[at - 1] > _OPEN:
        length, at = int.from_bytes(data[at : at + data[at - 1] - _OPEN], "big"), at + data[at - 1] - _OPEN
    is_constructed = bool(first & _CONSTRUCTED)
    is_whole = is_constructed if length is None else at + length <= len(data)
    return _Head(-1 if first & _UNIVERSAL else tag, is_constructed, at, length) if is_whole else None
