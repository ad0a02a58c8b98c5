"""The expiry queue: a pass costs what is due, not what exists."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core import long_passes
from fakebroker.broker.core.coordinator import cleanup
from fakebroker.broker.core.offsets.expiry import due_offsets
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import StoredOffset
from tests.support.offsets import PASS, WEEK, OffsetsCluster
from tests.support.time import DAY, HOUR, MINUTE, START


def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many offsets of a group are due, for each time that a cleanup looks at one from now on."""
    decisions: list[int] = []

    def spy(*args: Any) -> tuple[list[StoredOffset], int]:
        due, next_ms = due_offsets(*args)
        decisions.append(len(due))
        return due, next_ms

    monkeypatch.setattr(cleanup, "due_offsets", spy)
    return decisions


def many(lab: OffsetsCluster, groups: int) -> None:
    """Simple groups with an offset each, all in different shards as they come."""
    for n in range(groups):
        shard = lab.shard(f"g{n}")
        shard.commit(
            shard.create_group(f"g{n}", lab.now, for_commit=True),
            [("t", 0, n, -1, "", lab.now.wall_ms, -1, bytes(16))],
            lab.now,
        )


@pytest.mark.rules("EX-1", "EX-2")
@pytest.mark.parametrize("others", [0, 500])
def test_a_pass_looks_at_what_is_due_only(monkeypatch: pytest.MonkeyPatch, others: int) -> None:
    """However many groups there are, only the one that may be due is looked at."""
    lab = OffsetsCluster()
    many(lab, others)
    lab.commit({("t", 0): 5}, version=2, retention_time_ms=HOUR)
    decisions = evaluated(monkeypatch)
    lab.wait(6 * DAY)

    assert len(decisions) == 1
    assert not lab.exists()


@pytest.mark.rules("EX-2")
def test_one_entry_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that commits again and again is looked at when its first commit would be due, not for each commit."""
    lab = OffsetsCluster()
    for _ in range(100):
        lab.commit()
        lab.wait(HOUR)
    decisions = evaluated(monkeypatch)
    lab.wait(WEEK - 100 * HOUR)
    assert len(decisions) == 1
    lab.wait(99 * HOUR - 1)
    assert lab.exists()
    lab.wait(1)
    assert not lab.exists()
    assert len(decisions) == 2


@pytest.mark.rules("EX-3")
def test_a_live_group_is_not_looked_at_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Stable group that commits what it reads is looked at once a retention at most."""
    lab = OffsetsCluster()
    member = lab.stable()
    lab.wait(PASS)
    decisions = evaluated(monkeypatch)
    for _ in range(14 * 24):
        lab.commit(member_id=member, generation_id_or_member_epoch=1)
        lab.wait(HOUR)

    assert len(decisions) <= 2
    assert lab.offsets() == {("t", 0): 5}


@pytest.mark.rules("EX-1")
def test_the_pass_that_sees_a_due_time() -> None:
    """It is the first at or after the due time, and never one that has been."""
    lab = OffsetsCluster()
    passes = lab.shard().cleanup
    start = START.wall_ms

    assert passes.next_pass_ms(start, start) == start + PASS
    assert passes.next_pass_ms(start - WEEK, start) == start + PASS
    assert passes.next_pass_ms(start + PASS, start) == start + PASS
    assert passes.next_pass_ms(start + PASS + 1, start) == start + 2 * PASS
    assert passes.next_pass_ms(start, start + PASS) == start + 2 * PASS
    assert passes.next_pass_ms(start + 8 * DAY, start) == start + 8 * DAY


