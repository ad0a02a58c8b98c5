"""Parameters of a file: "${name}" is replaced by a value, which keeps its type where it is the whole of a value."""

import re
from collections.abc import Mapping
from typing import Any

from fakebroker.protocol.errors import nearest
from fakebroker.scenarios.language.kinds import Reading, Wrong
from fakebroker.scenarios.language.yaml_file import Items, Node, Scalar, Table, resolved
from fakebroker.scenarios.script import Json, SourceLine

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USE = re.compile(r"\$\{((?:(?!\$\{)[^}])*+)\}")  # up to the next "${" at most: else each looks to the end of the text
MAX_VALUES = 50_000  # that parameters may put into a file
MAX_CHARS = 50_000_000  # of the texts with parameters, and those that parameters are, together


class Filling:
    """Puts the values of parameters into the nodes of one file."""

    def __init__(self, values: Mapping[str, Node], reading: Reading) -> None:
        self._values = values
        self._reading = reading
        self._room = MAX_VALUES
        self._chars_left = MAX_CHARS

    def filled(self, node: Node) -> Node:
        """The node with everything in it filled in. What is wrong is kept as a problem, and stays."""
        if isinstance(node, Items):
            return Items(node.place, tuple(self.filled(each) for each in node.items))
        if isinstance(node, Table):
            keys = {name: self._key(key) for name, key in node.keys.items()}
            entries = {keys[name].text: self.filled(each) for name, each in node.entries.items()}
            if len(entries) < len(keys):
                self._reading.wrong(node, "", "with these parameters two keys are the same")
            return Table(node.place, entries, {key.text: key for key in keys.values()})
        if isinstance(node, Scalar) and isinstance(node.value, str) and "${" in node.value:
            return self._scalar(node)
        return node

    def _key(self, key: Scalar) -> Scalar:
        if "${" not in key.text:
            return key
        made = self._scalar(key)
        if isinstance(made, Scalar):
            return made
        self._reading.wrong(key, key.text, "a key is a text, and this parameter is none")
        return key

    def _scalar(self, node: Scalar) -> Node:
        whole = _USE.fullmatch(node.value)
        try:
            if whole:
                found = self._value(whole[1], node)
                self._room -= _size(found)
                if self._room < 0:
                    raise Wrong(node, f"parameters put more than {MAX_VALUES} values into this file")
                self._count(_chars(found), node)
                return _from_parameter(found, whole[1], node.place)
            text = self._filled_text(node)
        except Wrong as wrong:
            self._reading.wrong(wrong.node, "", wrong.message)
            return node
        return Scalar(node.place, text, text, is_plain=False, parameters=tuple(_USE.findall(node.value)))

    def _filled_text(self, node: Scalar) -> str:
        """The text of a node with its parameters, which is not made if it is too long."""
        parts = _USE.split(node.value)
        parts[1::2] = [self._text(name, node) for name in parts[1::2]]
        self._count(sum(map(len, parts)), node)
        return "".join(parts)

    def _count(self, chars: int, node: Scalar) -> None:
        self._chars_left -= chars
        if self._chars_left < 0:
            raise Wrong(node, f"with parameters the texts of this file have more than {MAX_CHARS} characters")

    def _text(self, name: str, node: Scalar) -> str:
        value = self._value(name, node)
        if not isinstance(value, Scalar):
            raise Wrong(node, f"the parameter {name!r} is not a string that can be part of another")
        return value.text

    def _value(self, name: str, node: Scalar) -> Node:
        if name not in self._values:
            raise Wrong(node, f"there is no parameter {name!r}; {nearest(name, self._values)}")
        return self._values[name]


def node_of(value: Json, place: SourceLine, like: Node | None = None) -> Node:
    """Data as a node. A text means what it would mean in the file, unless the value that it replaces is a text."""
    if isinstance(value, Mapping):
        keys = {str(name): Scalar(place, str(name), str(name)) for name in value}
        return Table(place, {str(name): node_of(each, place) for name, each in value.items()}, keys)
    if isinstance(value, list | tuple):
        return Items(place, tuple(node_of(each, place) for each in value))
    if isinstance(value, str):
        is_text = not isinstance(like, Scalar) or isinstance(like.value, str)
        return Scalar(place, value if is_text else _meant(value), value)
    if value is None or isinstance(value, bool):
        return Scalar(place, value, {None: "null", True: "true", False: "false"}[value])
    if isinstance(value, int | float):
        return Scalar(place, value, str(value))
    raise TypeError(f"{value!r} is nothing that a file could have")


def _meant(text: str) -> Any:
    try:
        return resolved(text)
    except ValueError:
        return text


def _from_parameter(node: Node, name: str, place: SourceLine | None = None) -> Node:
    """The value of a parameter where it stands for that; of a list or mapping all the parts say where they are from."""
    if isinstance(node, Items):
        return Items(node.place, tuple(_from_parameter(each, name) for each in node.items))
    if isinstance(node, Table):
        return Table(node.place, {key: _from_parameter(each, name) for key, each in node.entries.items()}, node.keys)
    assert isinstance(node, Scalar)
    return Scalar(place or node.place, node.value, node.text, node.is_plain, (name,))


def _size(node: Node) -> int:
    inner = node.items if isinstance(node, Items) else node.entries.values() if isinstance(node, Table) else ()
    return 1 + sum(map(_size, inner))


def _chars(node: Node) -> int:
    if isinstance(node, Scalar):
        return len(node.text)
    inner = node.items if isinstance(node, Items) else node.entries.values() if isinstance(node, Table) else ()
    return sum(map(_chars, inner))
