"""Metrics are read from what clients push."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.telemetry.otlp import MAX_FIELDS, MetricPoint, read_metrics
from fakebroker.protocol.errors import WireError
from tests.support.pushed_metrics import delta_sum, field, gauge, point, pushed

TIME_MS = 1_700_000_000_000


def test_gauges_and_sums_with_their_attributes() -> None:
    """Those of the resource come with every point."""
    payload = pushed(
        gauge("org.apache.kafka.producer.record.queue", point(2.5, {"topic": "t"}), point(3)),
        delta_sum("org.apache.kafka.producer.record.total", point(7)),
        resource={"client_rack": "a"},
    )

    assert read_metrics(payload) == [
        MetricPoint(
            "org.apache.kafka.producer.record.queue", "gauge", 2.5, False, {"client_rack": "a", "topic": "t"}, TIME_MS
        ),
        MetricPoint("org.apache.kafka.producer.record.queue", "gauge", 3, False, {"client_rack": "a"}, TIME_MS),
        MetricPoint("org.apache.kafka.producer.record.total", "sum", 7, True, {"client_rack": "a"}, TIME_MS),
    ]


def test_nothing_and_what_is_not_known() -> None:
    """Other fields and kinds of metrics are passed over."""
    assert read_metrics(b"") == []
    histogram = field(1, b"name") + field(9, b"")
    assert read_metrics(pushed(histogram) + field(15, b"future")) == []


@pytest.mark.parametrize(
    "payload",
    [b"garbage", bytes([1 << 3 | 2, 200, 1]), bytes([1 << 3, 5]), b"\xff" * 30, field(1, field(2, field(2, b"\x0b")))],
)
def test_what_is_no_such_protobuf_is_reported(payload: bytes) -> None:
    """Unknown wire types, lengths beyond the end, numbers in the place of messages, numbers without an end."""
    with pytest.raises(WireError):
        read_metrics(payload)


@given(st.binary(max_size=200), st.integers(0, 100))
def test_any_bytes_are_metrics_or_reported(noise: bytes, place: int) -> None:
    """Nothing else is raised."""
    payload = pushed(gauge("n", point(1.5, {"a": "b"})))
    with suppress(WireError):
        read_metrics(noise)
    with suppress(WireError):
        read_metrics(payload[:place] + noise + payload[place:])


def test_a_point_without_a_number_is_none() -> None:
    """As OpenTelemetry has it for what was not recorded; it has two bytes, and millions of them take as many as one."""
    assert [each.value for each in read_metrics(pushed(gauge("n", b"", point(1), b"")))] == [1]


MANY = {
    "points": pushed(gauge("n", *[b""] * MAX_FIELDS)),
    "metrics": pushed(*[b""] * MAX_FIELDS),
    "attributes": pushed(gauge("n", point(1)), resource={f"{n}": "" for n in range(MAX_FIELDS // 4)}),
    "attributes of points": pushed(gauge("n", *[point(1)] * 1000), resource={f"{n}": "" for n in range(100)}),
    "unknown fields": bytes([15 << 3, 0]) * (MAX_FIELDS + 1),
    "resources": pushed() * MAX_FIELDS,
}


@pytest.mark.parametrize("what", MANY)
def test_very_many_fields_are_not_read(what: str) -> None:
    """Whatever it is of which there is so much, a push takes no longer than it takes to read so many fields."""
    with pytest.raises(WireError, match="more than 100000 fields"):
        read_metrics(MANY[what])