def test_a_cleanup_that_comes_late() -> None:
    """On a busy machine it runs a little after its time; the next one is at its usual time."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5}, version=2, retention_time_ms=MINUTE)
    lab.commit({("t", 1): 5}, version=2, retention_time_ms=PASS + MINUTE)
    deadline = lab.cluster.timers.wall.pop_due(START.wall_ms + PASS)
    assert deadline is not None
    deadline.action(Instant(START.wall_ms + PASS + 17, 0))

    assert lab.offsets() == {("t", 1): 5}
    assert lab.cluster.timers.wall.next_due_ms() == START.wall_ms + 2 * PASS


def test_deleted_groups_do_not_wait_in_the_queue() -> None:
    """What is left of groups that were deleted before their time is forgotten, a little at a time."""
    lab = OffsetsCluster(settings={"offsets.topic.num.partitions": 1})
    shard = lab.shard()
    for n in range(5000):
        lab.commit({("t", 0): n})
        shard.delete_group("g", lab.now)

    assert len(shard.cleanup._queue) <= 1001


@pytest.mark.rules("EX-8", "EX-9")
def test_eight_days_over_many_groups() -> None:
    """10,000 groups are all gone after eight days, in far less than a second of work, and each can be explained."""
    lab = OffsetsCluster()
    many(lab, 10_000)
    began = time.process_time()
    lab.wait(8 * DAY)

    assert time.process_time() - began < 1
    assert all(not shard.groups for shard in lab.coordinator.shards.values())
    assert lab.explain("g9999").offsets[0].expired


def large(release: str = "4.3") -> OffsetsCluster:
    """A thousand simple groups in one shard with ten offsets each, all due in a week."""
    lab = OffsetsCluster(release, settings={"offsets.topic.num.partitions": 1})
    shard = lab.shard()
    for n in range(1_000):
        rows = [("t", index, n, -1, "", lab.now.wall_ms, -1, bytes(16)) for index in range(10)]
        shard.commit(shard.create_group(f"g{n}", lab.now, for_commit=True), rows, lab.now)
    return lab


def in_turns(lab: OffsetsCluster) -> int:
    """Take what is left of passes, a turn for each; returns how many turns."""
    passes, turns = lab.cluster.timers.passes, 0
    while (rest := passes.take()) is not None:
        passes.limit()
        rest(lab.now)
        turns += 1
    return turns


@pytest.mark.rules("EX-8", "CR-14")
@pytest.mark.parametrize("release", ["4.3", "3.9"])
def test_a_pass_in_turns_writes_what_a_pass_at_once_writes(release: str) -> None:
    """The log, the events and their order are the same, and no turn costs much more than it may."""
    labs = [large(release), large(release)]
    labs[1].cluster.timers.passes.limit()
    for lab in labs:
        lab.wait(WEEK)
    costs = len(labs[1].shard().groups) * 15
    assert 0 < costs < 15_000
    assert not labs[0].cluster.timers.passes
    assert in_turns(labs[1]) >= costs // (long_passes.TURN_COST + long_passes.STEP_COST)

    at_once, turns = labs
    assert turns.batches() == at_once.batches()
    assert turns.cluster.outbox == at_once.cluster.outbox
    assert turns.shard().groups == at_once.shard().groups == {}


@pytest.mark.rules("EX-1", "EX-9")
def test_what_comes_up_during_a_pass_is_for_the_next_one() -> None:
    """A group that is made, and one that commits, between two turns."""
    lab = large()
    lab.cluster.timers.passes.limit()
    lab.wait(WEEK)
    last = next(reversed(lab.shard().groups))
    lab.shard().create_group("new", lab.now)
    lab.commit(group_id=last)
    in_turns(lab)

    assert list(lab.shard().groups) == [last, "new"]
    lab.wait(PASS)
    assert list(lab.shard().groups) == [last]


def test_a_pass_ends_with_its_shard() -> None:
    """What is left of it does nothing when the partition was unloaded, or the time of day was set back."""
    lab = large()
    stops: list[Callable[[], None]] = [
        lambda: lab.shard().wall_time_went_back(PASS, lab.now),
        lambda: lab.shard().unload(lab.now),
    ]
    for stop in stops:
        lab.cluster.timers.passes.limit()
        lab.wait(WEEK)
        assert lab.shard().groups
        stop()
        left = list(lab.shard().groups)
        assert in_turns(lab) == 1
        assert list(lab.shard().groups) == left
