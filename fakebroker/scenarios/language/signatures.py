"""Arguments of steps and powers, from signatures: the keys under which a scenario gives them, and their kinds."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from fakebroker.scenarios.language.kinds import (
    ANYTHING,
    DURATION_MS,
    DURATION_S,
    ENCODED,
    FLAG,
    HEX,
    MOMENT,
    MOMENT_MS,
    NULL,
    NUMBER,
    PARTITION,
    PARTITION_PATTERN,
    SCALAR,
    TEXT,
    WHOLE,
    Choice,
    FieldsOf,
    Kind,
    ListOf,
    OneOf,
    TableOf,
    TupleOf,
    partition_of,
)
from fakebroker.testing.reflection.members import type_hints

_PLAIN: dict[Any, Kind] = {
    str: TEXT, int: WHOLE, float: NUMBER, bool: FLAG, NoneType: NULL, datetime: MOMENT, Any: ANYTHING, object: SCALAR,
}  # fmt: skip
MOMENTS = ("timestamp_ms",)  # ends in a unit, but is a time of day


class Argument(NamedTuple):
    """One key of a step, and the argument of the call that it gives."""

    key: str
    kind: Kind
    parameter: str
    is_required: bool = False
    about: str = ""


def kind_of(hint: Any) -> Kind | None:
    """The kind of values of a type; None for a type that no text can say: a function, an object."""
    try:
        if hint in _PLAIN:
            return _PLAIN[hint]
    except TypeError:  # not hashable
        return None
    if hint is bytes:
        return OneOf([ENCODED, HEX])
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return Choice(parts)
    if origin in (Union, UnionType):
        return _union(parts)
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return _fields_of(hint)
    if not isinstance(origin, type):
        return None
    if issubclass(origin, tuple) and Ellipsis not in parts:
        return PARTITION if parts == (str, int) else _all(parts, TupleOf)
    if issubclass(origin, Mapping):
        return _table(*parts)
    if issubclass(origin, Sequence | tuple) or issubclass(origin, Iterable):
        element = kind_of(parts[0])
        return None if element is None else ListOf(element)
    return None


def _union(parts: tuple[Any, ...]) -> Kind | None:
    if str in parts and bytes in parts:
        kinds = [TEXT, HEX, *(kind_of(part) for part in parts if part not in (str, bytes))]
    else:
        kinds = [kind_of(part) for part in parts]
    known = [kind for kind in kinds if kind is not None]
    if any(kind is MOMENT for kind in known):  # which takes numbers, too
        known = [kind for kind in known if kind is not WHOLE]
    if not [kind for kind in known if kind is not NULL]:
        return None
    return known[0] if len(known) == 1 else OneOf(known)


def _all(parts: Sequence[Any], make: Any) -> Kind | None:
    kinds = [kind_of(part) for part in parts]
    return None if None in kinds else make(kinds)


def _table(key: Any, value: Any) -> Kind | None:
    kind = kind_of(value)
    if kind is None:
        return None
    if key == tuple[str, int]:
        return TableOf(kind, partition_of, PARTITION_PATTERN)
    if key is int:
        return TableOf(kind, _number, "^[0-9]+$")
    return TableOf(kind)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise ValueError("is not a whole number")
    return int(text)


def _fields_of(cls: Any) -> Kind:
    hints = {name: kind_of(hint) for name, hint in type_hints(cls).items() if name in cls._fields}
    fields = {name: kind for name, kind in hints.items() if kind is not None}
    return FieldsOf(fields, [n for n in fields if n not in cls._field_defaults], cls)


def arguments_of(parameters: Iterable[inspect.Parameter], leave_out: Sequence[str] = ()) -> list[Argument]:
    """The keys for the arguments of a call, in their order.

    One whose name ends in a unit of time has a second key without the unit, for a duration: `session_timeout: 10s`.
    """
    found: list[Argument] = []
    for parameter in parameters:
        name = parameter.name
        if name in leave_out or parameter.kind is parameter.VAR_KEYWORD:
            continue
        kind = kind_of(parameter.annotation)
        if kind is None:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            found.append(Argument(name, ListOf(kind, 1), name, is_required=name == "values"))
            continue
        is_required = parameter.default is parameter.empty
        found.append(Argument(name, kind, name, is_required))
        found += with_duration(name, is_required)
    return found


def with_duration(name: str, is_required: bool) -> list[Argument]:
    """The second key of an argument in milliseconds or seconds."""
    stem, _, unit = name.rpartition("_")
    if not stem or unit not in ("ms", "s") or "per" in stem.split("_"):
        return []
    kind = MOMENT_MS if name in MOMENTS else DURATION_MS if unit == "ms" else DURATION_S
    return [Argument(stem, kind, name, is_required)]
