"""Scenarios made by hand, for tests of what does not read files."""

from collections.abc import Mapping, Sequence
from typing import Any

from fakebroker.scenario.script import Actor, ClientStep, Expect, Pass, Place, PowerStep, Scenario, Step

FILE = "story.yaml"


def at(line: int) -> Place:
    """A line of the file."""
    return Place(FILE, line)


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
    return Pass(at(line), f"pass: {ms}ms", least_ms=ms, most_ms=ms)


def scenario(
    timeline: Sequence[Step],
    actors: Sequence[str] = ("a",),
    topics: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> Scenario:
    """A scenario with what every one must have."""
    values: dict[str, Any] = {
        "name": "story",
        "about": "A story.",
        "sources": (),
        "path": FILE,
        "release": "4.3",
        "profile": "test",
        "nodes": 1,
        "racks": None,
        "config": {},
        "seed": 0,
        "jitter_ms": (0, 0),
        "parameters": {},
    }
    named = {name: Actor(name, name, {}, None, at(1)) for name in actors}
    return Scenario(**(values | more), topics=topics or {}, actors=named, timeline=timeline)
