"""What a test does to a group without a client, and what it can wait for."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode, InvalidArgument, KafkaError, WaitTimeout
from fakebroker.testing.broker import AsyncFakeBroker, FakeBroker
from fakebroker.testing.handles.group import GroupHandle


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as running:
        running.create_topic("orders", partitions=2)
        yield running


@pytest.fixture
def resting() -> FakeBroker:
    broker = FakeBroker(nodes=2)
    broker.create_topic("orders", partitions=2)
    return broker


@pytest.mark.rules("OC-7", "CR-14")
def test_offsets_are_committed_without_a_client(resting: FakeBroker) -> None:
    """They are in the log, so a coordinator that moves has them, and clients are asked for nothing."""
    group = resting.group("billing")
    group.commit({("orders", 0): 42, ("orders", 1): 7}, metadata="note")
    assert (group.state, group.offsets) == ("Empty", {("orders", 0): 42, ("orders", 1): 7})
    group.commit({("orders", 0): 43})
    coordinator = resting.coordinator("billing")
    coordinator.move(to=3 - coordinator.node_id)

    assert group.offsets == {("orders", 0): 43, ("orders", 1): 7}
    assert [each.metadata for each in group.committed] == ["", "note"]


@pytest.mark.rules("OC-4", "OC-7", "OC-11")
def test_a_commit_that_kafka_would_refuse_stores_nothing(broker: FakeBroker) -> None:
    """Not one partition of it; the group is not made for it."""
    group = broker.group("billing")
    refused: list[tuple[dict[tuple[str, int], int], str, ErrorCode]] = [
        ({("orders", 0): 1, ("nowhere", 0): 1}, "", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({("orders", 0): 1, ("orders", 2): 1}, "", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({("orders", 0): 1}, "x" * 5000, ErrorCode.OFFSET_METADATA_TOO_LARGE),
    ]
    for offsets, metadata, code in refused:
        with pytest.raises(KafkaError) as raised:
            group.commit(offsets, metadata)
        assert (raised.value.code, group.exists) == (code, False)
    broker.client("a").join("billing", ["orders"])
    with pytest.raises(KafkaError, match="group 'billing' is CompletingRebalance: only its members may commit"):
        group.commit({("orders", 0): 1})
    assert group.offsets == {}


@pytest.mark.parametrize(
    "offsets",
    [{}, None, {"orders": 1}, {("orders", "0"): 1}, {("orders", 0): -1}, {("orders", 0): 2**63}, {("orders", 0): 1.5}],
)
def test_what_are_no_offsets_is_refused(resting: FakeBroker, offsets: Any) -> None:
    """The error names the argument and what is wrong."""
    with pytest.raises(InvalidArgument, match="offsets") as raised:
        resting.group("billing").commit(offsets)
    assert (raised.value.field, str(raised.value).startswith("offsets")) == ("offsets", True)


@pytest.mark.rules("DG-2")
def test_a_group_is_deleted(broker: FakeBroker) -> None:
    """With its offsets; not while it has members, and not twice."""
    group = broker.group("billing")
    group.commit({("orders", 0): 1})
    a = broker.client("a")
    a.join("billing", ["orders"])
    with pytest.raises(KafkaError, match="NON_EMPTY_GROUP: group 'billing' is CompletingRebalance"):
        group.delete()
    a.leave()
    group.delete()
    assert (group.exists, group.transitions[-1].reason) == (False, "deleted")
    with pytest.raises(KafkaError, match="GROUP_ID_NOT_FOUND"):
        group.delete()


@pytest.mark.rules("HB-5")
def test_a_rebalance_is_started(broker: FakeBroker) -> None:
    """The member learns of it by its Heartbeat; with nobody there is none."""
    a = broker.client("a")
    a.join("billing", ["orders"])
    a.sync()
    group = broker.group("billing")
    group.rebalance(reason="orders has more partitions")
    assert (group.state, group.transitions[-1].reason) == ("PreparingRebalance", "orders has more partitions")
    group.rebalance()
    assert len(group.transitions) == 4
    assert a.heartbeat().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert a.rejoin().generation_id == 2
    a.leave()
    with pytest.raises(InvalidArgument, match="group 'billing' is Empty: it has no members"):
        group.rebalance()


@pytest.mark.rules("TM-3")
def test_a_member_is_evicted(broker: FakeBroker) -> None:
    """Its session ends at once; by client id, instance id or member id."""
    group = broker.group("billing")
    for name in ("client_id", "group_instance_id", "member_id"):
        a = broker.client("a")
        a.join("billing", ["orders"], group_instance_id="i-1")
        a.sync()
        group.evict(getattr(group.members[0], name))
        assert (group.members, group.state) == ([], "Empty")
        assert a.heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_topics_and_groups_are_listed(resting: FakeBroker) -> None:
    """By name, those of all nodes; internal topics are left out, groups being loaded too."""
    assert (resting.groups, [topic.name for topic in resting.topics]) == ([], ["orders"])
    for number in range(20):
        resting.group(f"g{number}").commit({("orders", 0): number})
    resting.create_topic("audit")

    assert [topic.name for topic in resting.topics] == ["audit", "orders"]
    assert [group.group_id for group in resting.groups] == sorted(f"g{number}" for number in range(20))
    assert {resting.coordinator(group.group_id).node_id for group in resting.groups} == {1, 2}
    resting.coordinator("g7").load(for_s=60)
    assert "g7" not in [group.group_id for group in resting.groups]


MET: list[dict[str, Any]] = [
    {"assigned": True},
    {"protocol": "range", "generation": 1},
    {"offsets": {("orders", 0): 5}},
    {"state": "Stable", "members": 1, "joined": 0},
]
NOT_MET: list[tuple[dict[str, Any], str]] = [
    ({"protocol": "sticky"}, "with protocol sticky; it is Stable"),
    ({"offsets": {("orders", 0): 6}}, "with offsets {('orders', 0): 6}; it is Stable"),
    ({"joined": 1}, "with 1 waiting JoinGroup requests; it is Stable"),
    ({"members": 2, "assigned": True}, "with 2 members with partitions for every member; it is Stable"),
]


def test_what_can_be_waited_for(broker: FakeBroker) -> None:
    """Each condition is met by what is so, and not by what is not; the message shows what is there."""
    a = broker.client("a")
    joining = threading.Thread(target=lambda: (a.join("billing", ["orders"]), a.sync({a.member_id: {"orders": [0]}})))
    joining.start()
    group: GroupHandle = broker.group("billing").wait(assigned=True)
    joining.join()
    a.commit({("orders", 0): 5, ("orders", 1): 6})
    for wanted in MET:
        group.wait(**wanted, timeout_s=0)
    for wanted, message in NOT_MET:
        with pytest.raises(WaitTimeout) as raised:
            group.wait(**wanted, timeout_s=0)
        assert message in str(raised.value)
        assert f"member {a.member_id} of client a: owns {{'orders': [0]}}" in str(raised.value)


@pytest.mark.parametrize("timeout_s", [-1, float("nan"), "5", None, True])
@pytest.mark.parametrize("kind", [FakeBroker, AsyncFakeBroker])
def test_a_time_limit_is_a_number_of_seconds(kind: Callable[[], Any], timeout_s: Any) -> None:
    """Whatever is waited for: the error comes at once."""
    with pytest.raises(
        InvalidArgument, match=f"timeout_s: should be a number of seconds, 0 or more, not {timeout_s!r}"
    ):
        kind().group("billing").wait(members=1, timeout_s=timeout_s)


def test_a_wait_tells_what_happened_since_it_began(broker: FakeBroker) -> None:
    """Transitions before it and since then are distinguished."""
    a = broker.client("a")
    a.join("billing", ["orders"])
    done: list[str] = []

    def wait() -> None:
        try:
            broker.group("billing").wait(members=7, timeout_s=1)
        except WaitTimeout as timeout:
            done.append(str(timeout))

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not broker._waiters:
        broker._call(lambda: None)
    a.sync({a.member_id: {"orders": [1]}})
    waiting.join()
    lines = done[0].splitlines()
    assert [line.partition(":")[0] for line in lines[2:]] == ["  before the wait"] * 2 + ["  since then"]
    assert "CompletingRebalance -> Stable" in lines[-1]


LOOKS: list[Callable[[GroupHandle], Any]] = [
    lambda group: group.holds,
    lambda group: group.hold_joins().waiting,
    lambda group: group.hold_joins().remove(),
]


@pytest.mark.parametrize("look", LOOKS)
def test_a_hold_of_a_group_that_is_not_there_makes_none(look: Callable[[GroupHandle], Any]) -> None:
    """Nor the internal topic."""
    broker = FakeBroker()
    look(broker.group("billing"))
    assert not broker.group("billing").exists
    assert not broker.topic("__consumer_offsets").exists
