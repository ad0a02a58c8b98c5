"""Scenarios built by hand, for tests of the player."""

from collections.abc import Mapping, Sequence
from typing import Any

from fakebroker.scenarios.playing.player import Played, Player
from fakebroker.scenarios.playing.worlds import VirtualWorld, World
from fakebroker.scenarios.script import (
    Actor,
    Answered,
    AnyOrder,
    ClientStep,
    Expect,
    Pass,
    PowerStep,
    Repeat,
    Scenario,
    Silent,
    SourceLine,
    Step,
)

FILE = "made.yaml"


class Steps:
    """Makes steps; each is on the line of its number."""

    def __init__(self) -> None:
        self._line = 0

    def _where(self, text: str) -> dict[str, Any]:
        self._line += 1
        return {"place": SourceLine(FILE, self._line), "text": text}

    def do(
        self,
        actor: str,
        verb: str,
        expect: Mapping[str, Any] | None = None,
        *,
        save: Mapping[str, str] | None = None,
        later: bool = False,
        **arguments: Any,
    ) -> Step:
        """An actor does something."""
        text = f"{actor}: {verb}"
        return ClientStep(
            **self._where(text), actor=actor, verb=verb, arguments=arguments, expected=expect, save=save or {},
            is_later=later,
        )  # fmt: skip

    def join(self, actor: str, expect: Mapping[str, Any] | None = None, **more: Any) -> Step:
        """An actor joins the group "billing" for the topic "orders"."""
        return self.do(actor, "join", expect, **{"group_id": "billing", "topics": ["orders"], **more})

    def sync(self, actor: str, assignments: Mapping[str, Any] | None = None, expect: Any = None, **more: Any) -> Step:
        """An actor syncs; the leader with assignments by the names of actors."""
        return self.do(actor, "sync", expect, assignments=assignments or {}, **more)

    def answered(self, actor: str, expect: Any = None, within_ms: int = 10_000, **more: Any) -> Step:
        """An actor's oldest outstanding step is answered."""
        return Answered(**self._where(f"{actor}: answered"), actor=actor, within_ms=within_ms, expected=expect, **more)

    def silent(self, actor: str, for_ms: int) -> Step:
        """An actor's outstanding steps stay unanswered."""
        return Silent(**self._where(f"{actor}: silent"), actor=actor, for_ms=for_ms)

    def power(
        self, power: str, identity: Mapping[str, Any] | None = None, *, saved_as: str | None = None,
        on: str | None = None, expect: Any = None, **arguments: Any,
    ) -> Step:  # fmt: skip
        """Something is done to the broker."""
        return PowerStep(
            **self._where(power), power=power, identity=identity or {}, arguments=arguments, saved_as=saved_as, on=on,
            expected=expect,
        )  # fmt: skip

    def passes(self, min_ms: int, max_ms: int | None = None) -> Step:
        """Time passes."""
        return Pass(**self._where("pass"), min_ms=min_ms, max_ms=max_ms or min_ms)

    def expect(self, subject: str, which: Mapping[str, Any], expected: Any, within_ms: int | None = None) -> Step:
        """Something must look like this."""
        text = f"expect {subject}"
        return Expect(**self._where(text), subject=subject, identity=which, expected=expected, within_ms=within_ms)

    def group(self, within_ms: int | None = None, **expected: Any) -> Step:
        """The group "billing" must look like this."""
        return self.expect("group", {"group_id": "billing"}, expected, within_ms)

    def any_order(self, *steps: Step) -> Step:
        """Steps whose order does not matter."""
        return AnyOrder(**self._where("any_order"), steps=steps)

    def repeat(self, times: int, *steps: Step) -> Step:
        """Steps that are taken several times."""
        return Repeat(**self._where("repeat"), times=times, steps=steps)


def scenario(timeline: Sequence[Step], **changes: Any) -> Scenario:
    """A scenario with the topic "orders" of two partitions, and the actors a, b and c."""
    names = changes.pop("actors", ("a", "b", "c"))
    actors = names if isinstance(names, Mapping) else {name: actor(name) for name in names}
    fields = {
        "name": "made", "about": "made for a test", "sources": [], "path": FILE, "release": "4.3", "profile": "test",
        "nodes": 1, "racks": None, "config": {}, "seed": 7, "jitter_ms": (0, 0), "parameters": {},
        "topics": {"orders": {"partitions": 2}}, "actors": actors, "timeline": list(timeline),
    }  # fmt: skip
    return Scenario(**{**fields, **changes})


def actor(name: str, **changes: Any) -> Actor:
    """An actor whose client id is its name."""
    fields: dict[str, Any] = {
        "name": name,
        "client_id": name,
        "versions": {},
        "node": None,
        "place": SourceLine(FILE, 0),
    }
    return Actor(**{**fields, **changes})


def play(*timeline: Step, seed: int | None = None, world: World | None = None, **changes: Any) -> Played:
    """Play a timeline in virtual time, unless there is another world."""
    made = scenario(timeline, **changes)
    return Player(world or VirtualWorld(made), made, seed).play()
