"""Kinds of values: each checks a value, makes what a call takes of it, has a JSON Schema, and says what is wrong.

The sentence of an error goes on after the place of the value, which each way in spells in its own way: an argument in
Python, a field of a body, an option, a key of a scenario.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from math import inf, isfinite
from typing import Any

from fakebroker.protocol.arguments.forms import JSON, PYTHON, Form, Schema
from fakebroker.protocol.errors import MAX_LISTED, InvalidArgument, nearest

MAX_ENUMERATED = 40  # names in a schema
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
_DATE = re.compile(r"[0-9]{4}-")
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)


class WrongValue(Exception):
    """A value that is not of its kind: the value, a sentence that says what is wrong, and where the value is.

    `path` has the indexes and keys that lead to the value; with `is_key` the last of them is what is wrong.
    """

    def __init__(
        self,
        value: object,
        sentence: str,
        path: tuple[Any, ...] = (),
        *,
        is_key: bool = False,
        error: type[InvalidArgument] = InvalidArgument,
    ) -> None:
        super().__init__(sentence)
        self.value = value
        self.sentence = sentence
        self.path = path
        self.is_key = is_key
        self.error = error

    def under(self, key: object) -> "WrongValue":
        """The same, seen from the list or mapping in which it is."""
        self.path = (key, *self.path)
        return self

    @property
    def place(self) -> str:
        """Where in the argument: "[0]['x']"; "" for the whole of it."""
        return "".join(f"[{part!r}]" for part in (self.path[:-1] if self.is_key else self.path))

    def of(self, field: str) -> InvalidArgument:
        """The error about an argument."""
        return self.error(field, self.value, f"{field}{self.place}: {self.sentence}")


class Kind:
    """A kind of value. `about` is its name in a sentence, after "should be"."""

    about = "a value"
    python_only = False

    def read(self, value: Any, form: Form = PYTHON) -> Any:
        """What a call takes for a value. Raises WrongValue."""
        return value if form.leaves(value) else self.value(value, form)

    def value(self, value: Any, form: Form) -> Any:
        """The same for a value that stands for itself."""
        if not self.fits(value, form):
            raise self.wrong(value, form)
        return value

    def fits(self, value: Any, form: Form) -> bool:
        """Whether a value is of this kind as far as one sees without looking into it."""
        raise NotImplementedError

    def likeness(self, table: Mapping[str, Any], form: Form) -> int:  # noqa: ARG002
        """How many keys of a mapping are fields of this kind, misspelt ones included; -1 for a kind without fields."""
        return -1

    def parsed(self, text: str) -> Any:
        """A text of a query or a shell as data; the text itself where it is not of this kind."""
        return text

    def schema(self, form: Form = JSON) -> Schema:
        """JSON Schema of it."""
        raise NotImplementedError

    def wrong(self, value: object, form: Form) -> WrongValue:
        """The problem of a value that is of another kind."""
        return WrongValue(value, f"should be {self.about}, not {form.shown(value)}")


class OfType(Kind):
    """Values of some types, perhaps checked or made by a function that raises ValueError."""

    def __init__(
        self, about: str, types: tuple[type, ...], schema: Schema, make: Callable[[Any], Any] | None = None
    ) -> None:
        self.about = about
        self._types = types
        self._schema = schema
        self._make = make

    def fits(self, value: Any, form: Form) -> bool:  # noqa: ARG002 - others need the form
        return isinstance(value, self._types) and (not isinstance(value, bool) or bool in self._types)

    def value(self, value: Any, form: Form) -> Any:
        super().value(value, form)
        if self._make is None:
            return value
        try:
            return self._make(value)
        except ValueError as error:
            raise WrongValue(value, f"{form.shown(value)} {error}") from None

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return dict(self._schema)


class Number(Kind):
    """A number in a range. `unit` goes into sentences: "a number of seconds"."""

    _types: tuple[type, ...] = (int, float)
    _name = "number"
    _room = "a finite number"

    def __init__(
        self, least: float | None = None, most: float | None = None, unit: str = "", *,
        is_above: bool = False, may_be_infinite: bool = False,
    ) -> None:  # fmt: skip
        self.least, self.most = least, most
        self._is_above, self._may_be_infinite = is_above, may_be_infinite
        name = f"a {self._word} of {unit}" if unit else f"a {self._word}"
        if is_above:
            limits = f" above {least}" + (f", at most {most}" if most is not None else "")
        elif most is not None:
            limits = f" from {_plain(least)} to {_plain(most)}"
        else:
            limits = f", {least} or more" if least is not None else ""
        self.about = name + limits

    @property
    def _word(self) -> str:
        return self._name

    def fits(self, value: Any, form: Form) -> bool:  # noqa: ARG002
        return isinstance(value, self._types) and not isinstance(value, bool)

    def value(self, value: Any, form: Form) -> Any:
        super().value(value, form)
        if not self._has_room(value):
            raise WrongValue(value, f"should be {self._room}, not {form.shown(value)}")
        if not self._is_within(value):
            raise self.wrong(value, form)
        return value

    def _has_room(self, value: float) -> bool:
        try:
            return isfinite(value) or self._may_be_infinite
        except OverflowError:  # a whole number that no float is as large as
            return False

    def _is_within(self, value: float) -> bool:
        low = -inf if self.least is None else self.least
        high = inf if self.most is None else self.most
        return (low < value if self._is_above else low <= value) and value <= high  # nan is not

    def parsed(self, text: str) -> Any:
        if _INTEGER.fullmatch(text):
            return int(text)
        try:
            return float(text)
        except ValueError:
            return text

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        least = "exclusiveMinimum" if self._is_above else "minimum"
        limits = {least: self.least, "maximum": self.most}
        return {"type": self._name, **{name: limit for name, limit in limits.items() if limit is not None}}


def _plain(limit: float | None) -> str:
    return str(limit) if isinstance(limit, int) else f"{limit:f}".rstrip("0").rstrip(".")


class Whole(Number):
    """A whole number in a range, that fits into 64 bits; True and False are none."""

    _types = (int,)
    _name = "integer"
    _room = "a whole number that fits into 64 bits"

    @property
    def _word(self) -> str:
        return "whole number"

    def _has_room(self, value: float) -> bool:
        return LONG_MIN <= value <= LONG_MAX

    def parsed(self, text: str) -> Any:
        return int(text) if _INTEGER.fullmatch(text) else text


class _Flag(OfType):
    def parsed(self, text: str) -> Any:
        return {"true": True, "false": False}.get(text, text)


def _moment(value: datetime) -> datetime:
    if value.utcoffset() is None:
        raise ValueError("has no time zone; one in UTC is 2026-01-01T00:00:00Z")
    return value


class _Moment(Kind):
    about = "a time (2026-01-01T00:00:00Z)"

    def fits(self, value: Any, form: Form) -> bool:
        return isinstance(value, datetime) or (
            isinstance(value, str) and not form.is_python and bool(_DATE.match(value))
        )

    def value(self, value: Any, form: Form) -> Any:
        super().value(value, form)
        try:
            return _moment(datetime.fromisoformat(value) if isinstance(value, str) else value)
        except ValueError as error:
            if str(error).startswith("has no"):
                raise WrongValue(value, f"{form.shown(str(value))} {error}") from None
            raise self.wrong(value, form) from None

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return {"type": "string", "format": "date-time"}


def not_empty(text: str) -> str:
    """The text. Raises ValueError for an empty one."""
    if not text:
        raise ValueError("is empty")
    return text


class _Secret(OfType):
    def wrong(self, value: object, form: Form) -> WrongValue:  # noqa: ARG002
        return WrongValue("(password)", f"should be {self.about}")

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form) or not value:
            raise self.wrong(value, form)
        return value


TEXT = OfType("a text", (str,), {"type": "string"})
NAME = OfType("a text that is not empty", (str,), {"type": "string", "minLength": 1}, not_empty)
SECRET = _Secret("a text that is not empty", (str,), {"type": "string", "minLength": 1})
WHOLE, NUMBER = Whole(), Number()
FLAG = _Flag("true or false", (bool,), {"type": "boolean"})
NULL = OfType("null", (type(None),), {"type": "null"})
MOMENT = _Moment()


class PythonOnly(Kind):
    """What no text can say: a function, an object of Python."""

    python_only = True

    def __init__(self, about: str, is_one: Callable[[Any], bool]) -> None:
        self.about = about
        self._is_one = is_one

    def fits(self, value: Any, form: Form) -> bool:
        return form.is_python and self._is_one(value)


FUNCTION = PythonOnly("a function", callable)


class _Path(Kind):
    """The path of a file. `open` takes a number for an open file and closes it, perhaps a socket of the broker."""

    about = "the path of a file"

    def fits(self, value: Any, form: Form) -> bool:
        return isinstance(value, str) or (form.is_python and isinstance(value, os.PathLike))

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return {"type": "string"}


PATH = _Path()


class Anything(Kind):
    """Any data; of scalars only what is no list and no mapping."""

    def __init__(self, about: str = "a value", of_scalars: bool = False) -> None:
        self.about = about
        self._of_scalars = of_scalars

    def fits(self, value: Any, form: Form) -> bool:
        is_scalar = not isinstance(value, Mapping | list | tuple | set)
        return is_scalar and (form.is_python or _is_scalar(value)) if self._of_scalars else True

    def wrong(self, value: object, form: Form) -> WrongValue:
        """The problem of a list or mapping, which is not repeated: a setting may be secret."""
        if isinstance(value, int):  # it is too large
            return super().wrong(value, form)
        return WrongValue(value, f"should be {self.about}, not a {'mapping' if isinstance(value, Mapping) else 'list'}")

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        if not self._of_scalars:
            return {}
        return {"anyOf": [{"type": name} for name in ("string", "boolean", "integer", "number", "null")]}


def _is_scalar(value: object) -> bool:
    return not isinstance(value, int) or LONG_MIN <= value <= LONG_MAX


ANYTHING = Anything()
SCALAR = Anything("a text, number, true, false or null", of_scalars=True)


class Choice(Kind):
    """One of some names; `where` says where all of them are, `error` is what a name that is none of them raises."""

    def __init__(
        self,
        names: Iterable[str] | Callable[[], Iterable[str]],
        where: str = "",
        error: type[InvalidArgument] = InvalidArgument,
    ) -> None:
        """`names` may be a function that gives them, which is called when they are needed first."""
        self._names = names
        self._where = where
        self._error = error

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in their order."""
        return tuple(map(str, self._names() if callable(self._names) else self._names))

    @property
    def about(self) -> str:  # type: ignore[override]
        return f"one of {', '.join(self.names)}" if len(self.names) <= MAX_LISTED else "a name that exists"

    def fits(self, value: Any, form: Form) -> bool:  # noqa: ARG002
        return isinstance(value, str)

    def value(self, value: Any, form: Form) -> Any:
        if value in self.names:
            return value
        sentence = f"there is no {form.shown(value)}; {nearest(value, self.names, self._where)}"
        raise WrongValue(value, sentence, error=self._error)

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return {"enum": list(self.names)} if len(self.names) <= MAX_ENUMERATED else {"type": "string"}


class Choices(Choice):
    """One or several of some names, in one text: "transition|offset_expired"."""

    def value(self, value: Any, form: Form) -> Any:
        if not isinstance(value, str):
            raise WrongValue(value, f"should be a text such as 'A|B', not {form.shown(value)}")
        for part in value.split("|"):
            super().value(part.strip(), form)
        return value

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return {"type": "string"}
