"""Kinds of values that a scenario may have at a place: each checks a node, makes the value, and has a JSON Schema.

Where a step takes a value, "$name" and "$name.path" stand for what an earlier step saved, and "$$" for a dollar sign;
they are left as they are for the player.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from math import isfinite
from typing import Any, TypeGuard

from fakebroker.protocol.durations import DURATION, duration_ms
from fakebroker.protocol.errors import nearest
from fakebroker.scenarios.errors import Problems
from fakebroker.scenarios.language.yaml_file import Items, Node, Scalar, Table
from fakebroker.scenarios.script import Json, SourceLine

Schema = dict[str, Any]
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
SAVED = re.compile(r"\$([A-Za-z_][A-Za-z0-9_-]*)(\.[^\s]+)?")
ACTOR_PROPERTIES = (
    "client_id", "member_id", "generation_id", "member_epoch", "is_leader", "protocol", "assignment", "active_tasks",
    "standby_tasks", "is_connected", "closed_reason", "outstanding", "node", "is_consuming", "consumed", "failure",
)  # fmt: skip


@dataclass
class Reading:
    """What is known while a file is read: the problems so far, and what earlier steps saved (name -> kind of thing).

    The actors are there, too: "$a.member_id". Outside of a timeline "$name" is a text like others.
    """

    problems: Problems = field(default_factory=Problems)
    saved: dict[str, str] = field(default_factory=dict)
    in_timeline: bool = True

    def wrong(self, node: Node, key: str, message: str) -> None:
        """Keep a problem with a node."""
        self.problems.add(node.place, key, message)


class Wrong(Exception):
    """A value that is not of its kind. The node is the part of it that is wrong, `key` says under which it stands."""

    def __init__(self, node: Node, message: str, key: str = "") -> None:
        super().__init__(message)
        self.node = node
        self.message = message
        self.key = key

    def under(self, key: str) -> "Wrong":
        """The same problem, said of a key."""
        return Wrong(self.node, self.message, key)


def shown(node: Node) -> str:
    """A node in a message."""
    if isinstance(node, Scalar):
        text = node.text if len(node.text) <= 60 else node.text[:60] + "..."
        return repr(text) if isinstance(node.value, str) else text or "nothing"
    return "a list" if isinstance(node, Items) else "a mapping"


def partition_of(text: str) -> tuple[str, int]:
    """Topic and number of "orders-0": the last hyphen separates them. Raises ValueError."""
    topic, hyphen, number = text.rpartition("-")
    if not hyphen or not topic or not re.fullmatch("[0-9]{1,10}", number):
        raise ValueError("is no partition: topic, hyphen, number, as in orders-0")
    return topic, int(number)


def plain(node: Node) -> Json:
    """A node as data."""
    if isinstance(node, Table):
        return {name: plain(each) for name, each in node.entries.items()}
    if isinstance(node, Items):
        return [plain(each) for each in node.items]
    assert isinstance(node, Scalar)
    return node.value


class Kind:
    """A kind of value. `about` is its name in a message, after "should be"."""

    about = "a value"

    def read(self, node: Node, reading: Reading) -> Any:
        """The value. Raises Wrong."""
        if reading.in_timeline and is_saved(node):
            check_saved(node, reading)
            return node.value
        return self.value(node, reading)

    def value(self, node: Node, reading: Reading) -> Any:
        """The value of a node that stands for itself. Raises Wrong."""
        raise NotImplementedError

    def fits(self, node: Node) -> bool:
        """Whether a node is of this kind as far as one sees without looking into it."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """JSON Schema of it."""
        raise NotImplementedError

    def wrong(self, node: Node) -> Wrong:
        """The problem of a node that is of another kind."""
        return Wrong(node, f"should be {self.about}, not {shown(node)}")


def is_saved(node: Node) -> TypeGuard[Scalar]:
    """Whether a node stands for what was saved."""
    return isinstance(node, Scalar) and isinstance(node.value, str) and re.match(r"\$(?!\$)", node.value) is not None


def check_saved(node: Scalar, reading: Reading) -> None:
    """Raises Wrong if no earlier step saved what a text with "$" names."""
    name = SAVED.fullmatch(node.value)
    if name is None:
        raise Wrong(node, f"{shown(node)} begins with $ and is no name of a saved value; $$ stands for one $")
    if reading.saved.get(name[1]) == "actor" and not name[2]:
        raise Wrong(node, f"{name[1]} is an actor; say what of it: ${name[1]}.member_id")
    if reading.saved.get(name[1]) == "actor" and (part := name[2].split(".")[1]) not in ACTOR_PROPERTIES:
        raise Wrong(node, f"an actor has no {part!r}; {nearest(part, ACTOR_PROPERTIES)}")
    if name[1] not in reading.saved:
        raise Wrong(node, f"no earlier step saves {name[1]!r}; {nearest(name[1], reading.saved)}")


def takes_text(kind: Kind) -> bool:
    """Whether a value of this kind can be a part of a text: "move billing 2"."""
    return any(kind.fits(Scalar(SourceLine("", 0), value, str(value))) for value in ("x", 1, 1.5, True))


class ScalarKind(Kind):
    """A kind whose values are scalars of one type, perhaps made of them by a function that raises ValueError."""

    def __init__(
        self, about: str, types: tuple[type, ...], schema: Schema, make: Callable[[Any], Any] | None = None
    ) -> None:
        self.about = about
        self._types = types
        self._schema = schema
        self._make = make

    def fits(self, node: Node) -> bool:
        return isinstance(node, Scalar) and type(node.value) in self._types

    def value(self, node: Node, reading: Reading) -> Any:  # noqa: ARG002 - other kinds need it
        if not self.fits(node):
            error = self.wrong(node)
            if str in self._types and self._make is None and isinstance(node, Scalar) and node.value is not None:
                error = Wrong(node, f'{error.message}; in quotes it is one: "{node.text}"')
            raise error
        assert isinstance(node, Scalar)
        if self._make is None:
            return node.value
        try:
            return self._make(node.value)
        except ValueError as error:
            raise Wrong(node, f"{shown(node)} {error}") from None

    def schema(self) -> Schema:
        return dict(self._schema)


def _long(number: int) -> int:
    if not LONG_MIN <= number <= LONG_MAX:
        raise ValueError("does not fit into 64 bits")
    return number


def _finite(number: float) -> float:
    if not isfinite(number):
        raise ValueError("is not a finite number")
    return number


def _moment(value: str | int) -> datetime | int:
    if isinstance(value, int):
        return _long(value)
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("is no time: 2026-01-01T00:00:00Z") from None
    if when.utcoffset() is None:
        raise ValueError("has no time zone: add Z for UTC")
    return when


def _moment_ms(value: str) -> int:
    when = _moment(value)
    assert isinstance(when, datetime)
    return round(when.timestamp() * 1000)


def whole(least: int | None = None, most: int | None = None) -> ScalarKind:
    """A whole number in a range."""
    about = "a whole number" if least is None and most is None else f"a whole number, {least} or more"
    about = about if most is None else f"a whole number from {least} to {most}"

    def check(number: int) -> int:
        if (least is not None and number < least) or (most is not None and number > most):
            raise ValueError(f"is not {about}")
        return _long(number)

    limits = {"minimum": least, "maximum": most}
    schema = {"type": "integer", **{name: limit for name, limit in limits.items() if limit is not None}}
    return ScalarKind(about, (int,), schema, check)


PARTITION_PATTERN = r"^.+-[0-9]+$"
TEXT = ScalarKind("a text", (str,), {"type": "string"})
NAME = ScalarKind("a text", (str,), {"type": "string", "minLength": 1})
WHOLE = ScalarKind("a whole number", (int,), {"type": "integer"}, _long)
NUMBER = ScalarKind("a number", (int, float), {"type": "number"}, _finite)
FLAG = ScalarKind("true or false", (bool,), {"type": "boolean"})
NULL = ScalarKind("null", (type(None),), {"type": "null"})
_DURATION_SCHEMA = {"type": "string", "pattern": f"^{DURATION}$"}
_A_DURATION = "a duration (250ms, 10s, 1h 10m, 3d)"
DURATION_MS = ScalarKind(_A_DURATION, (str,), _DURATION_SCHEMA, duration_ms)
DURATION_S = ScalarKind(_A_DURATION, (str,), _DURATION_SCHEMA, lambda text: duration_ms(text) / 1000)
PARTITION = ScalarKind("a partition (orders-0)", (str,), {"type": "string", "pattern": PARTITION_PATTERN}, partition_of)
MOMENT = ScalarKind("a time (2026-01-01T00:00:00Z)", (str, int), {"type": ["string", "integer"]}, _moment)
MOMENT_MS = ScalarKind("a time (2026-01-01T00:00:00Z)", (str,), {"type": "string"}, _moment_ms)


class Anything(Kind):
    """Any data; names of saved values are checked in all of it."""

    def __init__(self, about: str = "a value", of_scalars: bool = False) -> None:
        self.about = about
        self._of_scalars = of_scalars

    def fits(self, node: Node) -> bool:
        return isinstance(node, Scalar) or not self._of_scalars

    def value(self, node: Node, reading: Reading) -> Any:
        if not self.fits(node):
            raise self.wrong(node)
        if isinstance(node, Table):
            return {name: self.read(each, reading) for name, each in node.entries.items()}
        if isinstance(node, Items):
            return [self.read(each, reading) for each in node.items]
        return plain(node)

    def schema(self) -> Schema:
        return {"type": ["string", "number", "boolean", "null"]} if self._of_scalars else {}


ANYTHING = Anything()
SCALAR = Anything("a text, number, true, false or null", of_scalars=True)


class Choice(Kind):
    """One of some names."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.about = f"one of {', '.join(self.names)}"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Scalar) and isinstance(node.value, str)

    def value(self, node: Node, reading: Reading) -> Any:  # noqa: ARG002 - other kinds need it
        if not isinstance(node, Scalar) or node.value not in self.names:
            hint = nearest(node.text, self.names) if isinstance(node, Scalar) else self.about
            raise Wrong(node, f"there is no {shown(node)}; {hint}")
        return node.value

    def schema(self) -> Schema:
        return {"enum": list(self.names)}


