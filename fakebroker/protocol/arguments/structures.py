"""Kinds of values that have parts: lists, mappings, named fields, one of several kinds, bytes, partitions."""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from fakebroker.protocol.arguments.forms import JSON, Form, Schema
from fakebroker.protocol.arguments.kinds import NULL, SECRET, Kind, OfType, WrongValue, not_empty
from fakebroker.protocol.errors import nearest


def _read_at(key: object, kind: Kind, value: Any, form: Form) -> Any:
    """What a call takes for a value in a list or mapping. Raises WrongValue, which says where it is."""
    try:
        return kind.read(value, form)
    except WrongValue as wrong:
        raise wrong.under(key) from None


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
        return [_read_at(index, self.element, each, form) for index, each in enumerate(value)]

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
        super().value(value, form)
        if len(value) != len(self._elements):
            raise WrongValue(value, f"should be {self.about}, not of {len(value)}")
        pairs = enumerate(zip(self._elements, value, strict=True))
        return tuple(_read_at(index, kind, each, form) for index, (kind, each) in pairs)

    def schema(self, form: Form = JSON) -> Schema:
        count = len(self._elements)
        parts = [form.inner(kind.schema(form)) for kind in self._elements]
        return {"type": "array", "prefixItems": parts, "minItems": count, "maxItems": count}


class TableOf(Kind):
    """A mapping. `key` makes a key of its text and raises ValueError."""

    def __init__(self, value_kind: Kind, key: Callable[[Any], Any] | None = None) -> None:
        self._value = value_kind
        self._key = key or text_of
        self.about = f"a mapping, each value {value_kind.about}"

    def fits(self, value: Any, form: Form) -> bool:  # noqa: ARG002
        return isinstance(value, Mapping)

    def value(self, value: Any, form: Form) -> Any:
        super().value(value, form)
        made: dict[Any, Any] = {}
        for name, each in value.items():
            key = self._key_of(name, form)
            if key in made:
                raise WrongValue(name, f"{form.shown(name)} is there already", (name,), is_key=True)
            made[key] = _read_at(name, self._value, each, form)
        return made

    def _key_of(self, name: Any, form: Form) -> Any:
        if form.is_python and self._key is number_of and type(name) is int:
            return name
        try:
            return self._key(name)
        except ValueError as error:
            raise WrongValue(name, f"{form.shown(name)} {error}", (name,), is_key=True) from None

    def schema(self, form: Form = JSON) -> Schema:
        return {"type": "object", "additionalProperties": form.inner(self._value.schema(form))}


class SecretTable(TableOf):
    """A mapping whose values no error shows."""

    def __init__(self) -> None:
        super().__init__(SECRET, lambda name: not_empty(text_of(name)))
        self.about = 'a mapping with passwords by user ({"alice": "secret"})'

    def wrong(self, value: object, form: Form) -> WrongValue:  # noqa: ARG002
        return WrongValue("(password)", f"should be {self.about}")


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
        return self._make(**{name: _read_at(name, self.fields[name], each, form) for name, each in value.items()})

    def _instance(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            name = getattr(self._make, "__name__", "")
            raise WrongValue(value, f"should be a {name}, not {form.shown(value)}")
        for name, kind in self.fields.items():
            _read_at(name, kind, getattr(value, name), form)
        return value

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
        super().__init__(value_kind)
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
        if form.nests_tables:
            return self._by_topic.schema(form)
        values = form.inner(self._value.schema(form))
        return {"type": "object", "patternProperties": {PARTITION_PATTERN: values}, "additionalProperties": False}


def one_of(kinds: Sequence[Kind]) -> Kind:
    """One kind, or a value of one of several."""
    return kinds[0] if len(kinds) == 1 else OneOf(kinds)


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
        other = form.component(form.bytes_key.title(), "Bytes that are not text.", form.bytes_schema, {})
        return {"anyOf": [{"type": "string"}, other]}
