"""Where a pattern matches, and its groups: what Java's and Python's regular expressions find, without their cost.

They try one way after the other, and one that failed again and again. Here each state is tried once at each place:
what cannot go on from there cannot do so later, as there are no references to groups.

Patterns are read as Java reads them, or refused (`java.py`).
"""

from array import array
from collections.abc import Iterator
from typing import Final

from fakebroker.broker.core.re2.java import parse_java
from fakebroker.broker.core.re2.pattern import Pattern, holds
from fakebroker.broker.core.re2.program import Program, assemble
from fakebroker.broker.core.re2.syntax import Assertion
from fakebroker.protocol.pace import Pace, finished

_NO_PAUSE: Final = 1 << 62
_UNTRIED: Final = -1
_NONE: Final = -2


class Finder:
    """A pattern that was read, to find its matches in texts."""

    def __init__(self, text: str) -> None:
        """Raises InvalidPattern, and OtherInJava."""
        self._program = assemble(parse_java(text), has_groups=True)
        self._whole = Pattern(self._program)
        self.group_names = self._program.names
        self.group_count = max(self._program.borders.values(), default=1) // 2

    @property
    def asks_for_end(self) -> bool:
        """Whether the pattern looks for the end of a text: to Java a line end behind may be the end, too."""
        return Assertion.TEXT_END in self._program.assertions.values()

    @property
    def state_count(self) -> int:
        """The states of the machine: each costs a step at each place of a text, at most."""
        return len(self._program.following)

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the whole text."""
        return finished(self._whole.fullmatch(text, Pace(_NO_PAUSE)))

    def find_all(self, text: str) -> Iterator[list[int | None]]:
        """All matches from the left to the right, each as the places where its groups begin and end.

        Group 0 is the match. Places of a group that is not in it are None.
        """
        search, at = _Search(self._program, text), 0
        while at <= len(text):
            found = search.next(at)
            if found is None:
                return
            yield found
            begin, end = found[:2]
            assert begin is not None
            assert end is not None
            at = end + 1 if begin == end else end


class _Search:
    """The search in one text.

    A step is a state at a place, as one number: the state times the places that there are, and the place. `_came_from`
    has the step before each step that was tried. Those of failed matches stay there: they need not be tried again.
    """

    def __init__(self, program: Program, text: str) -> None:
        self._program = program
        self._text = text
        self._places = len(text) + 1
        self._came_from = array("q", [_UNTRIED]) * (len(program.following) * self._places)

    def next(self, begin: int) -> list[int | None] | None:
        """The first match from a place on."""
        for place in range(begin, self._places):
            found = self._match(place)
            if found is not None:
                return found
        return None

    def _match(self, begin: int) -> list[int | None] | None:
        """The match that begins there: the first of the ways that leads to the end."""
        came_from, places = self._came_from, self._places
        left = [(self._program.start * places + begin, _NONE)]
        while left:
            step, before = left.pop()
            if came_from[step] != _UNTRIED:
                continue
            came_from[step] = before
            state, at = divmod(step, places)
            if state == self._program.end:
                found = self._groups(step)
                came_from[at::places] = array("q", [_UNTRIED]) * len(self._program.following)
                return found
            left += [(following, step) for following in reversed(self._following(state, at))]
        return None

    def _following(self, state: int, at: int) -> list[int]:
        """The steps that may come next, the first one first."""
        program, text, places = self._program, self._text, self._places
        characters = program.characters.get(state)
        if characters is not None:
            has = at < len(text) and characters.has(text[at])
            return [program.following[state][0] * places + at + 1] if has else []
        assertion = program.assertions.get(state)
        if assertion is not None and not holds(assertion, text[at - 1 : at] if at else "", text[at : at + 1]):
            return []
        return [each * places + at for each in program.following[state]]

    def _groups(self, last: int) -> list[int | None]:
        """The places of the groups on the way to the last step."""
        borders = self._program.borders
        found: list[int | None] = [None] * (max(borders.values(), default=1) + 1)
        found[1] = last % self._places
        step = last
        while step != _NONE:
            state, found[0] = divmod(step, self._places)
            border = borders.get(state)
            if border is not None and found[border] is None:
                found[border] = found[0]
            step = self._came_from[step]
        return found
