"""explain: what it announces is what happens."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.explain.offsets import OffsetExplanation, side_by_side
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.offsets.expirations import Expirations, OffsetsExpired
from fakebroker.broker.core.offsets.expiry_policies import EXPIRY_POLICIES
from fakebroker.protocol.errors import InvalidArgument
from tests.broker.core.offsets.histories import DURATIONS, STEPS, take
from tests.support.chance import examples
from tests.support.offsets import WEEK, OffsetsCluster
from tests.support.time import DAY, MINUTE, START

T0 = ("t", 0)


@pytest.mark.rules("EX-3", "EX-5")
def test_an_emptied_group() -> None:
    """The text names state, rule, what counts, when each offset is due and the cleanup that takes it."""
    lab = OffsetsCluster()
    lab.shard()
    lab.wait(2 * MINUTE)
    lab.commit({T0: 42})
    member = lab.stable()
    lab.leave(member)
    lab.wait(DAY)
    lab.commit({("u", 1): 7})
    since, later = "2023-11-14 22:15:20", "2023-11-15 22:15:20"
    due, expires = "2023-11-21 22:15:20", "expires 2023-11-21 22:23:20"

    head, *rows = str(lab.explain()).splitlines()

    assert head == (
        f"group g: Empty since {since} (member {member} left; no members are left);"
        " Empty: the retention of all offsets starts there (policy 4.3, retention 7 d)"
    )
    assert [re.split("  +", row.strip()) for row in rows] == [
        ["topic", "partition", "offset", "committed", "counts from", "due", "decision", "rule"],
        ["t", "0", "42", since, since, due, expires, "EX-3"],
        ["u", "1", "7", later, since, due, expires, "EX-5 a later commit does not restart the retention"],
    ]


@pytest.mark.rules("EX-8")
def test_what_has_expired_can_still_be_explained() -> None:
    """When the group is gone its expirations are reported: by which rule, when due, and which cleanup took them."""
    lab = OffsetsCluster()
    lab.commit({T0: 42})
    lab.wait(8 * DAY)
    story = lab.explain()

    due_ms = START.wall_ms + WEEK
    assert story.state == "Dead"
    assert story.offsets == (OffsetExplanation("t", 0, 42, START.wall_ms, True, "EX-3", START.wall_ms, due_ms, due_ms),)
    assert "expired 2023-11-21 22:13:20" in str(story)


def test_a_new_commit_hides_the_loss() -> None:
    """A partition that was committed again is reported as it is now; other expirations stay."""
    lab = OffsetsCluster()
    lab.commit({T0: 1, ("t", 1): 2})
    lab.wait(WEEK)
    lab.commit({T0: 3})

    assert [(story.offset, story.expired) for story in lab.explain().offsets] == [(3, False), (2, True)]


def test_nothing_to_tell() -> None:
    """An unknown group, and one without offsets."""
    lab = OffsetsCluster()
    assert lab.explain().why == "the group does not exist"
    lab.emptied()
    assert str(lab.explain()).endswith("no committed offsets")


@pytest.mark.rules("EX-17", "EX-18", "EX-14")
def test_eras_side_by_side() -> None:
    """The same group under each policy, a column each."""
    lab = OffsetsCluster()
    lab.commit({T0: 5, ("u", 0): 6}, version=2, retention_time_ms=DAY)
    lab.stable(topics=["t"])
    stories = {policy: lab.explain(policy=policy) for policy in EXPIRY_POLICIES}

    dues = {
        policy: [story.due_ms and story.due_ms - START.wall_ms for story in stories[policy].offsets]
        for policy in EXPIRY_POLICIES
    }
    assert dues == {
        "2.0": [DAY, DAY],
        "2.1": [None, None],
        "3.9": [None, DAY],
        "4.3": [None, DAY],
        "kip-211": [None, DAY],
    }
    table = side_by_side(stories.values())
    assert table.splitlines()[0].split() == ["topic", "partition", "offset", *EXPIRY_POLICIES]
    assert "never EX-18" in table
    with pytest.raises(InvalidArgument, match=r"policy: there is no '1\.0'; did you mean '2\.0"):
        lab.explain(policy="1.0")


def test_odd_times() -> None:
    """Times that no calendar has are reported as numbers; retentions in the largest unit that fits."""
    lab = OffsetsCluster(settings={"offsets.retention.minutes": 90})
    lab.commit(version=2, retention_time_ms=2**63 - 1 - START.wall_ms)

    assert str(2**63 - 1) in str(lab.explain())
    assert "retention 90 min" in str(lab.explain())


def test_losses_are_bounded() -> None:
    """Of a group the youngest passes are kept."""
    expirations = Expirations()
    lab = OffsetsCluster()
    lab.commit()
    aging = lab.shard().cleanup.aging(lab.group())
    for n in range(40):
        expirations.add(OffsetsExpired("g", "Empty", n, aging, []))

    assert [expiration.pass_ms for expiration in expirations.of("g")] == list(range(24, 40))


# -- what explain announces is what happens ----------------------------------------------------------------------------


@pytest.mark.rules("EX-2", "EX-3", "EX-4", "EX-8")
@examples(60)
@given(st.sampled_from(sorted(EXPIRY_POLICIES)), st.lists(STEPS, max_size=12), DURATIONS)
def test_what_is_announced_happens(policy: str, history: list[tuple[Any, ...]], after_ms: int) -> None:
    """After any history: what explain says goes by a time goes by then, at the cleanup it names, and nothing else."""
    lab = OffsetsCluster(settings={"fakebroker.expiry.policy": policy})
    for step in history:
        take(lab, step)
    lab.expired()
    story = lab.explain()
    end_ms = lab.now.wall_ms + after_ms
    announced = {
        (each.topic, each.partition, each.rule, each.due_ms, each.pass_ms)
        for each in story.offsets
        if not each.expired and each.pass_ms is not None and each.pass_ms <= end_ms
    }
    state = lab.shard().group("g")
    assert state is None or state.state in (State.EMPTY, State.STABLE)

    passes: set[tuple[Any, ...]] = set()
    lab.wait(after_ms)
    for event in lab.cluster.outbox:
        if isinstance(event, OffsetsExpired):
            passes |= {(e.topic, e.partition, e.rule, e.due_ms, event.pass_ms) for e in event.each()}
    assert passes == announced
