r"""The syntax of RE2: texts to trees.

As RE2/J reads it, which Kafka uses: no back references, no looking ahead or behind, repetitions of at most 1,000.
MOCK: scripts of Unicode such as `\p{Greek}` are not known, groups may be nested in 100 others only, and repetitions in
repetitions may together ask for 1,000 only.
"""

import re
from enum import Enum, StrEnum
from typing import Final, NamedTuple

from fakebroker.broker.core.re2.characters import (
    CATEGORIES,
    PERL,
    POSIX,
    Characters,
    Part,
    between,
    of_category,
    without,
)

MAX_REPETITIONS: Final = 1000
MAX_NESTED: Final = 100
MAX_PARTS: Final = 10_000  # characters, classes, alternatives: each makes a state of the machine, or more

_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAME: Final = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_POSIX: Final = re.compile(r"\[:(\^?)([a-z]+):\]")
_CATEGORY: Final = re.compile(r"\\([pP])(?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))")
_NUMBER: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|x\{0*([0-9A-Fa-f]{1,6})\}|(0[0-7]{0,2}|[1-7][0-7]{1,2}))")
_SIGNS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Fault(StrEnum):
    """What is wrong with a text, in RE2/J's words, which Kafka repeats to clients (CGX-2). RE2/J lacks the last two."""

    CHARACTER_RANGE = "invalid character class range"
    ESCAPE = "invalid escape sequence"
    NAMED_CAPTURE = "invalid named capture"
    DUPLICATE_NAME = "duplicate capture group name"
    PERL_SYNTAX = "invalid or unsupported Perl syntax"
    NESTED_REPETITION = "invalid nested repetition operator"
    REPEAT_COUNT = "invalid repeat count"
    NOTHING_TO_REPEAT = "missing argument to repetition operator"
    MISSING_BRACKET = "missing closing ]"
    MISSING_PARENTHESIS = "missing closing )"
    STRAY_PARENTHESIS = "regexp/syntax: internal error"
    TRAILING_BACKSLASH = "trailing backslash at end of expression"
    NESTED_TOO_DEEP = "expression nests too deeply"
    TOO_LARGE = "expression too large"


