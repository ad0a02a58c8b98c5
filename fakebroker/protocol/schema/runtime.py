"""What generated codecs call off their straight line: long lengths, nulls, tagged sections, arrays of numbers.

Varints here are Kafka's unsigned ones: seven bits a byte, lowest first, five bytes at most.
"""

import codecs
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fakebroker.protocol.errors import AnswerTooLong, WireError
from fakebroker.protocol.schema.pieces import whole as whole  # a helper of encoders, as those below

# Kafka rejects longer strings in every version, also where the length is a varint.
MAX_STRING_BYTES = 32767
MAX_ENTRIES = 500_000  # of all lists of a message that is read in steps
MAX_MESSAGE_BYTES = 256 << 20  # of one without records
LONG_PIECE_BYTES = 4096  # of a message that is written in steps: it is not copied
MAX_TAGS = (
    10_000  # fields of one tagged section; messages declare up to six, and Kafka reads any number of unknown ones
)
_MAX_INT32 = 2**31 - 1
_MAX_UINT32 = 2**32 - 1


def encode_unsigned_varint(value: int) -> bytes:
    """An unsigned varint. Raises WireError beyond 32 bits."""
    if not 0 <= value <= _MAX_UINT32:
        raise WireError(f"{value} does not fit an unsigned varint")
    if 128 <= value < 1 << 21:  # lengths of records mostly are: without the loop it takes half the time
        if value < 1 << 14:
            return bytes((value & 127 | 128, value >> 7))
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


# Compact lengths by what is measured: LENGTHS[n] encodes n for 0 <= n < 127, and LENGTHS[-1], the last entry, null.
LENGTHS = [encode_unsigned_varint(n + 1) for n in range(127)] + [b"\0"]


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """U+FFFD in the place of what is not UTF-8, as in Java, up to the end of the text.

    It has three bytes where there may have been one. Raises WireError if the text is too long then: it could neither be
    stored nor answered. Kafka fails at that later.
    """
    assert isinstance(error, UnicodeDecodeError)
    rest = error.object[error.start :].decode("utf-8", "replace")
    size_bytes = error.start + len(rest.encode())
    if size_bytes > MAX_STRING_BYTES:
        raise WireError(f"a string that is not UTF-8 has {size_bytes} bytes with U+FFFD, more than {MAX_STRING_BYTES}")
    return rest, len(error.object)


REPLACED = "fakebroker.replaced"  # how strings are decoded: the name of that function, which is called for errors only
codecs.register_error(REPLACED, _replaced)


def long_string(length: int) -> bytes:
    """The compact length of a string of 127 bytes or more."""
    if length > MAX_STRING_BYTES:
        raise WireError(f"a string of {length} bytes is longer than {MAX_STRING_BYTES}")
    return encode_unsigned_varint(length + 1)


def long_length(length: int) -> bytes:
    """The compact length of bytes or an array of 127 or more."""
    if length >= _MAX_INT32:
        raise WireError(f"a length of {length} is too large")
    return encode_unsigned_varint(length + 1)


def by_fours(rows: Sequence[Any]) -> Iterator[tuple[Any, Any, Any, Any]]:
    """The rows in fours, as long as there are so many."""
    each = iter(rows)
    return zip(each, each, each, each, strict=False)


def finish_unsigned_varint(first: int, data: bytes, position: int) -> tuple[int, int]:
    """The value of a varint whose first byte, just before `position`, was over 127; and how many bytes more it took."""
    second = data[position]
    if second < 128:  # as above
        return first & 127 | second << 7, 1
    third = data[position + 1]
    if third < 128:
        return first & 127 | (second & 127) << 7 | third << 14, 2
    value = first & 127
    for extra in range(4):
        byte = data[position + extra]
        value |= (byte & 127) << (7 * extra + 7)
        if byte < 128 and value <= _MAX_UINT32:
            return value, extra + 1
    raise WireError("a varint does not fit into 32 bits")


