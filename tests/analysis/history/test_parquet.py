"""Parquet of Spark and of sinks: rows are records, whatever the unit of the timestamp and the names of the columns."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject
from fakebroker.analysis.history.parquet import read_parquet
from tests.analysis.history.samples import AT_MS, KEY, value

COLUMNS: dict[str, Any] = {
    "key": pa.array([KEY, KEY], pa.binary()),
    "value": pa.array([value(5), None], pa.binary()),
    "topic": pa.array(["__consumer_offsets"] * 2),
    "partition": pa.array([3, 3], pa.int32()),
    "offset": pa.array([17, 18], pa.int64()),
    "timestamp": pa.array([AT_MS, AT_MS + 1], pa.timestamp("ms", "UTC")),
    "timestampType": pa.array([0, 0], pa.int32()),
}


def write(path: Path, **columns: Any) -> Path:
    """A file with the columns of Spark's Kafka source, some of them replaced; None leaves one out."""
    kept = {name: column for name, column in {**COLUMNS, **columns}.items() if column is not None}
    parquet.write_table(pa.table(kept), path)
    return path


def read(path: Path, log_partition: int | None = None) -> list[LogRecord | Reject]:
    return list(read_parquet(LogFile(path, log_partition, "west")))


TIMES = {
    "us": pa.array([AT_MS * 1000 + 7, AT_MS * 1000 + 1000], pa.timestamp("us", "UTC")),
    "ns": pa.array([AT_MS * 10**6 + 7, AT_MS * 10**6 + 10**6], pa.timestamp("ns")),
    "ms": COLUMNS["timestamp"],
    "numbers": pa.array([AT_MS, AT_MS + 1], pa.int64()),
}


@pytest.mark.parametrize("unit", TIMES)
def test_rows_of_spark(tmp_path: Path, unit: str) -> None:
    """Each row is a record with its number, its time in ms."""
    path = write(tmp_path / "x.parquet", timestamp=TIMES[unit])

    assert read(path) == [
        LogRecord("west", str(path), 1, 3, 17, AT_MS, KEY, value(5)),
        LogRecord("west", str(path), 2, 3, 18, AT_MS + 1, KEY, None),
    ]


def test_other_names_and_forms(tmp_path: Path) -> None:
    """Columns may be named as sinks do, bytes be text, dictionaries be used."""
    path = write(
        tmp_path / "x.parquet",
        key=pa.array([KEY.hex()] * 2).dictionary_encode(),
        value=pa.array([value(5).hex(), None]),
        offset=None,
        timestamp=None,
        kafka_offset=pa.array([17, 18], pa.int64()),
    )

    assert [(each.log_offset, each.at_ms, each.value) for each in read(path) if isinstance(each, LogRecord)] == [
        (17, None, value(5)),
        (18, None, None),
    ]


def test_the_partition_of_the_folder(tmp_path: Path) -> None:
    """A column for the partition is not needed where the folder tells it."""
    assert [each.log_partition for each in read(write(tmp_path / "x.parquet", partition=None), log_partition=8)] == [
        8
    ] * 2


def test_a_row_that_is_no_record(tmp_path: Path) -> None:
    """It is a reject with its number; the others are read."""
    found = read(write(tmp_path / "x.parquet", topic=pa.array(["orders", "__consumer_offsets"])))

    assert [(type(each), each.position) for each in found] == [(Reject, 1), (LogRecord, 2)]


def test_text_that_is_no_utf_8(tmp_path: Path) -> None:
    """Parquet may have it in a column of texts: its row is a reject, and no other."""
    texts = pa.array([b"orders\xff", b"__consumer_offsets"]).view(pa.string())
    first, second = read(write(tmp_path / "x.parquet", topic=texts))

    assert isinstance(first, Reject)
    assert "'orders\ufffd'" in first.reason
    assert isinstance(second, LogRecord)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"key": None}, "there is no column for key; the columns are value, topic"),
        ({"offset": None, "partition": None}, "no column for offset and partition"),
    ],
)
def test_a_file_without_the_columns(tmp_path: Path, columns: dict[str, None], reason: str) -> None:
    """It is one reject that names what is missing and what there is."""
    (found,) = read(write(tmp_path / "x.parquet", **columns))

    assert isinstance(found, Reject)
    assert reason in found.reason


@pytest.mark.parametrize("kept", [3, 100, -20])
def test_a_file_that_is_cut(tmp_path: Path, kept: int) -> None:
    """It is one reject."""
    path = write(tmp_path / "x.parquet")
    path.write_bytes(path.read_bytes()[:kept])
    (found,) = read(path)

    assert isinstance(found, Reject)
    assert found.reason.startswith("the file cannot be read after row 0: ")
