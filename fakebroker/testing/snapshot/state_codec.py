"""States as JSON and a run of bytes beside it, for files.

The types of the fields say how a value is written and what is accepted when it is read:

    int, float, str, bool, X | None, dict[str, X]    themselves
    a NamedTuple                                     an object by field names; fields with defaults may be missing
    tuple[X, ...], list[X], tuple[X, Y], frozenset   an array
    bytes                                            hexadecimal digits: for ids, which are short
    tuple[bytes, ...]                                [position, where their lengths are, how many] in the run of bytes
    array of int64                                   [position, how many] in the run, 8 bytes each, little-endian
"""

import sys
from array import array
from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, Protocol, Self, Union, get_args, get_origin, get_type_hints

_INT64_BYTES = 8
_BATCHES = tuple[bytes, ...]
Json = Any


class WrongValue(ValueError):
    """A value that is not of its type; the text says where and what."""


class Run(Protocol):
    """A run of bytes that grows at its end: a bytearray, or a file."""

    def __len__(self) -> int: ...

    def __iadd__(self, data: bytes, /) -> Self: ...


class Writer:
    """Values in, JSON out; `data` collects the bytes."""

    def __init__(self, data: Run | None = None) -> None:
        self.data: Run = bytearray() if data is None else data

    def encode(self, value: Any, kind: Any) -> Json:
        """The JSON form of a value of the type `kind`."""
        return _form(kind)[0](self, value)

    def add_int64s(self, values: "array[int]") -> list[int]:
        """Append numbers to the run of bytes; position and count."""
        position = len(self.data)
        self.data += _little_endian(values).tobytes()
        return [position, len(values)]

    def add_batches(self, batches: tuple[bytes, ...]) -> list[int]:
        """Append stored batches to the run of bytes; position, the position of their lengths, count."""
        position = len(self.data)
        self.data += b"".join(batches)
        lengths, count = self.add_int64s(array("q", map(len, batches)))
        return [position, lengths, count]


