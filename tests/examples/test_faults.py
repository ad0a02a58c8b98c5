"""Faults: what goes wrong with a client's requests when the test says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from fakebroker import FakeBroker, InvalidArgument
from tests.examples.consumers import consumer, read

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]  # of libraries at import


@contextmanager
def kafka_python_consumer(bootstrap: str, group: str, topic: str) -> Iterator[Any]:
    """A consumer of kafka-python, closed at the end; librdkafka needs seconds to send a refused commit again."""
    made = import_module("kafka").KafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False
    )
    try:
        assert made.poll(timeout_ms=10_000, max_records=1)
        yield made
    finally:
        made.close()


def test_a_coordinator_that_refuses_twice(fakebroker: FakeBroker) -> None:
    """The commit is refused twice with NOT_COORDINATOR, the client looks for its coordinator again and succeeds."""
    fakebroker.create_topic("orders").produce("first")
    fault = fakebroker.fault(api="OffsetCommit", group="billing", error="NOT_COORDINATOR", times=2)

    with kafka_python_consumer(fakebroker.bootstrap, "billing", "orders") as billing:
        billing.commit()

        assert fault.wait(hits=1)
        assert fault.hits == 2
        assert fakebroker.group("billing").offsets == {("orders", 0): 1}
    fault.remove()
    assert fakebroker.faults == []


def test_slow_heartbeats_of_some_clients(fakebroker: FakeBroker) -> None:
    """Delay and jitter for a part of the heartbeats of clients by a pattern of names; the others go on."""
    fault = fakebroker.fault(api="Heartbeat", client_id="svc-*", delay_s=2, jitter_s=0.5, probability=0.3)

    fakebroker.create_topic("orders").produce("first")
    with consumer(fakebroker.bootstrap, "billing", "orders", client_id="other-1") as billing:
        read(billing, 1)
        fakebroker.journal.expect("Heartbeat", error="NONE").within(s=5)

    assert fault.matched == 0


def test_a_commit_whose_answer_is_lost(fakebroker: FakeBroker) -> None:
    """The commit is applied and the connection ends before its answer: done, but the client never learns it."""
    fakebroker.create_topic("orders").produce("first")
    with (
        fakebroker.fault(api="OffsetCommit", after="applied", action="disconnect", times=1) as fault,
        kafka_python_consumer(fakebroker.bootstrap, "billing", "orders") as billing,
    ):
        billing.commit_async()
        for _ in range(50):
            billing.poll(timeout_ms=50)
            if fault.hits:
                break

        assert fault.hits == 1
        assert fakebroker.group("billing").offsets == {("orders", 0): 1}


def test_half_an_answer_then_a_reset(fakebroker: FakeBroker) -> None:
    """A Fetch answer is cut after 11 bytes and the connection reset: the client fetches again and loses nothing."""
    fakebroker.create_topic("orders").produce("first", "second")
    fault = fakebroker.fault(api="Fetch", action="truncate", bytes=11, times=1)

    with consumer(fakebroker.bootstrap, "billing", "orders") as billing:
        assert read(billing, 2) == [b"first", b"second"]

    assert fault.hits == 1


def test_a_misspelt_field_names_the_right_one(fakebroker: FakeBroker) -> None:
    """Neither a wrong field nor a wrong name is taken silently."""
    with pytest.raises(InvalidArgument, match="client_id"):
        fakebroker.fault(api="OffsetCommit", clientid="a", error="NOT_COORDINATOR")  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match="OffsetCommit"):
        fakebroker.fault(api="OffsetComit", error="NOT_COORDINATOR")
    with pytest.raises(InvalidArgument, match="NOT_COORDINATOR"):
        fakebroker.fault(api="OffsetCommit", error="NOT_CORDINATOR")
