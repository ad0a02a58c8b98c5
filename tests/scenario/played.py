"""Scenarios that are made by hand, for what needs no file and no player."""

from typing import Any

from fakebroker.scenario.script import Actor, Place, Scenario, Step

FILE = "scenarios/two-members.yaml"


def make_scenario(**changes: Any) -> Scenario:
    """A scenario with usual settings."""
    fields: dict[str, Any] = {
        "name": "two-members",
        "about": "Two members share a group.",
        "sources": ["KIP-211"],
        "path": FILE,
        "release": "4.3",
        "profile": "test",
        "nodes": 1,
        "racks": None,
        "config": {},
        "seed": 7,
        "jitter_ms": (0, 0),
        "parameters": {},
        "topics": {"orders": {"partitions": 2}},
        "actors": {"a": Actor("a", "a", {}, None, Place(FILE, 4))},
        "timeline": [],
    }
    return Scenario(**{**fields, **changes})


def make_step(text: str = "a: heartbeat", line: int = 8, file: str = FILE) -> Step:
    """A step of a file."""
    return Step(Place(file, line), text)