class ListOf(Kind):
    """A list whose elements are of a kind."""

    def __init__(self, element: Kind, least: int = 0) -> None:
        self.element = element
        self._least = least
        self.about = f"a list, each element {element.about}"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Items)

    def value(self, node: Node, reading: Reading) -> Any:
        if not isinstance(node, Items):
            hint = f"; a list of one is [{node.text}]" if isinstance(node, Scalar) and node.text else ""
            raise Wrong(node, f"should be a list, not {shown(node)}{hint}")
        if len(node.items) < self._least:
            raise Wrong(node, f"should have {self._least} elements or more")
        return [self.element.read(each, reading) for each in node.items]

    def schema(self) -> Schema:
        schema: Schema = {"type": "array", "items": with_saved(self.element.schema())}
        return schema | ({"minItems": self._least} if self._least else {})


class TupleOf(Kind):
    """A list of a fixed length, each element of its kind."""

    def __init__(self, elements: Sequence[Kind]) -> None:
        self._elements = tuple(elements)
        self.about = f"a list of {len(self._elements)}"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Items)

    def value(self, node: Node, reading: Reading) -> Any:
        if not isinstance(node, Items):
            raise self.wrong(node)
        if len(node.items) != len(self._elements):
            raise Wrong(node, f"should be {self.about}, not of {len(node.items)}")
        return tuple(kind.read(each, reading) for kind, each in zip(self._elements, node.items, strict=True))

    def schema(self) -> Schema:
        count = len(self._elements)
        parts = [with_saved(kind.schema()) for kind in self._elements]
        return {"type": "array", "prefixItems": parts, "minItems": count, "maxItems": count}


