"""Kinds of values: each checks a value, makes what a call takes of it, has a JSON Schema, and says what is wrong.

The sentence of an error goes on after the place of the value, which each way in spells in its own way: an argument in
Python, a field of a body, an option, a key of a scenario.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property
from math import inf, isfinite
from typing import Any

from fakebroker.protocol.arguments.forms import JSON, PYTHON, Form, Schema
from fakebroker.protocol.errors import MAX_LISTED, InvalidArgument, nearest

MAX_ENUMERATED = 40  # names in a schema
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
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
        raise NotImplementedError

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
        if not self.fits(value, form):
            raise self.wrong(value, form)
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
        if not self.fits(value, form):
            raise self.wrong(value, form)
        if not self._has_room(value):
            raise WrongValue(value, f"should be {self._room}, not {form.shown(value)}")
        if not self._is_within(value):
            raise self.wrong(value, form)
        return value

    def _has_room(self, value: float) -> bool:
        return self._may_be_infinite or isfinite(value)

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
        return isinstance(value, datetime) or (isinstance(value, str) and not form.is_python)

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            raise self.wrong(value, form)
        try:
            return _moment(datetime.fromisoformat(value) if isinstance(value, str) else value)
        except ValueError as error:
            if str(error).startswith("has no"):
                raise WrongValue(value, f"{form.shown(str(value))} {error}") from None
            raise self.wrong(value, form) from None

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return {"type": "string", "format": "date-time"}


def _some(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    return text


class _Secret(OfType):
    def wrong(self, value: object, form: Form) -> WrongValue:  # noqa: ARG002
        return WrongValue("(secret)", f"should be {self.about}")

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form) or not value:
            raise self.wrong(value, form)
        return value


TEXT = OfType("a text", (str,), {"type": "string"})
NAME = OfType("a text that is not empty", (str,), {"type": "string", "minLength": 1}, _some)
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

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            raise self.wrong(value, form)
        return value


FUNCTION = PythonOnly("a function", callable)


class _Path(Kind):
    """The path of a file. `open` takes a number for an open file and closes it, perhaps a socket of the broker."""

    about = "the path of a file"

    def fits(self, value: Any, form: Form) -> bool:
        return isinstance(value, str) or (form.is_python and isinstance(value, os.PathLike))

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            raise self.wrong(value, form)
        return value

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return {"type": "string"}


PATH = _Path()


class Bytes(Kind):
    """Bytes; where `takes_text`, a text for its UTF-8 as well."""

    def __init__(self, takes_text: bool) -> None:
        self._takes_text = takes_text
        self.about = "a text or bytes" if takes_text else "bytes"

    def fits(self, value: Any, form: Form) -> bool:
        if form.is_python:
            return isinstance(value, bytes) or (self._takes_text and isinstance(value, str))
        return isinstance(value, str) or (isinstance(value, Mapping) and form.bytes_key in value)

    def likeness(self, table: Mapping[str, Any], form: Form) -> int:
        return sum(bool(get_close_matches(name, [form.bytes_key], 1)) for name in table) if form.bytes_key else -1

    def value(self, value: Any, form: Form) -> Any:
        if isinstance(value, Mapping) and self.likeness(value, form) > 0:
            digits = OfType("a text", (str,), {"type": "string"}, form.bytes_of)
            made: dict[str, bytes] = Fields({form.bytes_key: digits}, [form.bytes_key], dict).value(value, form)
            return made[form.bytes_key]
        if not self.fits(value, form):
            problem = self.wrong(value, form)
            problem.sentence += form.bytes_hint
            raise problem
        return value if self._takes_text or isinstance(value, bytes) else form.encoded(value)

    def schema(self, form: Form = JSON) -> Schema:
        other = form.component(form.bytes_key.title(), "Bytes that are no text.", form.bytes_schema, {})
        return {"anyOf": [{"type": "string"}, other]}


class Anything(Kind):
    """Any data; of scalars only what is no list and no mapping."""

    def __init__(self, about: str = "a value", of_scalars: bool = False) -> None:
        self.about = about
        self._of_scalars = of_scalars

    def fits(self, value: Any, form: Form) -> bool:
        is_scalar = not isinstance(value, Mapping | list | tuple | set)
        return is_scalar and (form.is_python or _is_scalar(value)) if self._of_scalars else True

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            raise self.wrong(value, form)
        return value

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


class ListOf(Kind):
    """A list whose elements are of a kind."""

    def __init__(self, element: Kind, least: int = 0) -> None:
        self.element = element
        self._least = least
        is_optional = isinstance(element, OneOf) and NULL in element.kinds
        self.about = f"a list, each element {element.about}{' or null' if is_optional else ''}"

    @property
    def python_only(self) -> bool:  # type: ignore[override]
        return self.element.python_only

    def fits(self, value: Any, form: Form) -> bool:
        if form.is_python:
            return isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return isinstance(value, list)

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            raise WrongValue(value, f"should be a list, not {form.shown(value)}")
        if len(value) < self._least:
            raise WrongValue(value, f"should have at least {self._least} element{'s' * (self._least > 1)}")
        made = []
        for index, each in enumerate(value):
            try:
                made.append(self.element.read(each, form))
            except WrongValue as wrong:
                raise wrong.under(index) from None
        return made

    def schema(self, form: Form = JSON) -> Schema:
        schema: Schema = {"type": "array", "items": form.inner(self.element.schema(form))}
        return schema | ({"minItems": self._least} if self._least else {})


class TupleOf(Kind):
    """A list of a fixed length, each element of its kind."""

    def __init__(self, elements: Sequence[Kind]) -> None:
        self._elements = tuple(elements)
        self.about = f"a list of {len(self._elements)}"

    def fits(self, value: Any, form: Form) -> bool:
        return isinstance(value, list) or (form.is_python and isinstance(value, tuple))

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            raise self.wrong(value, form)
        if len(value) != len(self._elements):
            raise WrongValue(value, f"should be {self.about}, not of {len(value)}")
        made = []
        for index, (kind, each) in enumerate(zip(self._elements, value, strict=True)):
            try:
                made.append(kind.read(each, form))
            except WrongValue as wrong:
                raise wrong.under(index) from None
        return tuple(made)

    def schema(self, form: Form = JSON) -> Schema:
        count = len(self._elements)
        parts = [form.inner(kind.schema(form)) for kind in self._elements]
        return {"type": "array", "prefixItems": parts, "minItems": count, "maxItems": count}


class TableOf(Kind):
    """A mapping. `key` makes a key of its text and raises ValueError."""

    def __init__(self, value_kind: Kind, key: Callable[[Any], Any] | None = None, key_pattern: str = "") -> None:
        self._value = value_kind
        self._key = key or text_of
        self._key_pattern = key_pattern
        self.about = f"a mapping, each value {value_kind.about}"

    def fits(self, value: Any, form: Form) -> bool:  # noqa: ARG002
        return isinstance(value, Mapping)

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            raise self.wrong(value, form)
        made: dict[Any, Any] = {}
        for name, each in value.items():
            key = self._key_of(name, form)
            if key in made:
                raise WrongValue(name, f"{form.shown(name)} is there already", (name,), is_key=True)
            try:
                made[key] = self._value.read(each, form)
            except WrongValue as wrong:
                raise wrong.under(name) from None
        return made

    def _key_of(self, name: Any, form: Form) -> Any:
        if form.is_python and self._key is number_of and type(name) is int:
            return name
        try:
            return self._key(name)
        except ValueError as error:
            raise WrongValue(name, f"{form.shown(name)} {error}", (name,), is_key=True) from None

    def schema(self, form: Form = JSON) -> Schema:
        values = form.inner(self._value.schema(form))
        if self._key_pattern and not form.nests_tables:
            return {"type": "object", "patternProperties": {self._key_pattern: values}, "additionalProperties": False}
        return {"type": "object", "additionalProperties": values}


class SecretTable(TableOf):
    """A mapping whose values no error shows."""

    def __init__(self) -> None:
        super().__init__(SECRET, lambda name: _some(text_of(name)))
        self.about = 'a mapping with passwords by user ({"alice": "secret"})'

    def wrong(self, value: object, form: Form) -> WrongValue:  # noqa: ARG002
        return WrongValue("(secret)", f"should be {self.about}")


def text_of(name: object) -> str:
    """A key that is a text. Raises ValueError."""
    if not isinstance(name, str):
        raise ValueError("is not a text")
    return name


def number_of(text: object) -> int:
    """A key that is a number. Raises ValueError."""
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > 10:
        raise ValueError("is not a whole number")
    return int(text)


class Fields(Kind):
    """A mapping with named fields, made into a value of `make`, of which Python gives instances if it is a class."""

    def __init__(
        self, fields: Mapping[str, Kind], required: Sequence[str], make: Callable[..., Any], about: str = ""
    ) -> None:
        self.fields = dict(fields)
        self._required = tuple(required)
        self._make = make
        self._doc = about
        self.about = f"a mapping with the fields {', '.join(self.fields)}"

    def fits(self, value: Any, form: Form) -> bool:
        if form.is_python:
            return isinstance(self._make, type) and isinstance(value, self._make)
        if not isinstance(value, Mapping) or not all(name in value for name in self._required):
            return False
        return not value or any(name in self.fields for name in value)

    def likeness(self, table: Mapping[str, Any], form: Form) -> int:  # noqa: ARG002
        return sum(bool(get_close_matches(name, self.fields, 1)) for name in table)

    def value(self, value: Any, form: Form) -> Any:
        if form.is_python:
            return self._instance(value, form)
        if not isinstance(value, Mapping):
            raise self.wrong(value, form)
        for name in value:
            if name not in self.fields:
                raise WrongValue(
                    value, f"there is no field {name!r}; {nearest(name, self.fields)}", (name,), is_key=True
                )
        for name in self._required:
            if name not in value:
                raise WrongValue(value, f"the field {name!r} is missing")
        return self._make(**{name: self._field(name, each, form) for name, each in value.items()})

    def _instance(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            name = getattr(self._make, "__name__", "")
            raise WrongValue(value, f"should be a {name}, not {form.shown(value)}")
        for name in self.fields:
            self._field(name, getattr(value, name), form)
        return value

    def _field(self, name: str, value: Any, form: Form) -> Any:
        try:
            return self.fields[name].read(value, form)
        except WrongValue as wrong:
            raise wrong.under(name) from None

    def schema(self, form: Form = JSON) -> Schema:
        properties = {name: form.inner(kind.schema(form)) for name, kind in self.fields.items()}
        schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        schema |= {"required": list(self._required)} if self._required else {}
        if not self._doc:
            return schema
        return form.component(self._make.__name__, self._doc, schema, getattr(self._make, "_field_defaults", {}))


class OneOf(Kind):
    """A value of one of several kinds: that which it looks like."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = tuple(kinds)
        *first, last = [kind.about for kind in self._only] or [self.kinds[0].about]
        self.about = f"{', '.join(first)} or {last}" if first else last

    @property
    def _only(self) -> list[Kind]:
        return [kind for kind in self.kinds if kind is not NULL]

    def fits(self, value: Any, form: Form) -> bool:
        return any(kind.fits(value, form) for kind in self.kinds)

    def value(self, value: Any, form: Form) -> Any:
        for kind in self.kinds:
            if kind.fits(value, form):
                return kind.read(value, form)
        only = self._only
        tables = [kind for kind in only if kind.likeness(value, form) >= 0] if isinstance(value, Mapping) else []
        tables.sort(key=lambda kind: -kind.likeness(value, form))  # that which is meant says what is wrong
        if (not form.is_python and tables) or len(only) == 1:
            return (tables or only)[0].value(value, form)
        raise self.wrong(value, form)

    def parsed(self, text: str) -> Any:
        for kind in self.kinds:
            made = kind.parsed(text)
            if kind.fits(made, JSON):
                return made
        return text

    def schema(self, form: Form = JSON) -> Schema:
        schemas: list[Schema] = []
        for kind in self.kinds:
            schema = kind.schema(form)
            schemas += schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


