"""Faults as a test sets them: the handle, both kinds of broker, sockets, and what cannot be."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from fakebroker.broker.engine.faults.actions import ACTIONS
from fakebroker.broker.engine.faults.fields import FIELDS
from fakebroker.protocol.errors import InvalidArgument, UnknownThing, WaitTimeout
from fakebroker.testing.broker import AsyncFakeBroker, FakeBroker
from fakebroker.testing.handles.broker_control import BrokerControl
from fakebroker.testing.reflection.members import members_of
from fakebroker.types import FaultAction
from tests.support.frames import frames, request


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as running:
        yield running


def connected(broker: FakeBroker | AsyncFakeBroker) -> socket.socket:
    return socket.create_connection(("127.0.0.1", broker.listeners[0].port), timeout=10)


def all_of(client: socket.socket) -> bytes:
    """Everything until the end; a reset raises ConnectionResetError."""
    data = b""
    while piece := client.recv(1000):
        data += piece
    return data


HEARTBEAT = request("Heartbeat", 3, group_id="g")


def test_the_method_takes_the_fields_of_the_declaration() -> None:
    """What `broker.fault` takes is read from the one declaration of the fields, in its order; all may be left out."""
    taken = members_of(BrokerControl)["fault"].parameters

    assert [each.name for each in taken] == list(FIELDS)
    assert {each.default for each in taken} == {None}


def test_a_fault_is_counted_listed_and_removed(broker: FakeBroker) -> None:
    """The handle says what it is, how often it hit, and what it counted after it is gone."""
    first = broker.fault(api="Heartbeat", group="g", error="NOT_COORDINATOR", times=2)
    second = broker.fault(api="Fetch", action="truncate", bytes=11)
    with closing(connected(broker)) as client:
        client.sendall(HEARTBEAT * 3)
        first.wait(hits=2)
    assert [one.fault_id for one in broker.faults] == [first.fault_id, second.fault_id] == [1, 2]
    assert repr(first) == "<fault 1 (Heartbeat, group g: error NOT_COORDINATOR, times 2), 2 hits, exhausted>"
    assert second.description == "Fetch: truncate, bytes 11"
    assert second.fields == {"api": "Fetch", "action": "truncate", "bytes": 11}
    assert broker.fault_by_id(2).description == second.description

    first.remove()
    first.remove()
    assert (first.is_set, second.is_set, first.hits) == (False, True, 2)
    broker.clear_faults()
    assert broker.faults == []
    with pytest.raises(UnknownThing, match="there is no fault 2: none is set"):
        broker.fault_by_id(2)


def test_a_fault_that_can_hit_no_more_says_so(broker: FakeBroker) -> None:
    """It is exhausted when `times` are used up or the `nth` request has come, and still set."""
    twice = broker.fault(api="Heartbeat", error="NOT_COORDINATOR", times=2)
    third = broker.fault(api="Heartbeat", throttle_ms=1, nth=3)
    always = broker.fault(api="Heartbeat", throttle_ms=2)
    assert (twice.is_exhausted, third.is_exhausted, always.is_exhausted) == (False, False, False)
    with closing(connected(broker)) as client:
        client.sendall(HEARTBEAT * 3)
        always.wait(hits=3)
    assert (twice.is_exhausted, third.is_exhausted, always.is_exhausted) == (True, True, False)
    assert (twice.is_set, third.is_set) == (True, True)


def test_a_fault_ends_with_its_block_and_with_reset(broker: FakeBroker) -> None:
    """`with` removes one, also when the block raises; `reset` removes all."""
    with pytest.raises(KeyError), broker.fault(api="Heartbeat", delay_s=1) as fault:
        raise KeyError
    assert not fault.is_set
    left = broker.fault(api="Heartbeat", delay_s=1)
    broker.reset()
    assert broker.faults == []
    assert not left.is_set
    left.remove()


def test_a_wait_says_what_it_saw(broker: FakeBroker) -> None:
    """The hits, and how many requests matched."""
    fault = broker.fault(api="Heartbeat", nth=2, delay_s=0)
    with closing(connected(broker)) as client:
        client.sendall(HEARTBEAT)
        client.recv(100)
    with pytest.raises(WaitTimeout, match=r"for 1 hits of fault 1 \(.*\): it has 0, and 1 requests matched"):
        fault.wait(timeout_s=0.01)
    with pytest.raises(InvalidArgument, match="hits: should be a whole number, 1 or more, not 0"):
        fault.wait(hits=0)


def test_an_async_broker_has_faults() -> None:
    """Its wait is awaited."""

    async def run() -> int:
        async with AsyncFakeBroker() as broker:
            with broker.fault(api="Heartbeat", action="disconnect") as fault:
                reader, writer = await asyncio.open_connection("127.0.0.1", broker.listeners[0].port)
                writer.write(HEARTBEAT)
                hits: int = await fault.wait(hits=1)
                assert await reader.read() == b""
                writer.close()
            return hits

    assert asyncio.run(run()) == 1


def test_half_an_answer_arrives_before_the_reset(broker: FakeBroker) -> None:
    """The bytes are there, then reading fails; a new connection is served."""
    broker.fault(api="Heartbeat", action="truncate", bytes=11, times=1)
    with closing(connected(broker)) as client:
        client.sendall(HEARTBEAT)
        assert len(client.recv(100)) == 11
        with pytest.raises(ConnectionResetError):
            client.recv(100)
    with closing(connected(broker)) as client:
        client.sendall(HEARTBEAT)
        assert len(frames(client.recv(100))) == 1


def test_a_stalled_connection_is_not_read(broker: FakeBroker) -> None:
    """What the client sends stays in its socket, while others are served."""
    broker.fault(api="Heartbeat", action="stall-reading", for_s=1000, times=1)
    with closing(connected(broker)) as client, closing(connected(broker)) as other:
        client.sendall(HEARTBEAT)
        assert len(frames(client.recv(100))) == 1
        [stalled] = broker._call(lambda: [one for one in broker._engine.connections.values() if one.is_stalled])
        client.sendall(HEARTBEAT * 100)
        other.sendall(HEARTBEAT)
        assert len(frames(other.recv(100))) == 1
        assert broker._call(lambda: stalled.waiting_bytes) == 0


def test_a_stalled_connection_is_read_again(broker: FakeBroker) -> None:
    """When the time is over, what the client sent meanwhile is served."""
    broker.fault(api="Heartbeat", action="stall-reading", for_s=0.05, times=1)
    with closing(connected(broker)) as client:
        for _ in range(2):
            client.sendall(HEARTBEAT)
            assert len(frames(client.recv(100))) == 1


def test_a_function_of_a_fault_has_all_powers(broker: FakeBroker) -> None:
    """It runs on the broker's thread, between requests: it may create topics and move the clock, but not wait."""
    broker.fault(api="Heartbeat", nth=1, run=lambda _asked: broker.create_topic("made"))
    broker.fault(api="Heartbeat", nth=2, run=lambda _asked: broker.clock.advance(days=8))
    before = broker.clock.now
    with closing(connected(broker)) as client:
        for _ in range(2):
            client.sendall(HEARTBEAT)
            assert len(frames(client.recv(100))) == 1

    assert broker.topic("made").partitions == 1
    assert (broker.clock.now - before).days == 8


