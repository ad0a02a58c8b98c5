"""The texts of WireErrors: which message, version, field and value a codec failed at. Runs only after a failure."""

from collections.abc import Iterator
from reprlib import repr as short
from typing import TYPE_CHECKING, Any

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema.runtime import MAX_STRING_BYTES
from fakebroker.protocol.schema.source import failing_field
from fakebroker.protocol.schema.types import BOOL, FLOAT64, STRING, UUID, ArrayOf, FieldSpec, Primitive

if TYPE_CHECKING:
    from fakebroker.protocol.schema.message import Declaration, Message


def decode_failure(message: "type[Message]", version: int, data: bytes, error: Exception) -> WireError:
    """The error for input that is not a message of that version."""
    path, position = failing_field(error)
    reason = str(error) if isinstance(error, WireError) else "the input is truncated"
    where = f" at {path}" if path else ""
    near = f", near byte {position} of {len(data)}" if position is not None else ""
    return WireError(f"{message.__name__} v{version}{where}{near}: {reason}")


def encode_failure(message: "Message", version: int, error: Exception) -> WireError:
    """The error for a value without an encoding: looks for the first field that does not hold what it should."""
    name = f"{type(message).__name__} v{version}"
    if isinstance(error, WireError):
        return WireError(f"{name} at {failing_field(error)[0]}: {error}")
    culprit = _struct(type(message), message, version, "")
    return WireError(f"{name} at {culprit or f'{failing_field(error)[0]}: {error}'}")


def long_strings(declaration: "type[Declaration]", value: Any) -> Iterator[bool]:
    """For each string anywhere in the value: whether it is longer than its length field can say.

    There may be very many. Structures and lists count as short ones.
    """
    return map(_is_long, _texts(declaration, value, set()))


def _texts(declaration: "Primitive | type[Declaration]", value: Any, seen: set[int]) -> Iterator[str]:
    """All strings in the value, and an empty one for each structure and list.

    `seen` are the ids of those that were looked at: entries of an answer may be the same ones.
    """
    if isinstance(declaration, Primitive):
        if declaration is STRING and isinstance(value, str):
            yield value
        return
    yield ""
    if id(value) in seen:
        return
    seen.add(id(value))
    parts = value if declaration.is_row else [getattr(value, spec.name) for spec in declaration.fields]
    for spec, part in zip(declaration.fields, parts, strict=False):
        if isinstance(spec.type, ArrayOf):
            yield from _texts_of_list(spec.type.element, part or (), seen)
        elif part is not None:
            yield from _texts(spec.type, part, seen)


def _texts_of_list(element: "Primitive | type[Declaration]", entries: Any, seen: set[int]) -> Iterator[str]:
    if id(entries) not in seen and (element is STRING or not isinstance(element, Primitive)):
        seen.add(id(entries))
        for each in entries:
            yield from _texts(element, each, seen)


def _is_long(text: str) -> bool:
    return len(text) * 4 > MAX_STRING_BYTES and len(text.encode("utf-8", "surrogatepass")) > MAX_STRING_BYTES


def _struct(declaration: "type[Declaration]", value: Any, version: int, path: str) -> str | None:
    if declaration.is_row:
        if not isinstance(value, tuple) or len(value) != len(declaration.fields):
            return f"{path}: {short(value)} is not a tuple of {', '.join(spec.name for spec in declaration.fields)}"
        values: tuple[Any, ...] = value
    elif not isinstance(value, declaration):
        return f"{path}: {short(value)} is not a {declaration.__name__}"
    else:
        values = tuple(getattr(value, spec.name) for spec in declaration.fields)
    for spec, part in zip(declaration.fields, values, strict=True):
        if spec.versions.includes(version):
            problem = _field(spec, part, version, f"{path}.{spec.name}" if path else spec.name)
            if problem:
                return problem
    return None


def _field(spec: FieldSpec, value: Any, version: int, path: str) -> str | None:
    if value is None:
        return None if spec.nullable.includes(version) else f"{path}: null is not allowed"
    if not isinstance(spec.type, ArrayOf):
        return _element(spec.type, value, version, path)
    if not isinstance(value, list | tuple):
        return f"{path}: {short(value)} is not a list"
    problems = (_element(spec.type.element, item, version, f"{path}[{index}]") for index, item in enumerate(value))
    return next((problem for problem in problems if problem), None)


def _element(kind: "Primitive | type[Declaration]", value: Any, version: int, path: str) -> str | None:
    if isinstance(kind, Primitive):
        problem = _primitive(kind, value)
        return f"{path}: {problem}" if problem else None
    return _struct(kind, value, version, path)


def _primitive(kind: Primitive, value: Any) -> str | None:
    if kind is STRING:
        return _string(value)
    if kind is FLOAT64 or kind is BOOL:
        return None if isinstance(value, int | float) else f"{short(value)} is not a {kind.name}"
    if kind.char and kind is not UUID:
        return _integer(kind, value)
    if not isinstance(value, bytes | bytearray | memoryview):
        return f"{short(value)} is not bytes"
    return f"{short(value)} is not a UUID of 16 bytes" if kind is UUID and len(value) != 16 else None


def _string(value: Any) -> str | None:
    if not isinstance(value, str):
        return f"{short(value)} is not a str"
    size = len(value.encode("utf-8", "surrogatepass"))
    if size > MAX_STRING_BYTES:
        return f"a string of {size} bytes is longer than {MAX_STRING_BYTES}"
    return f"{short(value)} cannot be encoded as UTF-8" if any("\ud800" <= char <= "\udfff" for char in value) else None


def _integer(kind: Primitive, value: Any) -> str | None:
    if not isinstance(value, int):
        return f"{short(value)} is not an integer"
    bits = kind.size * 8
    low, high = (0, 2**bits - 1) if kind.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return None if low <= value <= high else f"{value} does not fit {kind.name}"
