"""Values of scenario files: nodes are read by the kinds of arguments, in the form in which a scenario writes values.

Where a step takes a value, "$name" and "$name.path" stand for what an earlier step saved, and "$$" for a dollar sign;
they are left as they are for the player.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeGuard

from fakebroker.protocol.arguments.forms import Form, JsonForm, Schema
from fakebroker.protocol.arguments.kinds import MOMENT, Kind, OfType, WrongValue
from fakebroker.protocol.arguments.structures import PARTITION_PATTERN, partition_of
from fakebroker.protocol.durations import DURATION, duration_ms
from fakebroker.protocol.errors import nearest
from fakebroker.scenarios.errors import Problems
from fakebroker.scenarios.language.secrets import Hiding
from fakebroker.scenarios.language.yaml_file import Items, Node, Scalar, Table
from fakebroker.scenarios.script import Json

SAVED = re.compile(r"\$([A-Za-z_][A-Za-z0-9_-]*)(\.[^\s]+)?")
ACTOR_PROPERTIES = (
    "client_id", "member_id", "generation_id", "member_epoch", "is_leader", "protocol", "assignment", "active_tasks",
    "standby_tasks", "is_connected", "closed_reason", "outstanding", "node", "is_consuming", "consumed", "failure",
)  # fmt: skip


@dataclass
class Reading:
    """What is known while a file is read: the problems so far, and what earlier steps saved (name -> kind of thing).

    The actors are there, too: "$a.member_id". Outside of a timeline "$name" is a text like others. `hiding` knows
    what is secret of the file that is read now.
    """

    problems: Problems = field(default_factory=Problems)
    saved: dict[str, str] = field(default_factory=dict)
    in_timeline: bool = True
    hiding: Hiding = field(default_factory=Hiding)

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


def plain(node: Node) -> Json:
    """A node as data."""
    if isinstance(node, Table):
        return {name: plain(each) for name, each in node.entries.items()}
    if isinstance(node, Items):
        return [plain(each) for each in node.items]
    assert isinstance(node, Scalar)
    return node.value


def is_saved(node: Node) -> TypeGuard[Scalar]:
    """Whether a node stands for what was saved."""
    return isinstance(node, Scalar) and isinstance(node.value, str) and re.match(r"\$(?!\$)", node.value) is not None


def check_saved(node: Scalar, reading: Reading) -> None:
    """Raises Wrong if no earlier step saved what a text with "$" names."""
    name = SAVED.fullmatch(node.value)
    if name is None:
        raise Wrong(node, f"{shown(node)} begins with $ and is not the name of a saved value; $$ stands for one $")
    if reading.saved.get(name[1]) == "actor" and not name[2]:
        raise Wrong(node, f"{name[1]} is an actor; say what of it: ${name[1]}.member_id")
    if reading.saved.get(name[1]) == "actor" and (part := name[2].split(".")[1]) not in ACTOR_PROPERTIES:
        raise Wrong(node, f"an actor has no {part!r}; {nearest(part, ACTOR_PROPERTIES)}")
    if name[1] not in reading.saved:
        raise Wrong(node, f"no earlier step saves {name[1]!r}; {nearest(name[1], reading.saved)}")


def takes_text(kind: Kind) -> bool:
    """Whether a value of this kind can be a part of a text: "move billing 2"."""
    return any(kind.fits(value, YAML) for value in ("x", 1, 1.5, True))


class YamlForm(JsonForm):
    """The data of a scenario: partitions are "orders-0", bytes a text or {hex: "00ff"}."""

    nests_tables = False
    partition_example = "orders-0"
    partition_schema: Schema = {"type": "string", "pattern": PARTITION_PATTERN}
    bytes_key = "hex"
    bytes_schema: Schema = {
        "type": "object",
        "properties": {"hex": {"type": "string"}},
        "additionalProperties": False,
        "required": ["hex"],
    }
    bytes_hint = '; bytes that are not text are {hex: "00ff"}'

    def partition(self, value: Any) -> tuple[str, int]:
        """Topic and number of "orders-0"."""
        return partition_of(value)

    def bytes_of(self, text: str) -> bytes:
        """The bytes of hexadecimal digits."""
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise ValueError("is not hexadecimal") from None

    def encoded(self, text: str) -> bytes:
        """A text as UTF-8."""
        return text.encode("utf-8", "surrogatepass")

    def inner(self, schema: Schema) -> Schema:
        """Saved values may stand in lists and mappings."""
        return with_saved(schema)


class _TimelineForm(YamlForm):
    """The same in a timeline, where "$name" stands for a saved value."""

    def leaves(self, value: object) -> bool:
        return isinstance(value, str) and re.match(r"\$(?!\$)", value) is not None


YAML, _TIMELINE = YamlForm(), _TimelineForm()


def read(kind: Kind, node: Node, reading: Reading) -> Any:
    """The value of a node. Raises Wrong."""
    form = _form(node, reading)
    return _made(lambda: kind.read(plain(node), form), node)


def read_itself(kind: Kind, node: Node, reading: Reading) -> Any:
    """The same for a node that stands for itself, not for a saved value."""
    form = _form(node, reading, is_itself=True)
    return _made(lambda: kind.value(plain(node), form), node)


def _form(node: Node, reading: Reading, *, is_itself: bool = False) -> Form:
    if not reading.in_timeline:
        return YAML
    if not is_itself or not is_saved(node):
        _check_saved_in(node, reading)
    return _TIMELINE


def _check_saved_in(node: Node, reading: Reading) -> None:
    """Raises Wrong for a name in the node that no earlier step saved."""
    if is_saved(node):
        check_saved(node, reading)
    inner = node.items if isinstance(node, Items) else node.entries.values() if isinstance(node, Table) else ()
    for each in inner:
        _check_saved_in(each, reading)


def _made(make: Any, node: Node) -> Any:
    try:
        return make()
    except WrongValue as wrong:
        raise _located(wrong, node) from None


def _located(wrong: WrongValue, node: Node) -> Wrong:
    """The problem with the node that is wrong, and how YAML would write it right."""
    for part in wrong.path[: -1 if wrong.is_key else None]:
        if isinstance(node, Items):
            node = node.items[part]
        elif isinstance(node, Table):
            node = node.entries[part]
    if wrong.is_key and isinstance(node, Table):
        return Wrong(node.keys[wrong.path[-1]], wrong.sentence)
    hint = ""
    if isinstance(node, Scalar) and node.value is not None and wrong.sentence.startswith("should be a text, "):
        hint = f'; in quotes it is one: "{node.text}"'
    elif isinstance(node, Scalar) and node.text and wrong.sentence.startswith("should be a list, "):
        hint = f"; a list of one is [{node.text}]"
    return Wrong(node, wrong.sentence + hint)


class Duration(OfType):
    """A duration, where another kind takes a number in a unit."""

    def __init__(self, of: Kind, divisor: int = 1) -> None:
        super().__init__(
            "a duration (250ms, 10s, 1h 10m, 3d)", (str,), {"type": "string", "pattern": f"^{DURATION}$"}, duration_ms
        )
        self._of = of
        self._divisor = divisor

    def value(self, value: Any, form: Form) -> Any:
        amount_ms = super().value(value, form)
        return self._of.value(amount_ms if self._divisor == 1 else amount_ms / self._divisor, form)


def _moment_ms(value: str) -> int:
    when: datetime = MOMENT.value(value, YAML)
    return round(when.timestamp() * 1000)


DURATION_MS = OfType(
    "a duration (250ms, 10s, 1h 10m, 3d)", (str,), {"type": "string", "pattern": f"^{DURATION}$"}, duration_ms
)
MOMENT_MS = OfType("a time (2026-01-01T00:00:00Z)", (str,), {"type": "string"}, _moment_ms)


def with_saved(schema: Schema) -> Schema:
    """A schema that takes "$name" as well."""
    kinds = schema.get("type")
    if not schema or (kinds == "string" and not schema.keys() - {"type", "description"}):
        return schema
    about = {name: schema[name] for name in ("description",) if name in schema}
    rest = {name: each for name, each in schema.items() if name != "description"}
    parts = rest["anyOf"] if rest.keys() == {"anyOf"} else [rest]
    return {"anyOf": [*parts, {"$ref": "#/$defs/saved"}], **about}