def test_a_node_that_is_added_later_has_the_faults_too(broker: FakeBroker) -> None:
    """And a fault of one node leaves the other alone."""
    everywhere = broker.fault(api="Heartbeat", throttle_ms=5)
    broker.add_node()
    there = broker.fault(api="Heartbeat", node=2, throttle_ms=5)
    for listener in broker.listeners:
        with closing(socket.create_connection(("127.0.0.1", listener.port), timeout=10)) as client:
            client.sendall(HEARTBEAT)
            client.recv(100)

    assert (everywhere.hits, there.hits) == (2, 1)


def test_the_story_tells_of_hits(broker: FakeBroker) -> None:
    """Whoever reads why a test failed sees what the test let go wrong."""
    broker.fault(api="Heartbeat", error="NOT_COORDINATOR")
    with closing(connected(broker)) as client:
        client.sendall(HEARTBEAT)
        client.recv(100)

    assert "Heartbeat v3 of test: hit by fault 1 (Heartbeat: error NOT_COORDINATOR)" in broker.story()


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"apii": "Fetch", "delay_s": 1}, "apii", "did you mean 'api'?"),
    ({"api": "OffsetComit", "delay_s": 1}, "api", "did you mean 'OffsetCommit'"),
    ({"api": "Fetch|Nope", "delay_s": 1}, "api", "no API 'Nope'"),
    ({"api": "X*", "delay_s": 1}, "api", r"no API 'X\*'"),
    ({"api": "", "delay_s": 1}, "api", "is empty"),
    ({"api": 1, "delay_s": 1}, "api", "a text"),
    ({"api": "Envelope", "delay_s": 1}, "api", "served here"),
    ({"version": "5-3", "delay_s": 1}, "version", "a range of them such as"),
    ({"version": "99", "api": "Fetch", "delay_s": 1}, "version", "Fetch v4 to v18"),
    ({"version": 1.5, "delay_s": 1}, "version", "a range of them such as"),
    ({"node": 9, "delay_s": 1}, "node", "there is no node 9, only 1"),
    ({"partition": -1, "delay_s": 1}, "partition", "from 0"),
    ({"api": "Heartbeat", "topic": "t", "delay_s": 1}, "topic", "have no topic; requests of Produce"),
    ({"api": "Fetch", "group": "g", "delay_s": 1}, "group", "have no group"),
    ({"api": "Fetch", "transactional_id": "g", "delay_s": 1}, "transactional_id", "have no transactional_id"),
    ({"principal": "User:bob", "delay_s": 1}, "principal", "every client is User:ANONYMOUS"),
    ({"topic": "[z-a]*", "delay_s": 1}, "topic", "an empty range of characters"),
    ({"topic": "[" * 1_000_000, "delay_s": 1}, "topic", "1,000,000 characters, more than 1,000"),
    ({"api": "F*|" * 1_000_000, "delay_s": 1}, "api", "3,000,000 characters, more than 1,000"),
    ({"nth": 0, "delay_s": 1}, "nth", "from 1"),
    ({"nth": True, "delay_s": 1}, "nth", "from 1"),
    ({"nth": 1, "every": 2, "delay_s": 1}, "every", "mutually exclusive"),
    ({"nth": 1, "times": 2, "delay_s": 1}, "times", "one request"),
    ({"probability": 0, "delay_s": 1}, "probability", "above 0, at most 1"),
    ({"when": "x", "delay_s": 1}, "when", "a function"),
    ({"run": 3}, "run", "a function"),
    ({}, "action", "must say what happens"),
    ({"api": "Fetch", "after": "applied"}, "action", "must say what happens"),
    ({"error": "NOT_A_COORDINATOR"}, "error", "did you mean 'NOT_COORDINATOR'"),
    ({"error": 9999}, "error", "there is no 9999"),
    ({"error": "NONE"}, "error", "one of Kafka's errors"),
    ({"action": "disconect"}, "action", "did you mean 'disconnect'"),
    ({"action": "disconnect", "error": "NOT_COORDINATOR"}, "error", "sends no answer"),
    ({"action": "drop-answer", "throttle_ms": 1}, "throttle_ms", "sends no answer"),
    ({"action": "truncate"}, "bytes", "needs bytes"),
    ({"action": "slow"}, "bytes_per_s", "needs bytes_per_s"),
    ({"action": "slow", "bytes_per_s": 0}, "bytes_per_s", "from 1"),
    ({"action": "stall-reading"}, "for_s", "needs for_s"),
    ({"action": "disconnect", "bytes": 3}, "bytes", "belongs to action='truncate'"),
    ({"action": "truncate", "bytes": 3, "after": "received"}, "after", "must be 'applied'"),
    ({"throttle_ms": 3, "after": "applied"}, "after", "cannot be used with throttle_ms"),
    ({"delay_s": 1, "after": "before"}, "after", "received"),
    ({"delay_s": -1}, "delay_s", "a number of seconds from 0 to"),
    ({"delay_s": float("nan")}, "delay_s", "a finite number"),
    ({"delay_s": "2"}, "delay_s", "a number of seconds from 0 to"),
    ({"jitter_s": float("inf")}, "jitter_s", "a finite number"),
]


@pytest.mark.parametrize(("fields", "field", "text"), WRONG)
def test_what_cannot_be_is_refused_by_name(fields: dict[str, Any], field: str, text: str) -> None:
    """Field, value and what would be right; nothing is set."""
    resting = FakeBroker()
    with pytest.raises(InvalidArgument, match=text) as raised:
        resting.fault(**fields)

    assert (raised.value.field, raised.value.value) == (field, pytest.approx(fields.get(field), nan_ok=True))
    assert resting.faults == []


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_can_be_set_with_what_it_needs(action: FaultAction) -> None:
    """Nothing but its own fields is needed."""
    values = {"bytes": 1, "bytes_per_s": 1, "for_s": 1}
    fields: dict[str, Any] = {name: values[name] for name in ACTIONS[action].needs}

    assert action in repr(FakeBroker().fault(action=action, **fields))
