"""YAML text as nodes with line numbers. Nothing is constructed but texts, numbers, booleans, null, lists and mappings.

Plain scalars mean what YAML 1.2's core schema says: `no`, `on`, `1:30`, `1_000` and `2026-01-01` are texts, `010` is
ten. Tags beyond that schema, duplicate keys and several documents are refused; aliases are copies, within limits.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fakebroker.protocol.extras import missing_extra
from fakebroker.scenarios.errors import Problem, ScenarioError
from fakebroker.scenarios.script import Json, SourceLine

MAX_BYTES = 1 << 20
MAX_NODES = 50_000  # with those that aliases repeat
MAX_DEPTH = 64
MAX_DIGITS = 40

_CORE_TAGS = {f"tag:yaml.org,2002:{name}": name for name in ("null", "bool", "int", "float", "str", "seq", "map")}
_WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBERS = (
    (re.compile(r"[-+]?[0-9]+"), int),
    (re.compile(r"0o[0-7]+"), lambda text: int(text[2:], 8)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: int(text[2:], 16)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), lambda text: float(text.replace(".", ""))),
)


@dataclass(frozen=True)
class Node:
    """A value of a file, and where it stands."""

    place: SourceLine


@dataclass(frozen=True)
class Scalar(Node):
    """A text, number, boolean or null. `text` is how it is written; `is_plain`: without quotes.

    `parameters` are those whose values it has, or has in it.
    """

    value: Json
    text: str
    is_plain: bool = True
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Items(Node):
    """A list."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Table(Node):
    """A mapping: what stands under each key, and the key itself."""

    entries: dict[str, Node]
    keys: dict[str, Scalar]


def parse_yaml(data: str | bytes, name: str) -> Node:
    """The document in `data`; `name` is what places call the file. Raises ScenarioError."""
    start = SourceLine(name, 1)
    if len(data) > MAX_BYTES:
        raise _error(start, f"the file is larger than the limit of {MAX_BYTES} bytes")
    if isinstance(data, bytes):
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise _error(SourceLine(name, line), "this is not UTF-8 text") from None
    else:
        text = data
    if not text.strip():
        raise _error(start, "the file is empty")
    yaml = _yaml()
    try:
        return _Builder(name).build(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, name) from None
    except (RecursionError, UnicodeError):
        raise _error(start, "this is not YAML that can be read") from None


def check_extra() -> None:
    """Raises MissingExtra, which says what to install if there is nothing here that reads YAML."""
    _yaml()


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise missing_extra("scenario", "scenarios need PyYAML") from None
    return yaml


def resolved(text: str) -> Json:
    """What a plain scalar means: null, a boolean, a number or a text. Raises ValueError for a number of many digits."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    for pattern, make in _NUMBERS:
        if pattern.fullmatch(text):
            if len(text) > MAX_DIGITS:
                raise ValueError(f"a number of {len(text)} digits")
            return make(text)
    return text


class _Builder:
    """Makes nodes of the parser's events, without recursion and within the limits."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._anchors: dict[str, Node | None] = {}
        self._sizes: dict[int, int] = {}  # of anchored nodes by id
        self._count = 0

    def build(self, events: Iterator[Any]) -> Node:
        """The only document."""
        root: Node | None = None
        open_ones: list[_Open] = []
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent" and root is not None:
                raise _error(self._place(event), "a second document begins here; a file is one scenario")
            if kind in ("SequenceStartEvent", "MappingStartEvent"):
                self._begin(event, open_ones)
                continue
            if kind in ("SequenceEndEvent", "MappingEndEvent"):
                opened = open_ones.pop()
                node = opened.close()
                size = self._count - opened.count_before
            elif kind == "ScalarEvent":
                self._charge(1, event)
                node, size = self._scalar(event), 1
            elif kind == "AliasEvent":
                node = self._alias(event)
                size = self._sizes[id(node)]
            else:
                continue
            anchor = opened.anchor if kind.endswith("EndEvent") else event.anchor if kind == "ScalarEvent" else None
            if anchor is not None:
                self._anchors[anchor] = node
                self._sizes[id(node)] = size
            if open_ones:
                open_ones[-1].add(node)
            else:
                root = node
        if root is None:
            raise _error(SourceLine(self._file, 1), "the file is empty")
        return root

    def _begin(self, event: Any, open_ones: "list[_Open]") -> None:
        place = self._place(event)
        self._charge(1, event)
        if len(open_ones) >= MAX_DEPTH:
            raise _error(place, f"values are nested more than {MAX_DEPTH} deep")
        is_table = type(event).__name__ == "MappingStartEvent"
        _check_tag(event.tag, "map" if is_table else "seq", place)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        open_ones.append(_Open(place, is_table, event.anchor, self._count - 1))

    def _alias(self, event: Any) -> Node:
        node = self._anchors.get(event.anchor)
        if node is None:
            is_inside = event.anchor in self._anchors
            why = "is an alias of a value that contains it" if is_inside else "has no anchor"
            raise _error(self._place(event), f"*{event.anchor} {why}")
        self._charge(self._sizes[id(node)], event)
        return node

    def _charge(self, count: int, event: Any) -> None:
        self._count += count
        if self._count > MAX_NODES:
            text = f"the file has more than {MAX_NODES} values, including those repeated by aliases"
            raise _error(self._place(event), text)

    def _scalar(self, event: Any) -> Scalar:
        place, text = self._place(event), event.value
        tag = event.tag
        is_plain = event.implicit[0] and tag is None
        if tag is not None and tag != "!":
            kind = _CORE_TAGS.get(tag)
            if kind in (None, "seq", "map"):
                raise _error(place, f"the tag {tag} is not of YAML's core schema")
            value = text if kind == "str" else self._resolved(text, place)
            if _kind_name(value) != kind and (kind, type(value)) != ("float", int):
                raise _error(place, f"{text!r} does not match its tag, {kind}")
            return Scalar(place, value, text, is_plain=False)
        return Scalar(place, self._resolved(text, place) if is_plain else text, text, is_plain)

    def _resolved(self, text: str, place: SourceLine) -> Json:
        try:
            return resolved(text)
        except ValueError as error:
            raise _error(place, f"{error} is out of range") from None

    def _place(self, event: Any) -> SourceLine:
        return SourceLine(self._file, event.start_mark.line + 1)


