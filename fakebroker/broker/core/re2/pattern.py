"""Patterns in the syntax of RE2, as Kafka takes them from clients (KIP-848, KIP-1152), matched as RE2 does.

Python's `re` tries one way after the other, so that `(a+)+$` takes years for thirty letters. Here all ways are followed
at once: each character of a text is looked at once, and costs at most as many steps as the pattern has states. What
was found for a set of states is remembered, so that most characters cost one look into a dict.
"""

from collections.abc import Generator
from typing import Final, NamedTuple

from fakebroker.broker.core.re2.characters import Characters
from fakebroker.broker.core.re2.program import Program, assemble
from fakebroker.broker.core.re2.syntax import Assertion, InvalidPattern, parse
from fakebroker.protocol.pace import Pace

__all__ = ["InvalidPattern", "Pattern", "compile_pattern"]

MAX_REMEMBERED: Final = 100_000  # states in all sets that a pattern remembers, some 10 MB
_KNOWN_PER_STATE: Final = 10  # characters that are remembered cost about as much as one state that is looked at
_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class _Point(NamedTuple):
    """How far a match has come: the states that may be next, and the character before, empty at the beginning."""

    states: frozenset[int]
    before: str


class Pattern:
    """A pattern that was read."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._start = _Point(frozenset((program.start,)), "")
        self._known: dict[tuple[_Point, str], _Point] = {}
        self._points: dict[_Point, _Point] = {}  # those in `_known`, each once: a look there compares no sets then
        self._ends: dict[_Point, bool] = {}  # whether the pattern matches a text that ends there
        self._remembered = 0

    @property
    def states_count(self) -> int:
        """How large the pattern's machine is."""
        return len(self._program.following)

    def fullmatch(self, text: str, pace: Pace) -> Generator[None, None, bool]:
        """Whether the pattern matches the whole text. In steps: it yields when `pace`, which counts states, is over."""
        point, known = self._start, self._known
        if pace.is_over(len(text) // _KNOWN_PER_STATE):
            yield
        for character in text:
            following = known.get((point, character))
            if following is None:
                following, cost = self._follow(point, character)
                following = self._remember(point, character, following, cost)
                if pace.is_over(cost):
                    yield
            point = following
            if not point.states:
                return False
        is_end = self._ends.get(point)
        if is_end is None:
            reached = self._reached(point, "")
            is_end = self._ends[point] = self._program.end in reached
            if pace.is_over(len(reached)):
                yield
        return is_end

    def _follow(self, point: _Point, character: str) -> tuple[_Point, int]:
        """Where one more character leads, and how many states were looked at."""
        program, reached = self._program, self._reached(point, character)
        following: list[int] = []
        answers: dict[Characters, bool] = {}  # a repetition has the same characters in many states
        for state in reached:
            characters = program.characters.get(state)
            if characters is None:
                continue
            has = answers.get(characters)
            if has is None:
                has = answers[characters] = characters.has(character)
            if has:
                following.append(program.following[state][0])
        return _Point(frozenset(following), _kind(character)), len(reached)

    def _remember(self, point: _Point, character: str, following: _Point, cost: int) -> _Point:
        """Know where the character leads from now on; returns the same point, as it was remembered."""
        self._remembered += cost + len(following.states)
        if self._remembered > MAX_REMEMBERED:
            self._known.clear()
            self._points.clear()
            self._ends.clear()
            self._remembered = 0
        following = self._points.setdefault(following, following)
        self._known[point, character] = following
        return following

    def _reached(self, point: _Point, after: str) -> set[int]:
        """The states that are reached without a character; `after` is the next one, empty at the end of the text."""
        program, reached = self._program, set(point.states)
        left = sorted(point.states)  # in whatever order: the result is a set, but a run is to repeat step by step
        while left:
            state = left.pop()
            if state in program.characters:
                continue
            assertion = program.assertions.get(state)
            if assertion is not None and not holds(assertion, point.before, after):
                continue
            for each in program.following[state]:
                if each not in reached:
                    reached.add(each)
                    left.append(each)
        return reached


def compile_pattern(text: str) -> Pattern:
    """The pattern of a text. Raises InvalidPattern."""
    return Pattern(assemble(parse(text)))


def _kind(character: str) -> str:
    """One character for all that assertions do not tell apart, so that more is found again."""
    return "\n" if character == "\n" else "a" if character in _WORD else "-"


def holds(assertion: Assertion, before: str, after: str) -> bool:
    """Whether an assertion is true between two characters, "" for the beginning or the end of the text."""
    if assertion is Assertion.TEXT_START:
        return not before
    if assertion is Assertion.TEXT_END:
        return not after
    if assertion is Assertion.LINE_START:
        return before in ("", "\n")
    if assertion is Assertion.LINE_END:
        return after in ("", "\n")
    is_boundary = (before in _WORD) != (after in _WORD)
    return is_boundary is (assertion is Assertion.WORD_BOUNDARY)
