"""A broker that stops and comes back in a session does so in the replay and in the scenario."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.scenarios.recording.outages import Outages
from fakebroker.scenarios.recording.replay import LOADING
from fakebroker.scenarios.recording.scenario_file import written
from fakebroker.scenarios.recording.to_scenario import scenario_of
from tests.scenarios.recording.recorded import recorder, replayed, unexplained

REFUSED = "127.0.0.1:9092 cannot be reached: Connection refused"


def _taken(*lines: tuple[str, int, int, str]) -> Outages:
    """Outages of lines: (kind, at_ms, connection, who closes and why)."""
    outages = Outages()
    for number, (kind, at_ms, connection, why) in enumerate(lines, 1):
        by, _, reason = why.partition(": ")
        line: dict[str, Any] = {"at_ms": at_ms, "connection": connection, "node": 1, "by": by, "reason": reason}
        match kind:
            case "connect":
                outages.connected(number, line)
            case "close":
                outages.closed(number, line)
            case _:
                outages.answered(line)
    return outages


def test_a_broker_is_away_from_its_first_close_to_the_connection_that_it_answers() -> None:
    """It closes its connections, refuses others, and then serves one."""
    outages = _taken(
        ("connect", 0, 1, ""),
        ("connect", 0, 2, ""),
        ("close", 500, 1, "upstream: closed by the upstream"),
        ("close", 501, 2, "upstream: closed by the upstream"),
        ("connect", 600, 3, ""),
        ("close", 600, 3, f"upstream: {REFUSED}"),
        ("connect", 900, 4, ""),
        ("answer", 901, 4, ""),
    )

    assert (outages.stops, outages.starts) == ({3: 1}, {7: 1})
    assert outages.times_ms == {3: 500, 7: 900}


def test_a_connection_that_is_closed_is_no_outage() -> None:
    """A Kafka closes idle ones; that of long ago has nothing to do with one that cannot be made."""
    outages = _taken(
        ("connect", 0, 1, ""),
        ("close", 500, 1, "upstream: closed by the upstream"),
        ("connect", 600, 2, ""),
        ("answer", 601, 2, ""),
        ("close", 700, 2, "client: closed by the client"),
    )
    late = _taken(
        ("connect", 0, 1, ""),
        ("close", 500, 1, "upstream: closed by the upstream"),
        ("connect", 9_000, 2, ""),
        ("close", 9_000, 2, f"upstream: {REFUSED}"),
    )

    assert (outages.stops, outages.starts) == ({}, {})
    assert (late.stops, late.starts) == ({4: 1}, {})


@contextmanager
def _broker_with_topic() -> Iterator[FakeBroker]:
    with FakeBroker() as broker:
        broker.create_topic("orders")
        yield broker


@pytest.mark.clients
def test_a_kafka_that_was_restarted_is_restarted_here(tmp_path: Path) -> None:
    """Replayed without a difference; in the scenario the broker stops and starts, and its clients connect again."""
    from confluent_kafka import Producer

    path = tmp_path / "s.jsonl"
    with _broker_with_topic() as broker, recorder(broker.bootstrap, path) as bootstrap:
        options = {"bootstrap.servers": bootstrap, "client.id": "shop", "reconnect.backoff.max.ms": 100}
        producer = Producer(options)
        producer.produce("orders", "before")
        producer.flush(30)
        broker.node(1).stop()
        deadline = time.monotonic() + 30
        while "cannot be reached" not in path.read_text():
            assert time.monotonic() < deadline
            producer.poll(0.05)
        broker.node(1).start()
        producer.produce("orders", "after")
        assert producer.flush(30) == 0

    assert unexplained(path) == []
    result, _ = replayed(path)
    assert LOADING not in result.explained
    made = written(scenario_of(path), path.name)
    assert made.problems == []
    assert "answered otherwise" not in made.text
    words = [line.strip(" -{}").partition(",")[0] for line in made.text.splitlines()]
    assert [word for word in words if word in ("node: stop 1", "node: start 1", "shop: connect")] == [
        "node: stop 1",
        "node: start 1",
        "shop: connect",
    ]
