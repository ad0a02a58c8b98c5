"""Patterns that mean the same in RE2 and in Java, for settings that Kafka gives to Java's regular expressions.

What both know and understand in two ways is read as Java does where that is easy, and else refused: a rule that says
who a client is must not quietly say something else here.
"""

import re
from typing import Final

from fakebroker.broker.core.re2.characters import Characters, Part, among, without
from fakebroker.broker.core.re2.syntax import Choice, Group, Node, Reader, Repeat, Sequence, read

LINE_ENDS: Final = "\n\r\x85\u2028\u2029"
_SPACES: Final = re.compile(r"\\[sS]")
_OCTAL: Final = re.compile(r"\\[0-7]")
_ODD_CATEGORY: Final = re.compile(r"\\[pP]\{(?:\^|Any\})")
_LETTERS: Final = frozenset({"Ll", "Lt", "Lu"})  # categories that are one for Java if it ignores case
_SPACE: Final = among("\t\r", "  ")  # with the vertical tab
_CLASS: Final = "in a class of characters"


class OtherInJava(Exception):
    """A pattern has something that means something else in Java; the text says what."""


def parse_java(text: str) -> Node:
    """The tree of a pattern. Raises InvalidPattern, and OtherInJava."""
    node = read(_JavaReader(text))
    _check_repetitions(node)
    return node


def _check_repetitions(node: Node) -> None:
    """Raises OtherInJava for a repetition of what may be empty, which engines end at different places."""
    if isinstance(node, Repeat) and (node.most is None or node.most > 1) and _may_be_empty(node.part):
        raise OtherInJava("a repetition of what may be empty")
    for each in _parts_of(node):
        _check_repetitions(each)


def _may_be_empty(node: Node) -> bool:
    """Whether the part may match no character."""
    match node:
        case Characters():
            return False
        case Choice():
            return any(map(_may_be_empty, node.parts))
        case Repeat():
            return not node.least or _may_be_empty(node.part)
        case _:
            return all(map(_may_be_empty, _parts_of(node)))


def _parts_of(node: Node) -> list[Node]:
    if isinstance(node, Sequence | Choice):
        return node.parts
    return [node.part] if isinstance(node, Group | Repeat) else []


class _JavaReader(Reader):
    line_ends = Part(tuple((each, each) for each in LINE_ENDS))

    def _refuse(self, what: str, where: str = "") -> None:
        """Raises OtherInJava if that comes next."""
        if self._text.startswith(what, self.at):
            raise OtherInJava(f"{what} {where}".rstrip())

    def _part(self, flags: frozenset[str], depth: int) -> list[Node]:
        for each in (r"\b", r"\B", "{", "(?P<"):
            self._refuse(each)
        return super()._part(flags, depth)

    def _in_class(self) -> Part:
        for each in ("[", "&&"):
            self._refuse(each, _CLASS)
        return super()._in_class()

    def _range(self) -> Part:
        begin = self.at
        part = super()._range()
        if self.at - begin > 2 and self._text[self.at - 2 : self.at] == "-[":
            raise OtherInJava(f"[ {_CLASS}")
        return part

    def _named(self) -> Part | None:
        if self._matches(_SPACES):
            return _SPACE if self._text[self.at - 1] == "s" else without(_SPACE)
        if found := _ODD_CATEGORY.match(self._text, self.at):
            raise OtherInJava(found[0])
        return super()._named()

    def _literal(self) -> str:
        self._refuse(r"\v")
        if found := _OCTAL.match(self._text, self.at):
            raise OtherInJava(found[0])
        return super()._literal()

    def _changed(self, flags: frozenset[str], found: re.Match[str]) -> frozenset[str]:
        for each in found[1] + (found[2] or ""):
            if each in "mU":
                raise OtherInJava(f"the flag {each}")
        return super()._changed(flags, found)

    def _characters(self, parts: list[Part], flags: frozenset[str], *, is_negated: bool = False) -> Characters:
        ignores_case = "i" in flags
        if ignores_case and any(part.categories & _LETTERS not in (frozenset(), _LETTERS) for part in parts):
            raise OtherInJava(r"\p of small or capital letters under the flag i")
        return Characters(parts, is_negated=is_negated, ignores_case=ignores_case, of_ascii=True)
