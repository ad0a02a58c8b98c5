"""A history read live from a Kafka is the one in its segments."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fakebroker.analysis.history.decode import decode_all
from fakebroker.analysis.history.live import live_ends, read_live
from fakebroker.analysis.history.reading import read_history
from fakebroker.client.security import ClientConfig
from tests.support.published import row_differences
from tests.support.real_kafka import RealKafka, needs_real_kafka, start_kafka

__all__ = ["start_kafka"]

pytestmark = [*needs_real_kafka, pytest.mark.slow, pytest.mark.clients]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of kafka-python, when it is imported
def test_it_reads_what_stands_in_the_segments(start_kafka: Callable[[Mapping[str, object]], RealKafka]) -> None:
    """Groups of every kind, committed, aborted and open transactions with their markers: all come by Fetch, too."""
    from tests.support.offsets_traffic import SETTINGS, make_traffic

    kafka = start_kafka(SETTINGS)
    make_traffic(kafka)
    live = list(decode_all(read_live(ClientConfig(kafka.bootstrap), "west")))
    files = list(read_history([kafka.folder / "data"], source="west"))

    assert row_differences(map(_elsewhere, files), map(_elsewhere, live)) == []
    assert {row["kind"] for row in live if row["what"] == "record"} >= {"commit", "abort", "GroupMetadata"}
    committed = {(row["topic"], row["partition"]) for row in live if row["what"] == "commit"}
    ends = live_ends(ClientConfig(kafka.bootstrap), committed, source="west", at_ms=1)
    assert ends
    assert all(row["log_start_offset"] <= row["log_end_offset"] for row in ends)


def _elsewhere(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("file", "position")}
