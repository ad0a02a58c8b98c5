"""Steps made by hand, each on a line that the test says, for tests of what takes scenarios apart."""

from collections.abc import Mapping, Sequence
from typing import Any

from fakebroker.scenarios.script import ClientStep, Expect, Pass, PowerStep, Scenario, SourceLine, Step
from tests.support import scenarios

FILE = "story.yaml"


def at(line: int) -> SourceLine:
    """A line of the file."""
    return SourceLine(FILE, line)


def client_step(line: int, actor: str, verb: str, **more: Any) -> ClientStep:
    """A step of an actor; `expected`, `save` and `is_later` are those of the step, the rest are arguments."""
    own = {name: more.pop(name) for name in ("expected", "save", "is_later") if name in more}
    return ClientStep(at(line), f"{actor}: {verb}", actor=actor, verb=verb, arguments=more, **own)


def power(line: int, name: str, identity: Mapping[str, Any] | None = None, **more: Any) -> PowerStep:
    """A step of a broker's power; `saved_as`, `on` and `expected` are those of the step, the rest are arguments."""
    own = {key: more.pop(key) for key in ("saved_as", "on", "expected") if key in more}
    return PowerStep(at(line), name, power=name, identity=identity or {}, arguments=more, **own)


def expect(
    line: int, subject: str, expected: Mapping[str, Any], within_ms: int | None = None, **identity: Any
) -> Expect:
    """An expectation."""
    text = f"expect: {subject}"
    return Expect(at(line), text, subject=subject, identity=identity, expected=expected, within_ms=within_ms)


def passing(line: int, ms: int) -> Pass:
    """Time passes."""
    return Pass(at(line), f"pass: {ms}ms", min_ms=ms, max_ms=ms)


def scenario(
    timeline: Sequence[Step],
    actors: Sequence[str] = ("a",),
    topics: Mapping[str, Mapping[str, Any]] | None = None,
    **changes: Any,
) -> Scenario:
    """A scenario with no more than it needs."""
    return scenarios.scenario(timeline, actors=actors, topics=topics or {}, **changes)
