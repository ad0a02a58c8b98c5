"""Requests like the one before them are answered without being decoded, and nobody can tell."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.apis import heartbeat
from fakebroker.schema import Message
from tests.support.engine import Client, SimEngine
from tests.support.frames import JOIN

HEARTBEAT = 12


class Watched:
    """An engine whose heartbeats are counted by the way that they go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, uses_layouts: bool = True) -> None:
        self.sim = SimEngine()
        self.sim.engine.uses_layouts = uses_layouts
        self.general = 0
        handle = heartbeat.handle

        def counted(call: Any, request: Any) -> Message | None:
            self.general += 1
            return handle(call, request)

        monkeypatch.setattr(heartbeat, "handle", counted)

    def member(self, group_id: str = "g", version: int = 3) -> tuple[Client, Callable[[], int]]:
        """A client that leads a stable group of its own, and what sends a heartbeat and returns its code."""
        client = self.sim.client()
        joined = client.ask("JoinGroup", 3, **{**JOIN, "group_id": group_id})
        member = {"group_id": group_id, "generation_id": joined.generation_id, "member_id": joined.member_id}
        client.ask("SyncGroup", 2, **member, assignments=[])

        def beat() -> int:
            code: int = client.ask("Heartbeat", version, **member).error_code
            return code

        return client, beat


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


@pytest.mark.parametrize("version", range(5))
def test_the_third_of_a_kind_is_not_decoded(watched: Watched, version: int) -> None:
    """A layout is made of the second request that is alike, and answers all that follow."""
    _, beat = watched.member(version=version)

    assert [beat() for _ in range(20)] == [0] * 20
    assert watched.general == 2


def test_the_journal_tells_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the journal does not depend on the way that a request went."""
    stories = []
    for uses_layouts in (True, False):
        with monkeypatch.context() as patch:
            watched = Watched(patch, uses_layouts=uses_layouts)
            _, beat = watched.member()
            for _ in range(10):
                beat()
        assert watched.general == (2 if uses_layouts else 10)
        stories.append([str(entry) for entry in watched.sim.journal.entries()])

    assert stories[0] == stories[1]
    assert len(stories[0]) > 10
