"""The coordinator's life from a test's point of view: moving it, loading it, breaking its log."""

import pytest

from fakebroker import FakeBroker
from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from fakebroker.protocol.records.offsets_codec import offset_key
from tests.support.eventually import eventually
from tests.support.moved_coordinators import AT_ONCE, make_loads_small

GROUP = "billing"
LOG = "__consumer_offsets"


@pytest.mark.rules("ST-14", "LD-1", "CLU-31")
def test_move_with_parked_requests() -> None:
    """A parked JoinGroup gets 16 when the coordinator moves; the new one has what the log says."""
    with FakeBroker(nodes=2) as broker:
        broker.create_topic("orders")
        broker.coordinator(GROUP).move(to=1)
        leader, newcomer = broker.client("a"), broker.client("b", {"JoinGroup": 3})
        leader.join(GROUP, ["orders"])
        leader.sync({leader.member_id: {"orders": [0]}})
        leader.commit({("orders", 0): 42})
        parked = newcomer.start(newcomer.steps.join(GROUP, ["orders"]))
        broker.group(GROUP).wait(state="PreparingRebalance", members=2)

        broker.coordinator(GROUP).move(to=2)

        assert parked.result().error_code == ErrorCode.NOT_COORDINATOR
        assert leader.heartbeat().error_code == ErrorCode.NOT_COORDINATOR
        assert broker.coordinator(GROUP).node_id == 2
        assert broker.group(GROUP).offsets == {("orders", 0): 42}
        assert [member.member_id for member in broker.group(GROUP).members] == [leader.member_id]


@pytest.mark.rules("LD-5", "LD-6")
def test_break_the_log_and_load() -> None:
    """An unreadable record makes the next load fail; a load after it is gone brings the groups back."""
    with FakeBroker() as broker:
        broker.create_topic("orders")
        client = broker.client()
        client.commit({("orders", 0): 42}, group_id=GROUP)
        coordinator, log = broker.coordinator(GROUP), broker.topic(LOG)
        key = offset_key(GROUP, "orders", 0)
        at = log.produce(b"\0\x63?", key=key, partition=coordinator.partition)

        coordinator.load()
        assert client.committed(GROUP).error_code == ErrorCode.NOT_COORDINATOR
        assert "failed by node 1: __consumer_offsets" in broker.story()

        log.truncate(at, partition=coordinator.partition)
        coordinator.load(for_s=3600)
        assert client.committed(GROUP).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        broker.clock.advance(hours=1, timers=True)
        assert broker.group(GROUP).offsets == {("orders", 0): 42}


@pytest.mark.rules("LD-6", "CLU-31")
def test_a_long_load_needs_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker with sockets goes on with it by itself; `move` does not wait for it."""
    make_loads_small(monkeypatch)
    with FakeBroker(nodes=2) as broker:
        broker.create_topic("orders")
        broker.coordinator(GROUP).move(to=1)
        for offset in range(5 * AT_ONCE):
            broker.client().commit({("orders", 0): offset}, group_id=GROUP)
        broker.coordinator(GROUP).move(to=2)

        eventually(lambda: [group.group_id for group in broker.groups] == [GROUP])

        assert broker.coordinator(GROUP).node_id == 2
        assert broker.group(GROUP).offsets == {("orders", 0): 5 * AT_ONCE - 1}


@pytest.mark.rules("DR-6")
def test_an_unknown_dialect() -> None:
    """It is refused when the broker is made, with the names there are."""
    with pytest.raises(FakebrokerError, match=r"no dialect 'kip-18'; there are: kip-17"):
        FakeBroker(listen="dialect=kip-18,127.0.0.1:0")