def read_unsigned_varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned varint and the position after it."""
    value = data[position]
    if value < 128:
        return value, position + 1
    value, extra = finish_unsigned_varint(value, data, position + 1)
    return value, position + 1 + extra


def finish_length(first: int, data: bytes, position: int) -> tuple[int, int]:
    """A compact length (plus one) of more than one byte; and how many bytes more it took."""
    length, extra = finish_unsigned_varint(first, data, position)
    if length > _MAX_INT32:
        raise WireError(f"a length of {length - 1}")
    return length, extra


def nonnull_length(first: int, data: bytes, position: int) -> tuple[int, int]:
    """As finish_length, where null (0) is not allowed."""
    if first == 0:
        raise null_error()
    return finish_length(first, data, position)


def finish_string(first: int, data: bytes, position: int) -> tuple[int, int]:
    """As finish_length, for strings, which Kafka limits to 32767 bytes."""
    length, extra = finish_unsigned_varint(first, data, position)
    if length - 1 > MAX_STRING_BYTES:
        raise WireError(f"a string of {length - 1} bytes is longer than {MAX_STRING_BYTES}")
    return length, extra


def nonnull_string(first: int, data: bytes, position: int) -> tuple[int, int]:
    """As finish_string, where null (0) is not allowed."""
    if first == 0:
        raise null_error()
    return finish_string(first, data, position)


def null_error() -> WireError:
    """The error for a null is not allowed."""
    return WireError("null is not allowed")


def too_long(length: int, data: bytes, position: int) -> WireError:
    """The error for a length that the rest of the input cannot hold."""
    return WireError(f"a length of {length}, but only {max(0, len(data) - position)} bytes are left")


def too_many() -> WireError:
    """The error for lists that have more entries than are read."""
    return WireError(f"all lists together have more than {MAX_ENTRIES} entries")


def wrong_tag_size(taken: int, data: bytes) -> WireError:
    """The error for a tagged field whose size is not that of its value."""
    return WireError(f"a tagged field has {len(data)} bytes, but its value takes {taken}")


def read_tags(count: int, data: bytes, position: int) -> tuple[dict[int, bytes], int]:
    """A tagged section after its first byte `count`: its entries as tag -> bytes, and the position after it.

    Raises WireError for what is cut off, and for more than MAX_TAGS: a section is read in one turn.
    """
    if count > 127:
        count, extra = finish_unsigned_varint(count, data, position)
        position += extra
    if count > MAX_TAGS:
        raise WireError(f"a tagged section of {count} fields; at most {MAX_TAGS} are read")
    tags = {}
    for _ in range(count):
        tag, position = read_unsigned_varint(data, position)
        size, position = read_unsigned_varint(data, position)
        end = position + size
        if end > len(data):
            raise too_long(size, data, position)
        tags[tag] = data[position:end]
        position = end
    return tags, position


def encode_tags(known: dict[int, bytes], unknown: dict[int, bytes] | None, declared: tuple[int, ...]) -> bytes:
    """A tagged section, in the order of the tags. Raises WireError when an unknown tag is a declared one."""
    if unknown:
        for tag in declared:
            if tag in unknown:
                raise WireError(f"unknown_tags holds tag {tag}, which is a declared field")
        known = known | unknown
    parts = [encode_unsigned_varint(len(known))]
    for tag in sorted(known):
        parts += (encode_unsigned_varint(tag), encode_unsigned_varint(len(known[tag])), known[tag])
    return b"".join(parts)


def reject_tags(unknown: dict[int, bytes]) -> None:
    """Raises WireError for unknown tags in a version that has no tagged sections."""
    if unknown:
        raise WireError(f"unknown_tags {sorted(unknown)} set, but this version has no tagged fields")


def not_in_version(name: str, value: object) -> WireError:
    """The error for a value that would be lost (GEN-3)."""
    return WireError(f"{name}={value!r} is set, but this version does not have the field")


def no_uuid(value: object) -> WireError:
    """The error for a UUID that is not 16 bytes."""
    return WireError(f"{value!r} is not a UUID of 16 bytes")


def array_reader(char: str) -> "Callable[[int, bytes, int], list[Any]]":
    """A function (count, data, position) -> list of that many numbers of the struct format `char`."""
    short = [struct.Struct(f">{count}{char}").unpack_from for count in range(9)]
    size = struct.calcsize(f">{char}")

    def read(count: int, data: bytes, position: int) -> list[Any]:
        if count < 9:
            return list(short[count](data, position))
        if count * size > len(data) - position:
            raise too_long(count, data, position)
        return list(struct.unpack_from(f">{count}{char}", data, position))

    return read


def check_size(parts: "Sequence[bytes]", before: int) -> int:
    """The size of a message without records so far: of `before` and these pieces.

    Raises AnswerTooLong beyond `MAX_MESSAGE_BYTES`: an entry that a request names again and again would fill the
    memory.
    """
    size = before + sum(map(len, parts))
    if size > MAX_MESSAGE_BYTES:
        raise AnswerTooLong(f"a message without records would have more than {MAX_MESSAGE_BYTES} bytes")
    return size


def gather(parts: "Sequence[bytes]", done: list[bytes]) -> None:
    """Put pieces behind those that are done: short ones joined, long ones as they are, which entries may share."""
    start = 0
    if max(map(len, parts), default=0) > LONG_PIECE_BYTES:
        for at, part in enumerate(parts):
            if len(part) > LONG_PIECE_BYTES:
                done += (b"".join(parts[start:at]), part)
                start = at + 1
    done.append(b"".join(parts[start:]))


def array_writer(char: str) -> "Callable[[Sequence[Any]], bytes]":
    """A function that packs numbers of the struct format `char`."""
    short = [struct.Struct(f">{count}{char}").pack for count in range(9)]

    def write(values: Sequence[Any]) -> bytes:
        count = len(values)
        if count < 9:
            return short[count](*values)
        return struct.pack(f">{count}{char}", *values)

    return write
