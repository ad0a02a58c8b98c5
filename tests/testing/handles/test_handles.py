"""The object model: looking at topics, groups and coordinators, changing them, and waiting for them."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, KafkaError, WaitTimeout
from fakebroker.testing.broker import AsyncFakeBroker, FakeBroker


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as running:
        yield running


@pytest.fixture
def resting() -> FakeBroker:
    """A broker that no client can reach: the object model works all the same."""
    return FakeBroker(nodes=2)


# -- topics ------------------------------------------------------------------------------------------------------------


def test_records_come_back_as_they_were_produced(resting: FakeBroker) -> None:
    """Without any client a topic takes records and shows them, texts as UTF-8."""
    topic = resting.create_topic("orders", partitions=2)
    topic.produce("one", b"two", key="k", headers=[("h", "x")], timestamp_ms=5)
    assert topic.produce(None, partition=1) == 0
    assert topic.produce("three") == 2

    assert [tuple(record) for record in topic.records(0)][:2] == [
        (0, 0, 5, b"k", b"one", (("h", b"x"),)),
        (0, 1, 5, b"k", b"two", (("h", b"x"),)),
    ]
    assert [(r.partition, r.value) for r in topic.records()] == [(0, b"one"), (0, b"two"), (0, b"three"), (1, None)]
    assert (topic.partitions, topic.end_offsets) == (2, {0: 3, 1: 1})


def test_a_log_can_be_cut_at_both_ends(resting: FakeBroker) -> None:
    """Truncation takes the newest records, an advanced log start the oldest, inside a batch too."""
    topic = resting.create_topic("orders")
    topic.produce("a", "b", "c", "d")
    topic.truncate(3)
    topic.advance_log_start(1)

    assert [record.value for record in topic.records()] == [b"b", b"c"]
    assert topic.end_offsets == {0: 3}
    with pytest.raises(KafkaError, match="offset 9 is above the high watermark 3"):
        topic.advance_log_start(9)


def test_a_corrupted_batch_is_noticed(resting: FakeBroker) -> None:
    """After corrupt() whoever checks the batch finds it broken; the batches beside it are whole."""
    topic = resting.create_topic("orders")
    topic.produce("a")
    topic.produce("b")
    topic.corrupt(1)
    topic.truncate(2)

    with pytest.raises(KafkaError) as raised:
        topic.records()
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE
    with pytest.raises(KafkaError, match="offset 9"):
        topic.corrupt(9)


def test_what_is_not_there_is_said(resting: FakeBroker) -> None:
    """A topic or partition that does not exist is named in the error."""
    assert not resting.topic("nowhere").exists
    with pytest.raises(KafkaError, match="there is no topic 'nowhere'"):
        resting.topic("nowhere").records()
    with pytest.raises(KafkaError, match="topic 'orders' has 1 partitions, so partition 7 does not exist"):
        resting.create_topic("orders").produce("x", partition=7)
    with pytest.raises(ValueError, match="at least one value"):
        resting.topic("orders").produce()


def test_a_topic_can_be_deleted_and_made_again(resting: FakeBroker) -> None:
    """Deleting takes the records."""
    topic = resting.create_topic("orders")
    topic.produce("x")
    topic.delete()
    assert not topic.exists
    resting.create_topic("orders")

    assert topic.records() == []


def test_waiting_for_records_gives_them(broker: FakeBroker) -> None:
    """A wait ends with the produce that fulfils it, whoever produces."""
    topic = broker.create_topic("orders")
    producing = threading.Thread(target=lambda: (topic.produce("a"), topic.produce("b")))
    producing.start()

    assert [record.value for record in topic.wait(records=2)] == [b"a", b"b"]
    producing.join()
    with pytest.raises(WaitTimeout, match=r"waited 0\.01 s for 3 records in topic orders: there are 2"):
        topic.wait(records=3, timeout_s=0.01)
    with pytest.raises(WaitTimeout, match="in topic nowhere: the topic does not exist"):
        broker.topic("nowhere").wait(records=1, timeout_s=0.01)


# -- groups ------------------------------------------------------------------------------------------------------------


def test_a_group_is_seen_as_the_coordinator_knows_it(broker: FakeBroker) -> None:
    """State, generation, members with subscription and assignment, and offsets are all there."""
    a = broker.client("a")
    a.join("billing", ["orders"], group_instance_id="i-1")
    a.sync({a.member_id: {"orders": [0, 1]}})
    broker.create_topic("orders", partitions=2)
    a.commit({("orders", 1): 7}, "note")
    group = broker.group("billing")

    assert (group.exists, group.state, group.generation, group.protocol) == (True, "Stable", 1, "range")
    assert group.leader == a.member_id
    (member,) = group.members
    assert (member.client_id, member.client_host, member.group_instance_id) == ("a", "/127.0.0.1", "i-1")
    assert (member.subscription, member.assignment) == (("orders",), {"orders": [0, 1]})
    assert group.offsets == {("orders", 1): 7}
    assert [(c.metadata, c.offset) for c in group.committed] == [("note", 7)]
    assert [t.after for t in group.transitions] == ["PreparingRebalance", "CompletingRebalance", "Stable"]


def test_looking_at_a_group_that_is_not_there_changes_nothing(resting: FakeBroker) -> None:
    """An unknown group is Dead and empty, and asking for it makes no internal topic that clients could see."""
    group = resting.group("nobody")

    assert (group.exists, group.state, group.generation, group.members, group.offsets) == (False, "Dead", -1, [], {})
    assert not resting.topic(CONSUMER_OFFSETS).exists


def test_members_that_are_no_consumers_have_no_subscription(broker: FakeBroker) -> None:
    """Metadata of another protocol is not misread."""
    connect = broker.client("c")
    connect.join("workers", metadata=b"\xff", protocol_type="connect")
    connect.sync()

    assert broker.group("workers").members[0].subscription == ()


def test_waiting_for_a_group_ends_when_it_is_so(broker: FakeBroker) -> None:
    """A wait sees what the engine did in between; it gives the group."""
    a = broker.client("a")
    joining = threading.Thread(target=lambda: (a.join("billing", ["orders"]), a.sync()))
    joining.start()

    group = broker.group("billing").wait(state="Stable", members=1, generation=1, timeout_s=10)
    joining.join()
    assert group.state == "Stable"


def test_a_wait_that_gives_up_says_what_it_saw(broker: FakeBroker) -> None:
    """The error tells what was wanted, what is there instead, and how it came to be."""
    a = broker.client("a")
    a.join("billing")
    with pytest.raises(WaitTimeout) as raised:
        broker.group("billing").wait(state="Stable", members=2, timeout_s=0.01)

    lines = str(raised.value).splitlines()
    assert lines[0] == (
        "waited 0.01 s for group billing to be Stable with 2 members; "
        "it is CompletingRebalance in generation 1 with 1 member"
    )
    assert lines[1] == f"  member {a.member_id} of client a: has sent no SyncGroup"
    assert lines[2].startswith("  before the wait: Empty -> PreparingRebalance, generation 0: ")
    assert lines[-1] == "  since then: no transition"
    with pytest.raises(WaitTimeout, match=r"to be with 1 member in generation 3 or later; it is Dead"):
        broker.group("nobody").wait(members=1, generation=3, timeout_s=0.01)


def test_a_misspelt_state_is_an_error_at_once(resting: FakeBroker) -> None:
    """Nobody should wait ten seconds for a state that does not exist."""
    with pytest.raises(ValueError, match="state: there is no 'stable'; did you mean 'Stable'"):
        resting.group("billing").wait(state="stable")  # type: ignore[arg-type]


def test_waits_of_an_async_broker_are_awaited() -> None:
    """In a loop the wait does not block it: the group becomes stable meanwhile."""

    async def main() -> str:
        async with AsyncFakeBroker() as broker:
            a = await asyncio.to_thread(broker.client, "a")
            waiting = broker.group("billing").wait(state="Stable", members=1)
            await asyncio.to_thread(a.join, "billing", ["orders"])
            await asyncio.to_thread(a.sync)
            state: str = (await waiting).state
            return state

    assert asyncio.run(main()) == "Stable"


def test_a_group_explains_what_becomes_of_its_offsets(broker: FakeBroker) -> None:
    """Before and after the loss the group tells when and by which rule, under any policy."""
    broker.create_topic("orders")
    broker.client().commit({("orders", 0): 42}, group_id="simple")
    group = broker.group("simple")

    (kept,) = group.explain().offsets
    assert (kept.offset, kept.expired) == (42, False)
    assert "orders" in str(group.explain(policy="2.0"))
    assert "kip-211" in group.explain_policies()
    broker.clock.advance(days=8)
    (lost,) = group.explain().offsets
    assert (lost.offset, lost.expired, lost.due_ms) == (42, True, kept.due_ms)
    with pytest.raises(FakebrokerError):
        group.explain(policy="1.0")


# -- coordinators and the clock ----------------------------------------------------------------------------------------


@pytest.mark.rules("ST-14", "LD-1")
def test_a_moved_coordinator_knows_what_the_log_knows() -> None:
    """After a move the other node has read group and offsets from the log; the old one answers 16."""
    with FakeBroker(nodes=2) as broker:
        broker.create_topic("orders")
        a = broker.client("a")
        coordinator = broker.coordinator("billing")
        coordinator.move(to=1)
        a.join("billing", ["orders"])
        a.sync({a.member_id: {"orders": [0]}})
        a.commit({("orders", 0): 3})
        coordinator.move(to=2)

        assert coordinator.node_id == 2
        assert a.heartbeat().error_code == ErrorCode.NOT_COORDINATOR
        assert (broker.group("billing").state, broker.group("billing").offsets) == ("Stable", {("orders", 0): 3})
        with pytest.raises(ValueError, match="there is no node 3, only 1, 2"):
            coordinator.move(to=3)


@pytest.mark.rules("LD-1")
def test_a_coordinator_that_loads_answers_14(broker: FakeBroker) -> None:
    """While a load takes its time requests get an error; then everything is there again."""
    a = broker.client("a")
    a.join("billing")
    broker.coordinator("billing").load(for_s=3600)
    assert a.request("OffsetFetch", 7, group_id="billing").error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert not broker.group("billing").exists

    broker.clock.advance(hours=1, timers=True)
    assert a.request("OffsetFetch", 7, group_id="billing").error_code == ErrorCode.NONE


def test_moving_a_coordinator_to_where_it_is_reads_the_log_again(broker: FakeBroker) -> None:
    """A group that is only in memory does not survive a reload, one in the log does."""
    broker.create_topic("orders")
    a = broker.client("a")
    a.commit({("orders", 0): 3}, group_id="stored")
    broker.coordinator("stored").move(to=1)

    assert broker.group("stored").offsets == {("orders", 0): 3}
    assert broker.coordinator("stored").partition in range(50)


def test_the_clock_moves_by_the_given_time(broker: FakeBroker) -> None:
    """Days, hours, minutes, seconds and milliseconds add up; a frozen clock moves only so."""
    clock = broker.clock
    clock.freeze()
    before, before_ms = clock.now, clock.now_ms
    clock.advance(days=1, hours=1, minutes=1, seconds=1, ms=1)

    assert clock.now_ms - before_ms == 90_061_001
    assert clock.now - before == timedelta(milliseconds=90_061_001)
    clock.run_until(datetime(2099, 1, 1, tzinfo=UTC))
    assert clock.now == datetime(2099, 1, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match=r"when=.* has passed; set\(\) can go back to it"):
        clock.run_until(before)


def test_the_clock_can_run_faster(broker: FakeBroker) -> None:
    """The rate is set and read; it must be above zero."""
    broker.clock.rate = 60
    assert broker.clock.rate == 60
    with pytest.raises(ValueError, match="rate: should be a number from 0"):
        broker.clock.rate = 0
    broker.clock.freeze()
    broker.clock.resume()


@pytest.mark.rules("EX-3")
def test_a_week_passes_while_a_client_stays_connected(broker: FakeBroker) -> None:
    """Advancing the time of day expires offsets of an Empty group, and no connected member is lost by it."""
    broker.create_topic("orders")
    live = broker.client("live")
    live.join("live", ["orders"])
    live.sync()
    live.commit({("orders", 0): 1}, group_id="simple")
    broker.clock.advance(days=8)

    assert broker.group("simple").offsets == {}
    assert live.heartbeat().error_code == 0