class _Open:
    """A list or mapping whose end has not come."""

    def __init__(self, place: SourceLine, is_table: bool, anchor: str | None, count_before: int) -> None:
        self.anchor = anchor
        self.count_before = count_before
        self._place = place
        self._is_table = is_table
        self._items: list[Node] = []
        self._entries: dict[str, Node] = {}
        self._keys: dict[str, Scalar] = {}
        self._key: Scalar | None = None

    def add(self, node: Node) -> None:
        if not self._is_table:
            self._items.append(node)
        elif self._key is not None:
            self._entries[self._key.text] = node
            self._key = None
        elif not isinstance(node, Scalar):
            raise _error(node.place, "a key is a list or mapping; keys must be strings")
        elif node.text in self._keys:
            first = self._keys[node.text].place.line
            raise ScenarioError([Problem(node.place, node.text, f"the key is a duplicate of the one in line {first}")])
        else:
            self._key = self._keys[node.text] = node

    def close(self) -> Node:
        if self._is_table:
            return Table(self._place, self._entries, self._keys)
        return Items(self._place, tuple(self._items))


def _check_tag(tag: str | None, kind: str, place: SourceLine) -> None:
    if tag not in (None, "!") and _CORE_TAGS.get(str(tag)) != kind:
        raise _error(place, f"the tag {tag} is not of YAML's core schema")


def _kind_name(value: Json) -> str:
    return {type(None): "null", bool: "bool", int: "int", float: "float"}.get(type(value), "str")


def _syntax_error(error: Any, text: str, name: str) -> ScenarioError:
    """What the parser says, with its line and a hint for what authors stumble over."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a character that YAML does not allow
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else 1
        return _error(SourceLine(name, line), "the file has a character that YAML does not allow")
    problem = getattr(error, "problem", None) or "this is not YAML"
    lines = text.splitlines() or [""]
    row = min(mark.line, len(lines) - 1)
    line_text = lines[row]
    hint = ""
    if re.search(r"\$\{", line_text):
        hint = '; inside { } and [ ] put a parameter in quotes: "${name}"'
    elif "\t" in line_text[: len(line_text) - len(line_text.lstrip())] or "\\t" in problem:
        hint = "; indent with spaces, not with tabs"
    elif "mapping values are not allowed" in problem:
        hint = "; put { } around a step of several keys in one line, and quotes around a text with a colon"
    return _error(SourceLine(name, row + 1), f"this is not YAML: {problem}{hint}")


def _error(place: SourceLine, message: str) -> ScenarioError:
    return ScenarioError([Problem(place, "", message)])
