"""The arguments of a power, from the signature of its method: kinds from annotations, and the check of a call."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from fakebroker.protocol.annotations import parameters_of, type_hints
from fakebroker.protocol.arguments.kinds import (
    ANYTHING,
    FLAG,
    FUNCTION,
    MOMENT,
    NULL,
    NUMBER,
    PATH,
    SCALAR,
    TEXT,
    WHOLE,
    Choice,
    Kind,
    PythonOnly,
    WrongValue,
)
from fakebroker.protocol.arguments.structures import (
    PARTITION,
    ByPartition,
    Bytes,
    Fields,
    ListOf,
    OneOf,
    TableOf,
    TupleOf,
    number_of,
    one_of,
)
from fakebroker.protocol.errors import nearest

_PLAIN: dict[Any, Kind] = {
    str: TEXT, int: WHOLE, float: NUMBER, bool: FLAG, NoneType: NULL, datetime: MOMENT, Any: ANYTHING, object: SCALAR,
    bytes: Bytes(takes_text=False),
}  # fmt: skip
# Other words for arguments that are named by their unit, too unlike it to be found by their spelling.
_UNITS = {"ms": ("milliseconds", "millis", "millisecond", "msec"), "s": ("seconds", "second", "secs", "sec")}


def kind_of(hint: Any) -> Kind:
    """The kind of values of a type. What `Annotated` adds to a type is its kind."""
    if get_origin(hint) is Annotated:
        return next((each for each in reversed(hint.__metadata__) if isinstance(each, Kind)), kind_of(hint.__origin__))
    if isinstance(hint, type | type(Any)) and hint in _PLAIN:
        return _PLAIN[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return Choice(parts)
    if origin in (Union, UnionType):
        return _union(parts)
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return fields_of(hint)
    if isinstance(origin, type):
        return _generic(origin, parts)
    return FUNCTION if origin is Callable else _object(hint)


def data_kind(hint: Any) -> Kind | None:
    """The same for what data can say; None for a type that no text can: a function, an object."""
    kind = kind_of(hint)
    if is_python_only(kind):
        return None
    return one_of([each for each in kind.kinds if not each.python_only]) if isinstance(kind, OneOf) else kind


def is_python_only(kind: Kind) -> bool:
    """Whether no data is of this kind, but for null."""
    kinds = kind.kinds if isinstance(kind, OneOf) else (kind,)
    return all(each.python_only or each is NULL for each in kinds)


def _generic(origin: type, parts: tuple[Any, ...]) -> Kind:
    if issubclass(origin, os.PathLike):
        return PATH
    if issubclass(origin, tuple) and Ellipsis not in parts:
        return PARTITION if parts == (str, int) else TupleOf([kind_of(part) for part in parts])
    if issubclass(origin, Mapping):
        key, value = parts
        if key == tuple[str, int]:
            return ByPartition(kind_of(value))
        return TableOf(kind_of(value), number_of if key is int else None)
    if issubclass(origin, Iterable):
        return ListOf(kind_of(parts[0]))
    return FUNCTION if issubclass(origin, Callable) else _object(origin)  # type: ignore[arg-type]


def _object(hint: Any) -> Kind:
    """Instances of a class, or what only Python can say otherwise."""
    if hint is os.PathLike:
        return PATH
    if not isinstance(hint, type) or getattr(hint, "_is_protocol", False):
        return PythonOnly("an object", lambda _: True)
    return PythonOnly(f"a {hint.__name__}", lambda value: isinstance(value, hint))


def _union(parts: tuple[Any, ...]) -> Kind:
    kinds = [kind_of(part) for part in parts]
    if str in parts and bytes in parts:
        kinds = [
            Bytes(takes_text=True),
            *(kind for part, kind in zip(parts, kinds, strict=True) if part not in (str, bytes)),
        ]
    elif PATH in kinds:
        kinds = [kind for kind in kinds if kind is not TEXT]
    elif TEXT in kinds:  # the names of a Literal are for type checkers then
        kinds = [kind for kind in kinds if not isinstance(kind, Choice)]
    return one_of(kinds)


@cache
def fields_of(cls: Any) -> Fields:
    """The kind of a named tuple: a mapping with its fields, or in Python an instance."""
    hints = {name: data_kind(hint) for name, hint in type_hints(cls, with_kinds=True).items() if name in cls._fields}
    fields = {name: kind for name, kind in hints.items() if kind is not None}
    return Fields(fields, [n for n in fields if n not in cls._field_defaults], cls, inspect.getdoc(cls) or "")


class Argument(NamedTuple):
    """One argument of a power."""

    name: str
    kind: Kind
    is_required: bool
    is_many: bool = False  # whether it takes every further positional argument


class Signature:
    """The arguments of one function, in their order, as a call in Python gives them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = parameters_of(function)
        self.name = function.__name__
        self.arguments = {
            each.name: Argument(
                each.name,
                kind_of(each.annotation),
                each.default is each.empty,
                each.kind is each.VAR_POSITIONAL,
            )
            for each in parameters
            if each.kind is not each.VAR_KEYWORD and each.annotation is not each.empty
        }
        self._by_place = [each.name for each in parameters if each.kind in _BY_PLACE]
        self._of_many = next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), "")
        self._defaults = {each.name: each.default for each in parameters}

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raises InvalidArgument for an argument that is not of its kind. `args` are those after `self`."""
        for name, value in zip(self._by_place, args, strict=False):
            self._check(name, value)
        for name, value in kwargs.items():
            self._check(name, value)
        if self._of_many:
            for value in args[len(self._by_place) :]:
                self._check(self._of_many, value)

    def _check(self, name: str, value: Any) -> None:
        argument = self.arguments.get(name)
        if argument is None or value is self._defaults[name]:
            return
        try:
            argument.kind.read(value)
        except WrongValue as wrong:
            raise wrong.of(name) from None


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@cache
def signature_of(function: Callable[..., Any]) -> Signature:
    """The signature of a method; it is read once."""
    return Signature(function)


def unknown_argument(power: str, name: str, known: Iterable[str]) -> str:
    """The sentence about an argument that a power does not have."""
    known = list(known)
    for unit, words in _UNITS.items():
        if unit in known and name.casefold() in words:
            return f"{power} has no such argument; did you mean {unit!r}?"
    return f"{power} has no such argument; {nearest(name, known)}"


def missing_argument(power: str, kind: Kind) -> str:
    """The sentence about an argument that is not given."""
    return f"is missing; {power} needs {kind.about}"