class InvalidPattern(Exception):
    """A text is no regular expression of RE2; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Assertion(Enum):
    """What has to be true between two characters."""

    TEXT_START = r"\A"
    TEXT_END = r"\z"
    LINE_START = "^"
    LINE_END = "$"
    WORD_BOUNDARY = r"\b"
    NO_WORD_BOUNDARY = r"\B"


class Sequence(NamedTuple):
    """One part after the other."""

    parts: "list[Node]"


class Choice(NamedTuple):
    """Any of the parts."""

    parts: "list[Node]"


class Repeat(NamedTuple):
    """A part several times: at least `least`, at most `most`, None for no bound; with `is_lazy` as few as possible."""

    part: "Node"
    least: int
    most: int | None
    is_lazy: bool


class Group(NamedTuple):
    """A part whose place in a match is of interest. Groups are numbered by their opening parentheses, from 1 on."""

    part: "Node"
    number: int
    name: str | None


Node = Characters | Assertion | Sequence | Choice | Repeat | Group

_PLACES: Final = {
    "A": Assertion.TEXT_START,
    "z": Assertion.TEXT_END,
    "b": Assertion.WORD_BOUNDARY,
    "B": Assertion.NO_WORD_BOUNDARY,
}


def parse(text: str) -> Node:
    """The tree of a pattern. Raises InvalidPattern."""
    return read(Reader(text))


def read(reader: "Reader") -> Node:
    """The tree of what a reader has. Raises InvalidPattern."""
    node = reader.choice(frozenset(), 0)
    if not reader.is_at_end:
        raise InvalidPattern(Fault.STRAY_PARENTHESIS)
    if _repetitions(node) > MAX_REPETITIONS:
        raise InvalidPattern(Fault.REPEAT_COUNT)
    return node


def _repetitions(node: Node) -> int:
    """How often the part that is repeated most, by repetitions in repetitions, must or may come by a number."""
    if isinstance(node, Sequence | Choice):
        return max([_repetitions(each) for each in node.parts], default=1)
    if isinstance(node, Group):
        return _repetitions(node.part)
    if isinstance(node, Repeat):
        return max(node.least, node.most or 0, 1) * _repetitions(node.part)
    return 1


class Reader:
    """Reads a pattern from the left to the right; `at` is where."""

    line_ends = between("\n", "\n")  # what "." does not stand for

    def __init__(self, text: str) -> None:
        self._text = text
        self._names: set[str] = set()
        self._groups = 0
        self._parts = 0
        self.at = 0

    @property
    def is_at_end(self) -> bool:
        """Whether all was read."""
        return self.at >= len(self._text)

    def choice(self, flags: frozenset[str], depth: int) -> Node:
        """Alternatives up to the end or a closing parenthesis. A flag that is set holds for the following ones too."""
        if depth > MAX_NESTED:
            raise InvalidPattern(Fault.NESTED_TOO_DEEP)
        alternatives: list[Node] = []
        parts: list[Node] = []
        is_repeated = False  # what was read last is a repetition, which may not be repeated without parentheses
        while self._next() not in ("", ")"):
            self._count()
            if self._takes("|"):
                alternatives.append(Sequence(parts))
                parts, is_repeated = [], False
            elif (bounds := self._bounds()) is not None:
                if not parts or is_repeated:
                    raise InvalidPattern(Fault.NESTED_REPETITION if is_repeated else Fault.NOTHING_TO_REPEAT)
                parts[-1], is_repeated = Repeat(parts[-1], *bounds), True
            elif (flagged := self._flags(flags)) is not None:
                flags, is_repeated = flagged, False
            else:
                parts += self._part(flags, depth)
                is_repeated = False
        alternatives.append(Sequence(parts))
        return Choice(alternatives) if len(alternatives) > 1 else alternatives[0]

    def _count(self, parts: int = 1) -> None:
        """There are more parts. What is too large for a machine is not read to its end, which may be far."""
        self._parts += parts
        if self._parts > MAX_PARTS:
            raise InvalidPattern(Fault.TOO_LARGE)

    def _next(self) -> str:
        return self._text[self.at : self.at + 1]

    def _takes(self, text: str) -> bool:
        """Whether this comes next; then it was read."""
        if not self._text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _matches(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What comes next, if it is of this form; then it was read."""
        found = pattern.match(self._text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def _bounds(self) -> tuple[int, int | None, bool] | None:
        """How often what is before is to come, if that is said next, and whether as few times as possible."""
        for sign, (least, most) in _SIGNS.items():
            if self._takes(sign):
                return least, most, self._takes("?")
        found = self._matches(_REPEAT)
        if found is None:
            return None
        if max(len(found[1]), len(found[3] or "")) > len(str(MAX_REPETITIONS)):
            raise InvalidPattern(Fault.REPEAT_COUNT)
        least = int(found[1])
        most = least if found[2] is None else None if found[3] is None else int(found[3])
        if max(least, most or 0) > MAX_REPETITIONS or (most is not None and most < least):
            raise InvalidPattern(Fault.REPEAT_COUNT)
        return least, most, self._takes("?")

    def _flags(self, flags: frozenset[str]) -> frozenset[str] | None:
        """The flags from here on, if `(?i)` or alike comes next."""
        found = _FLAGS.match(self._text, self.at)
        if found is None or found[3] == ":":
            return None
        self.at = found.end()
        return self._changed(flags, found)

    def _part(self, flags: frozenset[str], depth: int) -> list[Node]:
        """What comes next; several for a quoted text."""
        if self._takes("("):
            return [self._group(flags, depth)]
        if self._takes("["):
            return [self._class(flags)]
        if self._takes("."):
            return [Characters([] if "s" in flags else [self.line_ends], is_negated=True)]
        if self._takes("^"):
            return [Assertion.LINE_START if "m" in flags else Assertion.TEXT_START]
        if self._takes("$"):
            return [Assertion.LINE_END if "m" in flags else Assertion.TEXT_END]
        if self._takes(r"\Q"):
            return self._quoted(flags)
        if self._next() == "\\" and (place := _PLACES.get(self._text[self.at + 1 : self.at + 2])):
            self.at += 2
            return [place]
        return [self._characters([self._named() or self._one()], flags)]

    def _group(self, flags: frozenset[str], depth: int) -> Node:
        """A group, after its opening parenthesis."""
        self.at -= 1
        number, name = 0, None
        if found := self._matches(_FLAGS):
            flags = self._changed(flags, found)
        elif found := self._matches(_NAME):
            if found[1] in self._names:
                raise InvalidPattern(Fault.DUPLICATE_NAME)
            name = found[1]
            self._names.add(name)
            number = self._next_group()
        elif self._text.startswith(("(?P<", "(?<"), self.at):
            raise InvalidPattern(Fault.NAMED_CAPTURE)
        elif self._text.startswith("(?", self.at):
            raise InvalidPattern(Fault.PERL_SYNTAX)
        else:
            self.at += 1
            number = self._next_group()
        node = self.choice(flags, depth + 1)
        if not self._takes(")"):
            raise InvalidPattern(Fault.MISSING_PARENTHESIS)
        return Group(node, number, name) if number else node

    def _next_group(self) -> int:
        self._groups += 1
        return self._groups

    def _quoted(self, flags: frozenset[str]) -> list[Node]:
        r"""The characters up to `\E` or the end."""
        end = self._text.find(r"\E", self.at)
        quoted = self._text[self.at :] if end < 0 else self._text[self.at : end]
        self.at += len(quoted) + (0 if end < 0 else 2)
        self._count(len(quoted))
        return [self._characters([between(each, each)], flags) for each in quoted]

    def _class(self, flags: frozenset[str]) -> Node:
        """A set of characters, after its opening bracket. A closing one that comes first is a character."""
        is_negated = self._takes("^")
        parts: list[Part] = []
        while not parts or self._next() != "]":
            parts.append(self._in_class())
        self.at += 1
        return self._characters(parts, flags, is_negated=is_negated)

    def _in_class(self) -> Part:
        """What comes next in a class."""
        if found := self._matches(_POSIX):
            if found[2] not in POSIX:
                raise InvalidPattern(Fault.CHARACTER_RANGE)
            part = POSIX[found[2]]
            return without(part) if found[1] else part
        return self._named() or self._range()

    def _range(self) -> Part:
        """One character, or those from one to another."""
        low = high = self._literal()
        if self._next() == "-" and self._text[self.at + 1 : self.at + 2] not in ("]", ""):
            self.at += 1
            high = self._literal()
        if high < low:
            raise InvalidPattern(Fault.CHARACTER_RANGE)
        return between(low, high)

    def _one(self) -> Part:
        character = self._literal()
        return between(character, character)

    def _named(self) -> Part | None:
        r"""A class such as `\d` or `\pL`, if it comes next."""
        letter = self._text[self.at + 1 : self.at + 2] if self._next() == "\\" else ""
        if letter and letter.lower() in PERL:
            self.at += 2
            part = PERL[letter.lower()]
            return part if letter.islower() else without(part)
        if letter not in ("p", "P"):
            return None
        found = self._matches(_CATEGORY)
        if found is None:
            raise InvalidPattern(Fault.CHARACTER_RANGE)
        name = found[3] or found[4]
        if name not in CATEGORIES and name != "Any":
            raise InvalidPattern(Fault.CHARACTER_RANGE)
        part = of_category("" if name == "Any" else name)
        return without(part) if (found[1] == "P") is not bool(found[2]) else part

    def _literal(self) -> str:
        """One character, which may be escaped."""
        if self._next() != "\\":
            character = self._next()
            if not character:
                raise InvalidPattern(Fault.MISSING_BRACKET)  # outside of a class the end was seen before
            self.at += 1
            return character
        if found := self._matches(_NUMBER):
            number = int(found[3], 8) if found[3] else int(found[1] or found[2], 16)
            if number > 0x10FFFF:
                raise InvalidPattern(Fault.ESCAPE)
            return chr(number)
        escaped = self._text[self.at + 1 : self.at + 2]
        if not escaped:
            raise InvalidPattern(Fault.TRAILING_BACKSLASH)
        if escaped not in _CONTROLS and escaped.isascii() and escaped.isalnum():
            raise InvalidPattern(Fault.ESCAPE)
        self.at += 2
        return _CONTROLS.get(escaped, escaped)

    def _changed(self, flags: frozenset[str], found: re.Match[str]) -> frozenset[str]:
        """The flags after those that were found in front of a colon or a parenthesis."""
        return (flags | frozenset(found[1])) - frozenset(found[2] or "")

    def _characters(self, parts: list[Part], flags: frozenset[str], *, is_negated: bool = False) -> Characters:
        """A set of characters under flags."""
        return Characters(parts, is_negated=is_negated, ignores_case="i" in flags)
