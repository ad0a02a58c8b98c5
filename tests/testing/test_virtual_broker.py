"""A broker in virtual time: what passes when, and what is the same in every run."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import BrokerStopped, ErrorCode, ExpectationFailed, InvalidArgument, WaitTimeout
from fakebroker.testing.virtual_broker import VirtualBroker

START = datetime(2026, 1, 1, tzinfo=UTC)
SESSION_S = 45
YEARS = 20

STORY = """
from tests.testing.test_virtual_broker import story
print(story())
"""


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    with VirtualBroker() as broker:
        broker.create_topic("orders", partitions=2)
        yield broker


def member(broker: VirtualBroker, name: str = "a") -> ScriptedClient:
    """The only member of a stable group."""
    client = broker.client(name)
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0, 1]}})
    return client


def committed(broker: VirtualBroker) -> list[tuple[str, int, int]]:
    """Topic, partition and offset of what the group has committed."""
    return [(each.topic, each.partition, each.offset) for each in broker.group("billing").committed]


def passed(broker: VirtualBroker) -> timedelta:
    """How far the time of day is from its beginning."""
    return broker.clock.now - START


def test_time_begins_at_the_first_midnight_of_2026(broker: VirtualBroker) -> None:
    """By default."""
    assert broker.clock.now == START
    assert VirtualBroker(start_wall_ms=5000).clock.now_ms == 5000


def test_nothing_passes_while_nobody_lets_it(broker: VirtualBroker) -> None:
    """Requests take no time."""
    for _ in range(100):
        member(broker).leave()
    assert passed(broker) == timedelta(0)


def test_time_passes_for_timers_and_for_the_time_of_day(broker: VirtualBroker) -> None:
    """A member that is silent for its session is gone then, to the millisecond."""
    member(broker)
    broker.pass_time(s=SESSION_S - 1, ms=999)
    assert broker.group("billing").state == "Stable"
    broker.pass_time(ms=1)
    assert broker.group("billing").state == "Empty"
    assert passed(broker) == timedelta(seconds=SESSION_S)


def test_a_wait_takes_as_long_as_what_it_waits_for(broker: VirtualBroker) -> None:
    """And no real time."""
    member(broker)
    begun = time.monotonic()
    broker.group("billing").wait(state="Empty", timeout_s=1000)
    assert passed(broker) == timedelta(seconds=SESSION_S)
    assert time.monotonic() - begun < SESSION_S


def test_a_wait_in_vain_takes_its_time(broker: VirtualBroker) -> None:
    """It raises WaitTimeout with what it saw."""
    member(broker)
    with pytest.raises(WaitTimeout, match="waited 3 s for group billing to be Empty"):
        broker.group("billing").wait(state="Empty", timeout_s=3)
    assert passed(broker) == timedelta(seconds=3)


def test_an_infinite_wait_ends(broker: VirtualBroker) -> None:
    """After a year, in which nothing happened: nothing hangs."""
    with pytest.raises(WaitTimeout):
        broker.wait(lambda: None, float("inf"), lambda: "for nothing")
    assert passed(broker) == timedelta(days=366)


def test_scripted_clients_go_on_in_a_wait(broker: VirtualBroker) -> None:
    """A step that takes several requests, with time between them, is not stopped by who waits."""
    a, b = member(broker), broker.client("b")
    joining = b.start(b.steps.join("billing", ["orders"]))
    broker.fault(api="Heartbeat", delay_s=2)
    beating = a.start(a.steps.heartbeat())
    broker.journal.expect("Heartbeat", error="REBALANCE_IN_PROGRESS").within(s=10)
    assert beating.is_done
    assert not joining.is_done
    a.rejoin()
    assert joining.is_done


def test_a_call_tells_clients_at_once(broker: VirtualBroker) -> None:
    """The answers that a power leads to are there when it returns."""
    hold = broker.group("billing").hold_joins(until_members=2)
    client = broker.client("a")
    joining = client.start(client.steps.join("billing", ["orders"]))
    assert not joining.is_done
    hold.release()
    assert joining.is_done


def test_what_clients_do_may_use_the_powers(broker: VirtualBroker) -> None:
    """They are not called for what comes of that while they act."""
    states = []
    broker.driver.after_delivery.append(lambda: states.append(broker.group("billing").state))
    member(broker)
    broker.pass_time(s=SESSION_S)
    assert states[-1] == "Empty"


@pytest.mark.parametrize(("rate", "seconds"), [(1, 10), (60, 600), (0.5, 5), (1000, 10_000)])
def test_the_time_of_day_goes_at_its_rate(broker: VirtualBroker, rate: float, seconds: int) -> None:
    """While ten seconds pass for everybody."""
    broker.clock.rate = rate
    broker.pass_time(s=10)
    assert passed(broker) == timedelta(seconds=seconds)


def test_a_frozen_time_of_day_stands_while_timers_run(broker: VirtualBroker) -> None:
    """Until it is resumed."""
    member(broker)
    broker.clock.freeze()
    broker.pass_time(s=SESSION_S)
    assert (passed(broker), broker.group("billing").state) == (timedelta(0), "Empty")
    broker.clock.resume()
    broker.pass_time(ms=7)
    assert passed(broker) == timedelta(milliseconds=7)


def test_whole_milliseconds_stay_whole(broker: VirtualBroker) -> None:
    """However often the clock is moved, and over years."""
    due: list[int] = []
    expected_ms = broker.clock.now_ms
    for step in range(2000):
        broker.clock.advance(days=365 * YEARS / 2000, ms=step % 7)
        broker.pass_time(ms=step % 5)
        expected_ms += round(86_400_000 * 365 * YEARS / 2000 + step % 7) + step % 5
        assert broker.clock.now_ms == expected_ms
    timers = broker._engine.cluster.timers
    timers.wall.arm(Deadline(lambda now: due.append(now.wall_ms)), expected_ms + 3)
    timers.mono.arm(Deadline(lambda now: due.append(now.mono_ms)), broker.driver.mono_ms + 5)
    broker.pass_time(ms=10)
    assert due == [expected_ms + 3, broker.driver.mono_ms - 5]


def test_advance_moves_the_time_of_day_alone(broker: VirtualBroker) -> None:
    """Members stay; with `timers` their sessions run out."""
    member(broker)
    broker.clock.advance(days=3)
    assert broker.group("billing").state == "Stable"
    broker.clock.advance(seconds=SESSION_S, timers=True)
    assert broker.group("billing").state == "Empty"


def test_silence_can_be_expected(broker: VirtualBroker) -> None:
    """For a time that passes meanwhile; a request that never should come ends it."""
    client = member(broker)
    broker.journal.expect("SyncGroup").never("LeaveGroup").within(s=4)
    assert passed(broker) == timedelta(seconds=4)
    broker.fault(api="LeaveGroup", delay_s=1)
    client.start(client.steps.leave())
    with pytest.raises(ExpectationFailed, match="never LeaveGroup"):
        broker.journal.expect("SyncGroup").never("LeaveGroup").within(s=4)


def test_time_cannot_pass_inside_of_a_call(broker: VirtualBroker) -> None:
    """Nothing else happens before it is over, as on the thread of a FakeBroker. What is there is found."""
    with pytest.raises(RuntimeError, match="inside"):
        broker._call(lambda: broker.pass_time(ms=1))
    with pytest.raises(RuntimeError, match="inside"):
        broker._call(lambda: broker.wait(lambda: None, 1, lambda: ""))
    with pytest.raises(RuntimeError, match="inside"):
        broker._call(broker.stop)
    assert broker._call(lambda: broker.topic("orders").wait(records=0)) == []


def test_a_fault_may_use_the_powers(broker: VirtualBroker) -> None:
    """Its function runs before the request is applied; time cannot pass in it."""
    client = member(broker)
    broker.fault(api="Heartbeat", times=1, run=lambda _: broker.group("billing").evict("a"))
    assert client.heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    broker.fault(api="Heartbeat", times=1, run=lambda _: broker.pass_time(s=1))
    client.heartbeat()
    (error,) = broker.errors
    broker.errors.clear()
    assert "time cannot pass while the broker works" in str(error)


def test_a_fault_may_reset_the_broker(broker: VirtualBroker) -> None:
    """The client that asked is disconnected, and the next one finds nothing."""
    client = member(broker)
    broker.fault(api="Heartbeat", run=lambda _: broker.reset())
    client.start(client.steps.heartbeat())
    assert broker.topics == []
    broker.create_topic("orders", partitions=2)
    assert member(broker, "c").heartbeat().error_code == 0


def test_errors_of_the_broker_end_its_block() -> None:
    """They are kept, and raised at the end; one that ended the block is not hidden."""

    broker = VirtualBroker()
    with pytest.raises(ValueError, match="a bug"), broker:
        fail_once(broker)
    with pytest.raises(KeyError) as raised, broker:
        fail_once(broker, KeyError("the test's own"))
    assert "internal error" in raised.value.__notes__[0]


def fail_once(broker: VirtualBroker, then: Exception | None = None) -> None:
    """A bug of the broker comes up; perhaps another error follows."""

    def fail(_now: object) -> None:
        raise ValueError("a bug")

    broker._engine.cluster.timers.mono.arm(Deadline(fail), broker.driver.mono_ms + 5)
    broker.pass_time(ms=5)
    assert len(broker.errors) == 1
    if then is not None:
        raise then


def test_a_stopped_broker_starts_again(broker: VirtualBroker) -> None:
    """With its topics and offsets; meanwhile clients are refused, and nothing happens that could be waited for."""
    client = member(broker)
    client.commit({("orders", 0): 7})
    broker.stop()
    broker.stop()
    assert not broker.is_running
    with pytest.raises(ConnectionRefusedError, match="not running"):
        broker.client("b")
    with pytest.raises(BrokerStopped):
        broker.group("billing").wait(state="Dead", timeout_s=1)
    assert broker.topic("orders").exists
    broker.start()
    assert committed(broker) == [("orders", 0, 7)]
    assert broker.client("b").committed("billing").topics[0].partitions[0][:2] == (0, 7)


def test_a_snapshot_forks_in_virtual_time(broker: VirtualBroker) -> None:
    """The same history under another setting; both go on for themselves."""
    broker.group("billing").commit({("orders", 0): 7})
    broker.pass_time(s=5)
    fork = broker.snapshot().virtual_fork(config={"offsets.retention.minutes": 60})
    assert fork.clock.now == broker.clock.now
    for each in (broker, fork):
        each.pass_time(s=7200)
    assert (committed(broker), committed(fork)) == ([("orders", 0, 7)], [])


def test_nodes_have_addresses_of_their_own() -> None:
    """Also one that was added; at no other address anybody listens."""
    broker = VirtualBroker(nodes=2)
    broker.add_node()
    assert broker.bootstrap == "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"
    client = broker.client("a", node_id=3)
    answer = client.request("Metadata", topics=None)
    assert [(each.node_id, each.port) for each in answer.brokers] == [(1, 9092), (2, 9093), (3, 9094)]
    broker.reset()
    assert broker.bootstrap == "127.0.0.1:9092,127.0.0.1:9093"


def test_options_are_checked() -> None:
    """As those of FakeBroker; those about sockets do not exist."""
    with pytest.raises(InvalidArgument, match="nodes: should be a whole number"):
        VirtualBroker(nodes=0)
    with pytest.raises(InvalidArgument, match="before 1970"):
        VirtualBroker(start_wall_ms=-1)
    with pytest.raises(InvalidArgument, match="listen"):
        VirtualBroker(listen="127.0.0.1:9092")  # type: ignore[arg-type]


@pytest.mark.parametrize("amount", [{"ms": -1}, {"s": -0.5}, {"ms": 0.5}, {"s": float("inf")}, {"s": "3"}])
def test_no_impossible_time_passes(broker: VirtualBroker, amount: dict[str, Any]) -> None:
    """What is no time is refused, and what is endless, too."""
    with pytest.raises(InvalidArgument):
        broker.pass_time(**amount)
    assert passed(broker) == timedelta(0)


def story() -> str:
    """All that a broker's journal says after a story with many members, faults, moves and stops."""
    broker = VirtualBroker(nodes=3, seed=11, config={"group.initial.rebalance.delay.ms": 3000})
    broker.create_topic("orders", partitions=3)
    broker.fault(api="Heartbeat", probability=0.3, error="NOT_COORDINATOR")
    broker.fault(api="OffsetCommit", delay_s=0.2, jitter_s=0.2)
    node_id = broker.coordinator("billing").node_id
    clients = [broker.client(name, node_id=node_id) for name in ("a", "b", "c")]
    joins = [client.start(client.steps.join("billing", ["orders"])) for client in clients]
    broker.pass_time(s=7)
    assert all(join.is_done for join in joins)
    leader = next(client for client in clients if client.is_leader)
    leader.sync({each.member_id: {"orders": [place]} for place, each in enumerate(clients)})
    for client in clients:
        client.start(client.steps.commit({("orders", 0): 1}))
        for _ in range(5):
            client.heartbeat()
    broker.coordinator("billing").move(node_id % 3 + 1)
    broker.node(node_id).kill()
    broker.pass_time(s=20)
    broker.clock.advance(days=9)
    return json.dumps(list(broker.journal.rows()), default=str)


def test_the_same_calls_give_the_same_bytes() -> None:
    """In every run and every process: ids, answers, faults and times."""
    first = story()
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    other = subprocess.run(
        [sys.executable, "-c", STORY], capture_output=True, text=True, check=True, env=environment
    ).stdout.rstrip("\n")
    assert len(json.loads(first)) > 50
    assert (story(), other) == (first, first)
