"""Patterns of many groups at a time: few are resolved at once, as each holds a machine and what it remembers."""

from collections.abc import Callable, Generator

import pytest

from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.few_at_a_time import FewAtATime
from fakebroker.broker.core.groups.consumer import patterns
from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.consumer.heartbeat import heartbeat
from fakebroker.broker.core.groups.consumer.messages import HeartbeatRequest
from fakebroker.broker.core.long_passes import MOST_RESOLUTIONS
from fakebroker.protocol.instant import Instant
from tests.support.consumer_groups import OneConsumerGroup

GROUPS = 3 * MOST_RESOLUTIONS


class ManyGroups(OneConsumerGroup):
    """Groups "g0", "g1" and so on of one member each that has a pattern, which takes several turns to be resolved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        monkeypatch.setattr(patterns, "STATES_PER_STEP", 1)
        self.passes = self.cluster.timers.passes
        self.passes.limit()
        for number in range(GROUPS):
            request = HeartbeatRequest(f"g{number}", "m", 0, rebalance_timeout_ms=5_000, pattern="(t|u|tu){0,9}")
            heartbeat(self.shard_of(number), request, self.now)
        self.wait(0)

    def shard_of(self, number: int) -> Shard:
        return self.cluster.nodes[1].coordinator.shard(f"g{number}", self.now)

    def of(self, number: int) -> ConsumerGroup:
        group = self.shard_of(number).group(f"g{number}")
        assert isinstance(group, ConsumerGroup)
        return group

    def under_way(self) -> list[int]:
        """The groups whose resolution has steps to take."""
        return [number for number in range(GROUPS) if self.of(number).resolver._steps is not None]

    def resolved(self) -> int:
        return sum(not self.of(number).unresolved_patterns() for number in range(GROUPS))

    def turn(self) -> bool:
        """One turn of what was put off."""
        rest = self.passes.take()
        self.passes.limit()
        if rest is not None:
            rest(self.now)
        return rest is not None


def test_few_groups_have_their_patterns_resolved_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait without anything made for them, and all come to their turn."""
    lab, most = ManyGroups(monkeypatch), 0
    assert len(lab.under_way()) == MOST_RESOLUTIONS
    while lab.turn():
        most = max(most, len(lab.under_way()))
    assert (most, lab.resolved()) == (MOST_RESOLUTIONS, GROUPS)


def test_a_group_that_ends_gives_its_place_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether its resolution was under way, waited, or had its place and no turn yet."""
    lab = ManyGroups(monkeypatch)
    first, waiting = lab.under_way(), [number for number in range(GROUPS) if number not in lab.under_way()]
    ended = [lab.of(number) for number in (*first, *waiting[:MOST_RESOLUTIONS])]
    for group in ended:
        group.resolver.end()
    while lab.turn():
        pass
    assert lab.resolved() == GROUPS - len(ended)


def test_a_resolution_that_fails_keeps_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of ours in each group keeps no other from its turn."""

    def failing(*_: object) -> Generator[None, None, patterns.Matches]:
        for _step in range(5):  # more than a turn takes
            yield
        raise LookupError

    monkeypatch.setattr(patterns, "_matches", failing)
    lab, failed, goes_on = ManyGroups(monkeypatch), 0, True
    while goes_on:
        try:
            goes_on = lab.turn()
        except LookupError:
            failed += 1
    assert (failed, lab.under_way()) == (GROUPS, [])


def test_places_are_given_in_the_order_in_which_they_are_asked_for() -> None:
    """Who leaves while it waits gets none, and to leave twice frees one place only."""
    put_off: list[Callable[[Instant], None]] = []
    few, begun = FewAtATime(2, put_off.append), list[str]()

    def enter(who: str) -> bool:
        return few.enter(who, lambda _now: begun.append(who))

    assert [enter(who) for who in "abcdef"] == [True, True, False, False, False, False]
    for who in ("d", "a", "a", "b"):
        few.leave(who)
    for begin in put_off:
        begin(Instant(0, 0))
    assert begun == ["c", "e"]
    assert not enter("g")