class TableOf(Kind):
    """A mapping with keys and values of a kind. `key` makes a key of its text and raises ValueError."""

    def __init__(self, value_kind: Kind, key: Callable[[str], Any] = str, key_pattern: str = "") -> None:
        self._value = value_kind
        self._key = key
        self._key_pattern = key_pattern
        by = " by partition (orders-0)" if key is partition_of else ""
        self.about = f"a mapping{by}, each value {value_kind.about}"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table)

    def value(self, node: Node, reading: Reading) -> Any:
        if not isinstance(node, Table):
            raise self.wrong(node)
        made: dict[Any, Any] = {}
        for name, each in node.entries.items():
            try:
                key = self._key(name)
            except ValueError as error:
                raise Wrong(node.keys[name], f"{shown(node.keys[name])} {error}") from None
            if key in made:
                raise Wrong(node.keys[name], f"{shown(node.keys[name])} is there already")
            made[key] = self._value.read(each, reading)
        return made

    def schema(self) -> Schema:
        values = with_saved(self._value.schema())
        if self._key_pattern:
            return {"type": "object", "patternProperties": {self._key_pattern: values}, "additionalProperties": False}
        return {"type": "object", "additionalProperties": values}


class FieldsOf(Kind):
    """A mapping with named fields, made into a value of `make`."""

    def __init__(self, fields: Mapping[str, Kind], required: Sequence[str], make: Callable[..., Any]) -> None:
        self._fields = dict(fields)
        self._required = tuple(required)
        self._make = make
        self.about = f"a mapping with the fields {', '.join(self._fields)}"

    def fits(self, node: Node) -> bool:
        if not isinstance(node, Table) or not all(name in node.entries for name in self._required):
            return False
        return not node.entries or any(name in self._fields for name in node.entries)

    def likeness(self, table: Table) -> int:
        """How many keys of a table are fields of this kind, misspelt ones included."""
        return sum(bool(get_close_matches(name, self._fields, 1)) for name in table.entries)

    def value(self, node: Node, reading: Reading) -> Any:
        if not isinstance(node, Table):
            raise self.wrong(node)
        for name, key in node.keys.items():
            if name not in self._fields:
                raise Wrong(key, f"there is no field {name!r}; {nearest(name, self._fields)}")
        for name in self._required:
            if name not in node.entries:
                raise Wrong(node, f"the field {name!r} is missing")
        return self._make(**{name: self._fields[name].read(each, reading) for name, each in node.entries.items()})

    def schema(self) -> Schema:
        properties = {name: with_saved(kind.schema()) for name, kind in self._fields.items()}
        schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": list(self._required)} if self._required else {})


