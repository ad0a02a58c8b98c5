"""How long a part of a message is when it is written, about: without writing it."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.protocol.schema.types import ArrayOf, Primitive

if TYPE_CHECKING:
    from fakebroker.protocol.schema.message import Declaration

_LENGTH_BYTES = 2  # of a list, a text or bytes, and of the tags of a structure
_BYTES_OF_CHARACTER = 3  # of a text that is not ASCII, most


def size_of(kind: "type[Declaration]", value: Any, most_bytes: int) -> int:
    """Bytes of a structure, a few percent less or more; from `most_bytes` on it is not looked at further.

    Of a text that is not ASCII each character counts as three bytes. Fields count in every version, whether they are
    written or not.
    """
    hashed: Any = kind
    found, varying = _fields_of(hashed)
    for name, position, part_kind in varying:
        part = value[position] if kind.is_row else getattr(value, name)
        if part is None:
            continue
        if isinstance(part_kind, ArrayOf):
            found += _size_of_list(part_kind.element, part, most_bytes - found)
        elif isinstance(part_kind, Primitive):
            found += _size_of_text(part)
        else:
            found += size_of(part_kind, part, most_bytes - found)
        if found >= most_bytes:
            break
    return found


class _Fields(NamedTuple):
    """What those of fixed size take, with the lengths of the others; and of these name, position and type."""

    fixed_bytes: int
    varying: tuple[tuple[str, int, Any], ...]


@cache
def _fields_of(kind: Any) -> _Fields:
    fixed_bytes, varying = _LENGTH_BYTES, []
    for position, spec in enumerate(kind.fields):
        if isinstance(spec.type, Primitive) and spec.type.size:
            fixed_bytes += spec.type.size
        else:
            fixed_bytes += _LENGTH_BYTES
            varying.append((spec.name, position, spec.type))
    return _Fields(fixed_bytes, tuple(varying))


def _size_of_list(element: "Primitive | type[Declaration]", entries: Any, most_bytes: int) -> int:
    if not isinstance(element, Primitive):
        return _sum_up_to(most_bytes, (size_of(element, each, most_bytes) for each in entries))
    if element.size:
        return element.size * len(entries)
    return _sum_up_to(most_bytes, (_LENGTH_BYTES + _size_of_text(each) for each in entries))


def _sum_up_to(most_bytes: int, sizes: Iterable[int]) -> int:
    found = 0
    for size_bytes in sizes:
        found += size_bytes
        if found >= most_bytes:
            break
    return found


def _size_of_text(value: str | bytes) -> int:
    return len(value) if isinstance(value, bytes) or value.isascii() else _BYTES_OF_CHARACTER * len(value)
