"""Our decoder and Kafka's own `DumpLogSegments --offsets-decoder` say the same of every record, field for field.

The segments in tests/data/history are made by tools/offsets_segments.py.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fakebroker import FakeBroker
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.history.reading import files_of, read_file, read_history
from fakebroker.analysis.pipeline.contract import FIRST_TIME_MS, LAST_TIME_MS
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_types import RECORD_TYPES
from tests.analysis.history.samples import AT_MS, segment
from tests.protocol.schema.strategies import messages
from tests.support.dump_log_segments import Dumped, as_dumped, dump
from tests.support.real_kafka import JARS, RealKafka, needs_real_kafka, start_kafka, why_no_kafka
from tests.support.tables_made import Row, commits

MakeBroker = Callable[..., FakeBroker]

__all__ = ["start_kafka"]

KAFKA_4_3_1 = Path(__file__).resolve().parents[2] / "data" / "history" / "kafka-4.3.1"

# Kafka 4.3 writes all types but the one of the oldest releases and the one that later ones replaced by a hash.
WRITTEN = RECORD_TYPES.keys() - {0, 4}


def ours(folder: Path) -> list[Dumped]:
    """Our word on every record in a data directory."""
    found = [record for file in files_of([folder]) for record in read_file(file.kind, file.of_log("real"))]
    records = [record for record in found if isinstance(record, LogRecord)]
    assert len(records) == len(found)
    return [as_dumped(record) for record in records]


def types_in(dumped: list[Dumped]) -> set[int]:
    return {int(each["key"]["type"]) for each in dumped if each["key"]}


def test_segments_of_a_real_kafka() -> None:
    """Segments that a Kafka 4.3.1 wrote, with every type of record that it writes, and what its tool said of them."""
    dumped = [json.loads(line) for line in (KAFKA_4_3_1 / "dump.jsonl").read_text().splitlines()]

    assert types_in(dumped) == WRITTEN
    assert ours(KAFKA_4_3_1) == dumped


def test_transactions_of_a_real_kafka() -> None:
    """In these segments two producers have committed twice each, one has aborted twice, one is open."""
    rows = commits(list(read_history([KAFKA_4_3_1])), [])
    outcomes = [(row["metadata"].rstrip("\0"), row["outcome"]) for row in rows if row["transactional"]]

    assert sorted(outcomes) == [("abort", "aborted")] * 2 + [("commit", "committed")] * 4 + [("open", "open")]
    assert all(
        (row["applied_log_offset"] or 0) > row["log_offset"]
        for row in rows
        if row["transactional"] and row["applied_at"]
    )


@pytest.mark.slow
@pytest.mark.clients
class TestARunningKafka:
    """Against a Kafka that runs here."""

    pytestmark = needs_real_kafka

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of kafka-python, when it is imported
    def test_what_it_writes(self, start_kafka: Callable[[Mapping[str, object]], RealKafka]) -> None:
        """Groups of every kind, transactions and deletions: each record in its segments is read as Kafka reads it."""
        from tests.support.offsets_traffic import SETTINGS, make_traffic

        kafka = start_kafka(SETTINGS)
        make_traffic(kafka)
        data = kafka.folder / "data"
        dumped = dump([file.path for file in files_of([data])])

        assert types_in(dumped) == WRITTEN
        assert ours(data) == dumped
        left = committed_offsets(commits(list(read_history([data])), []))
        assert {group_id: fetched(kafka, group_id) for group_id in left} == left

    @settings(max_examples=5, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_what_we_write(self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
        """Records of every type and version, and cut ones: Kafka reads them as we do, or neither can read them."""
        pairs = [data.draw(pairs_of(number)) for number in RECORD_TYPES]
        records = [Record(n, AT_MS + n, key, value) for n, (key, value) in enumerate(pairs)]
        folder = tmp_path_factory.mktemp("made")
        path = segment(folder, build_batch(records, codec=data.draw(st.sampled_from([0, 1, 2, 3, 4]))))

        differing = [(kafka, us) for kafka, us in zip(dump([path]), ours(folder), strict=True) if alike(kafka) != us]

        assert str(differing[:1])[:2000] == "[]"


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.java
@pytest.mark.timeout(300)
@pytest.mark.skipif(
    shutil.which("java") is None or not list(JARS.glob("kafka-tools-*.jar")), reason=str(why_no_kafka())
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of kafka-python, when it is imported
@pytest.mark.rules("CGB-1", "CGB-2", "CGB-3", "CGB-5", "CGB-6", "CGB-7", "SGB-1", "STB-1", "STB-2", "STB-3")
def test_what_our_broker_writes(fakebroker_factory: MakeBroker, tmp_path: Path) -> None:
    """The traffic that Kafka gets above: records of the same types, each of which Kafka's tool reads as we do."""
    from tests.support.offsets_traffic import SETTINGS, make_traffic

    broker = fakebroker_factory(config=SETTINGS)
    host, port = broker.bootstrap.split(":")
    make_traffic(RealKafka(host, int(port), tmp_path))
    paths = write_segments(broker.client("reader"), tmp_path)
    dumped = dump(paths)

    assert types_in(dumped) == WRITTEN
    assert ours(tmp_path) == dumped


