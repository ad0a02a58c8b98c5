"""The expiry queue: a pass costs what is due, not what exists."""

import time

import pytest

from fakebroker.broker.core.coordinator import cleanup
from fakebroker.broker.core.offsets.expiry import due_ms
from fakebroker.protocol.instant import Instant
from tests.support.offsets import PASS, WEEK, OffsetsCluster
from tests.support.time import DAY, HOUR, MINUTE, START


def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every decision that cleanups take from now on."""
    decisions: list[int] = []

    def spy(*args: object) -> int:
        decisions.append(due_ms(*args))  # type: ignore[arg-type]
        return decisions[-1]

    monkeypatch.setattr(cleanup, "due_ms", spy)
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