class OneOf(Kind):
    """A value of one of several kinds: that which a node looks like."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = tuple(kinds)
        *first, last = [kind.about for kind in self.kinds]
        self.about = f"{', '.join(first)} or {last}" if first else last

    def fits(self, node: Node) -> bool:
        return any(kind.fits(node) for kind in self.kinds)

    def value(self, node: Node, reading: Reading) -> Any:
        for kind in self.kinds:
            if kind.fits(node):
                return kind.read(node, reading)
        only = [kind for kind in self.kinds if kind is not NULL]
        tables = [kind for kind in only if isinstance(kind, FieldsOf)] if isinstance(node, Table) else []
        if isinstance(node, Table):  # that which is meant says what is wrong
            tables.sort(key=lambda kind: -kind.likeness(node))
        if tables or len(only) == 1:
            return (tables or only)[0].value(node, reading)
        raise self.wrong(node)

    def schema(self) -> Schema:
        schemas = [kind.schema() for kind in self.kinds]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _hex(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise ValueError("is not hexadecimal") from None


_HEX_TEXT = ScalarKind("a text of hexadecimal digits", (str,), {"type": "string"}, _hex)
HEX = FieldsOf({"hex": _HEX_TEXT}, ["hex"], lambda hex: hex)
ENCODED = ScalarKind("a text", (str,), {"type": "string"}, lambda text: text.encode("utf-8", "surrogatepass"))


def with_saved(schema: Schema) -> Schema:
    """A schema that takes "$name" as well."""
    kinds = schema.get("type")
    if not schema or (kinds == "string" and not schema.keys() - {"type", "description"}):
        return schema
    about = {name: schema[name] for name in ("description",) if name in schema}
    rest = {name: each for name, each in schema.items() if name != "description"}
    parts = rest["anyOf"] if rest.keys() == {"anyOf"} else [rest]
    return {"anyOf": [*parts, {"$ref": "#/$defs/saved"}], **about}