def write_segments(client: ScriptedClient, folder: Path) -> list[Path]:
    """The partitions of a broker's `__consumer_offsets`, unless they are empty, as segments in a data directory."""
    paths = []
    for index in range(len(client.describe_topic("__consumer_offsets").topics[0].partitions)):
        asked = {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1 << 30}
        topics = [{"topic": "__consumer_offsets", "partitions": [asked]}]
        answer = client.request("Fetch", 11, max_wait_ms=0, min_bytes=0, max_bytes=1 << 30, topics=topics)
        records = answer.responses[0].partitions[0].records
        if records:
            paths.append(segment(folder, bytes(records), partition=index))
    return paths


Offsets = dict[tuple[str, int], int]


def committed_offsets(rows: list[Row]) -> dict[str, Offsets]:
    """What is committed in the end: of each key the last commit that took effect, unless it is a tombstone."""
    last: dict[tuple[str, str, int], int | None] = {}
    for row in sorted((row for row in rows if row["applied_log_offset"] is not None), key=_applied):
        last[row["group_id"], row["topic"], row["partition"]] = row["committed_offset"]
    left: dict[str, Offsets] = {group_id: {} for group_id, _, _ in last}
    for (group_id, topic, partition), offset in last.items():
        if offset is not None:
            left[group_id][topic, partition] = offset
    return left


def _applied(row: Row) -> tuple[int, int]:
    return row["applied_log_offset"], row["log_offset"]


def fetched(kafka: RealKafka, group_id: str) -> Offsets:
    """What Kafka says is committed for a group; the offset of an open transaction is none."""
    from confluent_kafka import ConsumerGroupTopicPartitions
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    (asked,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group_id)]).values()
    partitions = asked.result(60).topic_partitions
    return {(each.topic, each.partition): each.offset for each in partitions if each.offset >= 0}


@st.composite
def pairs_of(draw: Callable[[Any], Any], number: int) -> tuple[bytes, bytes | None]:
    """Key and value of a type: sometimes a tombstone, sometimes cut."""
    each = RECORD_TYPES[number]
    version = draw(st.integers(0, each.value.versions.last)) if number else 0
    key = number.to_bytes(2, "big") + draw(messages(each.key, 0)).encode(0)
    value = version.to_bytes(2, "big") + draw(messages(each.value, version)).encode(version)
    if draw(st.integers(0, 7)) == 0:
        return key, None
    return (key, value) if draw(st.integers(0, 5)) else (key, value[: draw(st.integers(2, len(value)))])


def alike(dumped: Dumped) -> Dumped:
    """Kafka words its problems otherwise, and prints times that no table can have, and none as -1."""
    data = (dumped["value"] or {}).get("data", {})
    for name in ("commitTimestamp", "expireTimestamp"):
        is_none = name == "expireTimestamp" and data.get(name) == -1
        if name in data and (is_none or not FIRST_TIME_MS <= data[name] <= LAST_TIME_MS):
            data[name] = None
    return {**dumped, "problem": True} if "problem" in dumped else dumped