class Reader:
    """JSON and the bytes beside it in, values out. Raises WrongValue."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._left_bytes = len(data)  # no byte belongs to two values: a small file could have very large ones

    def decode(self, json: Json, kind: Any, where: str) -> Any:
        """The value of the type `kind`; `where` names it in errors."""
        return _form(kind)[1](self, json, where)

    def int64s(self, json: Json, where: str) -> "array[int]":
        """Numbers of the run of bytes."""
        position, count = self._numbers(json, 2, where)
        values = array("q")
        values.frombytes(self._part(position, count * _INT64_BYTES, where))
        return _little_endian(values)

    def batches(self, json: Json, where: str) -> tuple[bytes, ...]:
        """Stored batches of the run of bytes."""
        position, lengths_at, count = self._numbers(json, 3, where)
        lengths = self.int64s([lengths_at, count], where)
        if any(length < 0 for length in lengths):
            raise WrongValue(f"{where}: a batch has a negative length")
        self._part(position, sum(lengths), where)
        found = []
        for length in lengths:
            found.append(bytes(self._data[position : position + length]))
            position += length
        return tuple(found)

    def _part(self, position: int, length: int, where: str) -> memoryview:
        if position < 0 or length < 0 or position + length > len(self._data):
            raise WrongValue(f"{where}: bytes {position} to {position + length} of {len(self._data)}")
        self._left_bytes -= length
        if self._left_bytes < 0:
            raise WrongValue(f"{where}: bytes {position} to {position + length} belong to something else, too")
        return self._data[position : position + length]

    def _numbers(self, json: Json, count: int, where: str) -> list[int]:
        numbers = self.decode(json, list[int], where)
        if len(numbers) != count:
            raise WrongValue(f"{where}: {len(numbers)} numbers instead of {count}")
        return list(numbers)


_Form = tuple[Callable[[Writer, Any], Json], Callable[[Reader, Json, str], Any]]


@cache
def _form(kind: Any) -> _Form:
    """How values of a type are written and read."""
    origin = get_origin(kind)
    if kind == _BATCHES:
        return Writer.add_batches, Reader.batches
    if kind is array:
        return Writer.add_int64s, Reader.int64s
    if kind is bytes:
        return (lambda _, value: value.hex()), _read_bytes
    if kind in (int, float, str, bool):
        return (lambda _, value: value), _plain(kind)
    if origin in (UnionType, Union):
        return _optional(next(each for each in get_args(kind) if each is not NoneType))
    if origin is dict:
        return _dictionary(get_args(kind)[1])
    if hasattr(kind, "_fields"):
        return _named(kind)
    if origin in (tuple, list, frozenset):
        return _sequence(kind)
    raise TypeError(f"no form for values of {kind}")


def _read_bytes(_: Reader, json: Json, where: str) -> bytes:
    try:
        return bytes.fromhex(_expected(json, str, where))
    except ValueError:
        raise WrongValue(f"{where}: {json!r:.60} is not hexadecimal") from None


def _plain(kind: type) -> Callable[[Reader, Json, str], Any]:
    def read(_: Reader, json: Json, where: str) -> Any:
        return float(json) if kind is float and json.__class__ is int else _expected(json, kind, where)

    return read


def _optional(kind: Any) -> _Form:
    write, read = _form(kind)
    return (
        lambda writer, value: None if value is None else write(writer, value),
        lambda reader, json, where: None if json is None else read(reader, json, where),
    )


def _dictionary(kind: Any) -> _Form:
    write, read = _form(kind)
    return (
        lambda writer, value: {key: write(writer, each) for key, each in value.items()},
        lambda reader, json, where: {
            key: read(reader, each, f"{where}[{key!r}]") for key, each in _expected(json, dict, where).items()
        },
    )


def _sequence(kind: Any) -> _Form:
    """Elements of one type, or of one type for each place."""
    make, arguments = get_origin(kind), get_args(kind)
    if make is not tuple or arguments[1:] == (...,):
        write, read = _form(arguments[0])
        return (
            lambda writer, value: [write(writer, each) for each in (sorted(value) if make is frozenset else value)],
            lambda reader, json, where: make(
                [read(reader, each, f"{where}[{n}]") for n, each in enumerate(_expected(json, list, where))]
            ),
        )
    forms = [_form(each) for each in arguments]

    def read_places(reader: Reader, json: Json, where: str) -> tuple[Any, ...]:
        if len(_expected(json, list, where)) != len(forms):
            raise WrongValue(f"{where}: {len(json)} values instead of {len(forms)}")
        pairs = enumerate(zip(forms, json, strict=True))
        return tuple([form[1](reader, each, f"{where}[{n}]") for n, (form, each) in pairs])

    return (
        lambda writer, value: [form[0](writer, each) for form, each in zip(forms, value, strict=True)],
        read_places,
    )


def _named(kind: Any) -> _Form:
    hints = get_type_hints(kind)
    forms = {name: _form(hint) for name, hint in hints.items()}
    required = [name for name in forms if name not in kind._field_defaults]

    def read(reader: Reader, json: Json, where: str) -> Any:
        _expected(json, dict, where)
        if wrong := [name for name in required if name not in json]:
            raise WrongValue(f"{where}: the field {wrong[0]!r} is missing")
        if wrong := [name for name in json if name not in forms]:
            raise WrongValue(f"{where} has no field {wrong[0]!r:.60}")
        return kind(**{name: forms[name][1](reader, each, f"{where}.{name}") for name, each in json.items()})

    return (
        lambda writer, value: {
            name: form[0](writer, each) for (name, form), each in zip(forms.items(), value, strict=True)
        },
        read,
    )


def _expected(json: Json, kind: type, where: str) -> Any:
    """The value itself, if it is of that type; True is no number."""
    if json.__class__ is not kind:
        raise WrongValue(f"{where}: {json!r:.60} is not of type {kind.__name__}")
    return json


def _little_endian(values: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values