PARTITION_PATTERN = r"^.+-[0-9]+$"


def partition_of(text: object) -> tuple[str, int]:
    """Topic and number of "orders-0": the last hyphen separates them. Raises ValueError."""
    topic, hyphen, number = text.rpartition("-") if isinstance(text, str) else ("", "", "")
    if not hyphen or not topic or not re.fullmatch("[0-9]{1,10}", number):
        raise ValueError("is no partition: topic, hyphen, number, as in orders-0")
    return topic, int(number)


class _Partition(Kind):
    """A topic and the number of a partition, as the form writes them."""

    about = "a topic and a partition"

    def fits(self, value: Any, form: Form) -> bool:
        return isinstance(value, tuple | list) if form.is_python or form.nests_tables else isinstance(value, str)

    def value(self, value: Any, form: Form) -> Any:
        try:
            return form.partition(value)
        except ValueError:
            example = form.partition_example
            text = f"should be a topic and a partition, such as {example}, not {form.shown(value)}"
            raise WrongValue(value, text) from None

    def schema(self, form: Form = JSON) -> Schema:
        return form.partition_schema


PARTITION = _Partition()


class ByPartition(TableOf):
    """A mapping by topic and partition; JSON has a mapping of mappings for it."""

    def __init__(self, value_kind: Kind) -> None:
        super().__init__(value_kind, key_pattern=PARTITION_PATTERN)
        self.about = f"a mapping by topic and partition, each value {value_kind.about}"
        self._by_topic = TableOf(TableOf(value_kind, number_of))

    def value(self, value: Any, form: Form) -> Any:
        if not form.nests_tables:
            return super().value(value, form)
        if not self.fits(value, form):
            raise self.wrong(value, form)
        table = self._by_topic.value(value, form)
        return {(topic, number): each for topic, inner in table.items() for number, each in inner.items()}

    def _key_of(self, name: Any, form: Form) -> Any:
        try:
            return PARTITION.value(name, form)
        except WrongValue as wrong:
            raise WrongValue(name, wrong.sentence, (name,), is_key=True) from None

    def schema(self, form: Form = JSON) -> Schema:
        return self._by_topic.schema(form) if form.nests_tables else super().schema(form)


def in_order(kinds: Sequence[Kind]) -> Kind:
    """One kind, or a value of one of several."""
    return kinds[0] if len(kinds) == 1 else OneOf(kinds)
