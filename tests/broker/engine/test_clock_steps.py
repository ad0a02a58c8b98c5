"""The time of day is moved in both directions: nothing is lost, nothing comes early, and every schedule goes on."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.events import ClockMoved, Transition
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.engine.journal import Event, Recorded
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from tests.support.chance import examples
from tests.support.engine import Client, SimEngine
from tests.support.time import DAY, HOUR, MINUTE, START

INTERVAL = 10 * MINUTE
RETENTION = 20 * MINUTE
MINUTES_LONG = st.integers(1, 20).map(lambda minutes: minutes * MINUTE)
STEPS = st.one_of(
    st.tuples(st.just("commit"), st.sampled_from([0, 1, 2])),
    st.tuples(st.just("pass"), MINUTES_LONG),
    st.tuples(st.just("pass"), st.sampled_from([1, MINUTE, INTERVAL - 1, INTERVAL])),
    st.tuples(st.just("move"), MINUTES_LONG.map(lambda ms: -ms)),
    st.tuples(st.just("move"), st.sampled_from([1, -1, INTERVAL, -INTERVAL, HOUR, DAY, -DAY, 7 - 400 * DAY])),
)


def commit(client: Client, group_id: str, partition: int = 0) -> None:
    """A simple commit of offset 7."""
    topics = [OffsetCommitRequestTopic(name="t", partitions=[(partition, 7, -1, -1, "")])]
    answer = client.ask("OffsetCommit", 2, group_id=group_id, generation_id_or_member_epoch=-1, topics=topics)
    assert answer.topics[0].partitions == [(partition, 0)]


def offsets(lab: SimEngine, group_id: str) -> set[int]:
    """The partitions of which an offset is committed."""
    group = lab.cluster.nodes[1].coordinator.shard(group_id, lab.network.now).group(group_id)
    return set() if group is None else {stored[1] for stored in group.offsets}


class Naive:
    """Kafka's cleanup without any cleverness: a pass every ten minutes, each looks at everything."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = self.last_pass_ms = now_ms
        self.committed: dict[int, int] = {}  # partition -> when

    def move(self, by_ms: int) -> None:
        if by_ms < 0:
            self.last_pass_ms += by_ms  # the next pass comes as soon as it would have come
        self.now_ms += by_ms
        while self.last_pass_ms + INTERVAL <= self.now_ms:
            self.last_pass_ms += INTERVAL
            self.committed = {p: ms for p, ms in self.committed.items() if ms + RETENTION > self.last_pass_ms}


@given(st.lists(STEPS, min_size=5, max_size=30))
@examples(200)
@pytest.mark.rules("EX-1", "EX-2")
def test_offsets_expire_as_if_every_pass_looked_at_everything(steps: list[tuple[str, int]]) -> None:
    """Whatever the time of day does, an offset goes at the first pass of a ten-minute schedule that sees it due."""
    lab = SimEngine({"offsets.retention.minutes": 20, "offsets.retention.check.interval.ms": INTERVAL})
    lab.cluster.topics.create("t", 3, 1)
    client, naive = lab.client(), Naive(START.wall_ms)
    commit(client, "other")  # from now on this broker is a coordinator, and cleanups run

    for what, number in steps:
        if what == "commit":
            commit(client, "g", number)
            naive.committed[number] = naive.now_ms
        elif what == "pass":
            lab.network.advance(number)
            naive.move(number)
        else:
            lab.network.move_wall(number)
            naive.move(number)
        assert lab.network.now.wall_ms == naive.now_ms
        assert offsets(lab, "g") == naive.committed.keys()
    assert lab.engine.errors == []


@pytest.mark.rules("EX-9")
def test_a_group_without_offsets_goes_at_the_next_cleanup_after_a_step_back() -> None:
    """It need not wait until the time before the step has come again."""
    lab = SimEngine({"offsets.retention.check.interval.ms": INTERVAL})
    member = lab.client().join().member_id
    lab.client().ask("LeaveGroup", 1, group_id="g", member_id=member)
    lab.network.move_wall(-DAY)
    lab.network.advance(INTERVAL)

    dead = [r for r in lab.journal.events(Transition) if isinstance(r.event, Transition) and r.event.after == "Dead"]
    assert [r.at.mono_ms - START.mono_ms for r in dead] == [INTERVAL]


@pytest.mark.rules("RT-1", "RT-2")
def test_retention_goes_on_after_a_step_back() -> None:
    """What was stored before the step stays until its time comes again; what is stored after it goes in its own."""
    lab = SimEngine({"log.retention.check.interval.ms": INTERVAL, "log.initial.task.delay.ms": 0})
    config = {"retention.ms": str(HOUR), "segment.ms": str(MINUTE)}
    log = lab.cluster.topics.create("t", 1, 1, config).partitions[0].log

    def append() -> None:
        from tests.support.logs import batch

        log.append(batch(lab.network.now.wall_ms), lab.network.now)

    lab.network.move_wall(DAY)
    append()
    lab.network.move_wall(-DAY)
    append()
    lab.network.advance(2 * MINUTE)
    append()
    lab.network.advance(2 * HOUR)
    assert (log.log_start_offset, log.log_end_offset) == (0, 3)  # the segment from the future is in front, as in Kafka

    lab.network.move_wall(DAY)
    assert log.log_start_offset == 3


def test_timers_of_live_clients_do_not_notice(lab: SimEngine) -> None:
    """A step of a year leaves the session of a member as it was: to the millisecond."""
    client = lab.client()
    client.join()
    group = lab.cluster.nodes[1].coordinator.shard("g", lab.network.now).group("g")
    assert isinstance(group, ClassicGroup)
    (member,) = group.members.values()
    due_ms = member.session.due_ms
    assert due_ms is not None
    lab.network.move_wall(-365 * DAY)
    lab.network.advance(due_ms - lab.network.now.mono_ms - 1)
    assert group.members
    lab.network.advance(1)
    assert not group.members


@pytest.mark.parametrize(("by_ms", "how"), [(DAY, "advanced"), (-DAY, "stepped back"), (0, "advanced")])
def test_a_move_is_in_the_journal_before_what_it_causes(lab: SimEngine, by_ms: int, how: str) -> None:
    """With both times, at the moment before it."""
    member = lab.client().join().member_id
    lab.client().ask("LeaveGroup", 1, group_id="g", member_id=member)
    lab.network.move_wall(by_ms)
    events: list[Recorded[Event]] = [r for r in lab.journal.events() if isinstance(r.event, ClockMoved | Transition)]
    moves = [r for r in events if isinstance(r.event, ClockMoved)]

    assert [(r.at, r.event) for r in moves] == [(START, ClockMoved(START.wall_ms, START.wall_ms + by_ms, how))]
    later: list[Any] = [r.event for r in events if r.seq > moves[0].seq]
    assert [event.after for event in later] == (["Dead"] if by_ms == DAY else [])


@pytest.fixture
def lab() -> SimEngine:
    return SimEngine()
