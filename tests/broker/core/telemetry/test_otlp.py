"""Metrics are read from what clients push."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.telemetry.otlp import MetricPoint, read_metrics
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
