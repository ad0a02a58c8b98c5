"""A pattern of RE2 as a machine of states (Thompson's construction): what follows what, and by which characters."""

from collections.abc import Callable
from typing import Final

from fakebroker.broker.core.re2.characters import Characters
from fakebroker.broker.core.re2.syntax import (
    Assertion,
    Choice,
    Fault,
    Group,
    InvalidPattern,
    Node,
    Repeat,
    Sequence,
)

MAX_STATES: Final = 10_000


class Program:
    """The states of a machine, by number: `start` is the first, `end` the one where all of the pattern was found.

    From a state of `characters` one goes on by one of these characters, from others without any; of `assertions` only
    at such places. Of the states in `following` the first one is tried first. At a state of `borders` a group begins
    (twice its number) or has ended (one more); only `assemble` with `has_groups` makes such states.
    """

    __slots__ = ("assertions", "borders", "characters", "end", "following", "names", "start")

    def __init__(self) -> None:
        self.following: list[tuple[int, ...]] = [()]
        self.characters: dict[int, Characters] = {}
        self.assertions: dict[int, Assertion] = {}
        self.borders: dict[int, int] = {}
        self.names: dict[str, int] = {}  # of groups -> their numbers
        self.end = self.start = 0

    def add(self, *following: int) -> int:
        """A new state. What follows it is there once: a step looks at each, and it counts those that it reaches."""
        self.following.append(tuple(dict.fromkeys(following)))
        return len(self.following) - 1


def assemble(node: Node, *, has_groups: bool = False) -> Program:
    """The machine of a pattern; `has_groups` to find the places of groups, too.

    Raises InvalidPattern if it has more than MAX_STATES states.
    MOCK: RE2 has a bound in bytes, RE2/J none; patterns of people do not come near to any.
    """
    program, parts = Program(), 0

    def build(node: Node, then: int) -> int:
        """The states of a part, after which comes the state `then`; returns the first. Built from the end."""
        nonlocal parts
        parts += 1  # also those without states, of which there may be a thousand times a thousand
        if parts > MAX_STATES:
            raise InvalidPattern(Fault.TOO_LARGE)
        if isinstance(node, Characters):
            state = program.add(then)
            program.characters[state] = node
            return state
        if isinstance(node, Assertion):
            state = program.add(then)
            program.assertions[state] = node
            return state
        if isinstance(node, Sequence):
            for each in reversed(node.parts):
                then = build(each, then)
            return then
        if isinstance(node, Group):
            return _build_group(program, build, node, then) if has_groups else build(node.part, then)
        if isinstance(node, Choice):
            return program.add(*[build(each, then) for each in node.parts])
        return _build_repeat(program, build, node, then)

    program.start = build(node, program.end)
    return program


def _build_group(program: Program, build: Callable[[Node, int], int], node: Group, then: int) -> int:
    """Its part, between two borders."""
    if node.name is not None:
        program.names[node.name] = node.number
    after = program.add(then)
    before = program.add(build(node.part, after))
    program.borders[before], program.borders[after] = 2 * node.number, 2 * node.number + 1
    return before


def _build_repeat(program: Program, build: Callable[[Node, int], int], node: Repeat, then: int) -> int:
    """As often as it must be, then as often as it may be; without a bound the last one is a loop."""
    copies = node.least
    if node.most is None:
        loop = program.add()
        part = build(node.part, loop)
        program.following[loop] = (then, part) if node.is_lazy else (part, then)
        then = part if copies else loop
        copies -= 1
    else:
        end = then
        for _ in range(node.most - node.least):
            part = build(node.part, then)
            then = program.add(end, part) if node.is_lazy else program.add(part, end)
    for _ in range(copies):
        then = build(node.part, then)
    return then
