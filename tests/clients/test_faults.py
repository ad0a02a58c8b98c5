"""Real clients and the faults of the target experience: what they meet, and how they get over it."""

import time
from typing import Any

import pytest

from fakebroker import FakeBroker
from tests.support.librdkafka import close

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]


def confluent_consumer(broker: FakeBroker, **config: Any) -> Any:
    import confluent_kafka

    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "billing",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "client.id": "svc-1",
        **config,
    }
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe(["orders"])
    return consumer


def read(consumer: Any, count: int) -> list[bytes]:
    """So many records."""
    values: list[bytes] = []
    for _ in range(300):
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            values.append(message.value())
        if len(values) == count:
            return values
    raise AssertionError(f"read {values}")


@pytest.fixture
def orders(fakebroker: FakeBroker) -> FakeBroker:
    fakebroker.create_topic("orders").produce("one", "two", "three")
    return fakebroker


def test_librdkafka_looks_for_another_coordinator(orders: FakeBroker) -> None:
    """A synchronous commit is tried again until it is applied: FindCoordinator need not wait long for a Fetch."""
    consumer = confluent_consumer(orders)
    read(consumer, 3)
    fault = orders.fault(api="OffsetCommit", group="billing", error="NOT_COORDINATOR", times=2)
    consumer.commit(asynchronous=False)
    close(consumer)

    assert fault.hits == 2
    assert orders.group("billing").offsets == {("orders", 0): 3}


def test_a_commit_is_done_but_the_client_never_learns_it(orders: FakeBroker) -> None:
    """The connection is closed in place of the answer: the offset is there, and the client commits again or fails."""
    consumer = confluent_consumer(orders)
    read(consumer, 3)
    with orders.fault(api="OffsetCommit", after="applied", action="disconnect", times=1) as fault:
        consumer.commit(asynchronous=True)
        fault.wait(hits=1)
        assert orders.group("billing").offsets == {("orders", 0): 3}
        read_nothing = consumer.poll(0.5)
    assert read_nothing is None or read_nothing.error() is not None
    close(consumer)
    assert fault.hits == 1
    assert not fault.is_set


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_lost_answer_is_got_over_at_default_settings(orders: FakeBroker, protocol: str) -> None:
    """A synchronous commit takes a tenth of a second, not the session's 45: polls end soon in the test profile."""
    consumer = confluent_consumer(orders, **{"group.protocol": protocol})
    read(consumer, 3)
    orders.fault(api="OffsetCommit", after="applied", action="disconnect", times=1)
    began_s = time.monotonic()
    consumer.commit(asynchronous=False)
    took_s = time.monotonic() - began_s
    close(consumer)

    assert took_s < 4
    assert orders.group("billing").offsets == {("orders", 0): 3}


def test_half_an_answer_and_a_reset_make_the_client_fetch_again(orders: FakeBroker) -> None:
    """Every record is read once."""
    fault = orders.fault(api="Fetch", action="truncate", bytes=11, times=2)
    consumer = confluent_consumer(orders)

    assert read(consumer, 3) == [b"one", b"two", b"three"]
    assert fault.hits == 2
    close(consumer)


def test_heartbeats_are_late_by_chance(orders: FakeBroker) -> None:
    """The member stays in the group all the same."""
    fault = orders.fault(api="Heartbeat", client_id="svc-*", delay_s=0.1, jitter_s=0.05, probability=0.9)
    consumer = confluent_consumer(orders, **{"heartbeat.interval.ms": 100})
    read(consumer, 3)
    fault.wait(hits=3)
    consumer.poll(0.1)

    assert orders.group("billing").state == "Stable"
    close(consumer)


def test_kafka_python_reads_on_after_a_lost_answer(orders: FakeBroker) -> None:
    """An answer that never comes: the client gives up after its request timeout, connects and asks again."""
    from kafka import KafkaConsumer

    fault = orders.fault(api="Fetch", action="drop-answer", nth=1)
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=orders.bootstrap,
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        request_timeout_ms=1500,
        session_timeout_ms=1000,
        heartbeat_interval_ms=300,
        max_poll_interval_ms=1400,
        consumer_timeout_ms=20_000,
    )
    values = [next(consumer).value for _ in range(3)]
    consumer.close()

    assert values == [b"one", b"two", b"three"]
    assert fault.hits == 1


def test_kafka_python_looks_for_another_coordinator(orders: FakeBroker) -> None:
    """A synchronous commit is tried again until it is applied."""
    from kafka import KafkaConsumer

    fault = orders.fault(api="OffsetCommit", group="billing", error="NOT_COORDINATOR", times=2)
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=orders.bootstrap,
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=20_000,
    )
    for _ in range(3):
        next(consumer)
    consumer.commit()
    consumer.close()

    assert fault.hits == 2
    assert orders.group("billing").offsets == {("orders", 0): 3}
