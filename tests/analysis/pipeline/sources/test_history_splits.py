"""Histories cut into parts: whatever the parts, the rows are those of the files."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fakebroker.analysis.history import reading
from fakebroker.analysis.history.reading import HistoryError, files_of, read_history
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.rows import Rows, from_arrow
from fakebroker.analysis.pipeline.sources.inputs import Files
from fakebroker.analysis.pipeline.sources.repeats import known_of
from fakebroker.analysis.pipeline.sources.split_reading import read_split
from fakebroker.analysis.pipeline.sources.splits import Split, balanced
from tests.analysis.history.samples import KEY, batch, marker, segment, value
from tests.support.published import row_differences


def rows_of(splits: Iterable[Split], source: str = "west") -> Rows:
    """What the parts give."""
    tables = [pa.Table.from_batches([each]) for split in splits for each in read_split(split, source)]
    return [row for table in tables for row in from_arrow(table)]


def all_splits(folder: Path, split_bytes: int) -> list[Split]:
    found = Files([str(folder)])
    return found.splits(found.first(), found.latest(is_growing=False), split_bytes)


def parquet(path: Path, first: int, count: int, **columns: Sequence[object]) -> Path:
    """Records as a sink writes them, in row groups of ten."""
    rows: dict[str, object] = {
        "key": [KEY] * count,
        "value": [value(n) for n in range(count)],
        "partition": [n % 3 for n in range(count)],
        "offset": [first + n for n in range(count)],
        "timestamp": pa.array([1_760_000_000_000 + n for n in range(count)], pa.timestamp("ms", "UTC")),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(rows | columns), path, row_group_size=10)
    return path


@pytest.mark.parametrize("split_bytes", [1, 300, 1 << 20])
def test_segments_are_cut_where_batches_begin(tmp_path: Path, split_bytes: int) -> None:
    """Parts of a segment give each record once, damaged and cut batches included."""
    damaged = bytearray(batch(30, 4))
    damaged[70] ^= 1
    data = b"".join([*(batch(n, 3) for n in range(0, 30, 3)), bytes(damaged), marker(34, 5, 0, commit=True)])
    segment(tmp_path, data)
    segment(tmp_path, batch(40, 2) + batch(42, 9)[:50], base_offset=40)
    segment(tmp_path, batch(0, 2), partition=4)
    splits = all_splits(tmp_path, split_bytes)

    assert row_differences(read_history([tmp_path], source="west"), rows_of(splits)) == []
    assert len(splits) == {1: 15, 300: len(splits), 1 << 20: 3}[split_bytes]


@pytest.mark.parametrize("split_bytes", [1, 1 << 20])
def test_parquet_is_cut_at_row_groups(tmp_path: Path, split_bytes: int) -> None:
    """By columns and cut into parts it gives what is read row by row."""
    parquet(tmp_path / "a.parquet", 0, 35)
    parquet(
        tmp_path / "wrong.parquet",
        40,
        12,
        offset=[1, None, -4, *range(40, 49)],
        topic=["orders", None] + ["__consumer_offsets"] * 10,
    )
    parquet(tmp_path / "wrong_text.parquet", 55, 3, topic=pa.array([b"\xff", b"", None]).view(pa.string()))
    parquet(tmp_path / "text.parquet", 60, 12, key=[KEY.hex()] * 12, value=[value(1).hex()] * 12)
    parquet(tmp_path / "partition=7" / "b.parquet", 60, 12)
    (tmp_path / "none.parquet").write_bytes(b"PAR1 and nothing else")
    good = parquet(tmp_path / "damaged.parquet", 80, 3).read_bytes()
    where = good.index(b"ARROW:schema") + 30
    (tmp_path / "damaged.parquet").write_bytes(good[:where] + b"AAAAAAAAAAAAAAAA" + good[where + 16 :])
    twice = pa.table([[KEY], [0], [90], [91]], names=["key", "partition", "offset", "offset"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    splits = all_splits(tmp_path, split_bytes)

    assert row_differences(read_history([tmp_path], source="west"), rows_of(splits)) == []
    assert len(splits) == (13 if split_bytes == 1 else 8)


@pytest.mark.parametrize("kind", ["parquet", "segment"])
def test_a_file_that_cannot_be_opened_is_a_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """As a batch; a stream waits for a time when it can be read."""
    path = parquet(tmp_path / "a.parquet", 0, 3) if kind == "parquet" else segment(tmp_path, batch(0, 3))
    files = Files([str(path)])
    monkeypatch.setattr("fakebroker.analysis.pipeline.sources.inputs._end_of", _denied)
    monkeypatch.setattr(reading, "_READERS", {kind: _denied})
    (row,) = rows_of(files.splits({}, files.latest(is_growing=False)))

    assert (row["file"], row["reason"]) == (str(path), "the file cannot be read: Permission denied")
    with pytest.raises(HistoryError, match="Permission denied"):
        files.latest(is_growing=True)


def _denied(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    """Whatever the name, that of a link too."""
    path = segment(tmp_path / "data", batch(0, 3))
    (tmp_path / "link").symlink_to(tmp_path / "data")
    files = Files([str(tmp_path / "data"), str(tmp_path / "link"), str(path)])

    assert len(files.splits({}, files.latest(is_growing=False))) == 1


def test_a_segment_is_not_cut_behind_what_is_no_batch(tmp_path: Path) -> None:
    """Nothing is read there, even if it looks as if a batch had a length."""
    no_batch = bytes(8) + (100).to_bytes(4, "big") + bytes(4) + b"\x09" + bytes(95)
    segment(tmp_path, batch(0, 3) + no_batch + batch(3, 3))

    assert row_differences(read_history([tmp_path], source="west"), rows_of(all_splits(tmp_path, 1))) == []


@pytest.mark.parametrize("split_bytes", [1, 1 << 20])
def test_segments_of_a_real_kafka(split_bytes: int) -> None:
    """What a Kafka 4.3.1 wrote, of every type, is the same by columns and record by record."""
    folder = Path(__file__).resolve().parents[3] / "data" / "history" / "kafka-4.3.1"
    expected = list(read_history([folder], source="west"))

    assert row_differences(_relative(expected), _relative(rows_of(all_splits(folder, split_bytes)))) == []
    assert {row["what"] for row in expected} >= {"commit", "record"}


def _relative(rows: Iterable[Row]) -> Rows:
    """Rows with the names of their files, whatever the path that led there."""
    return [row | {"file": Path(row["file"]).name} for row in rows]


def test_what_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    """Of a segment that may grow only whole batches are read; behind a newer segment it cannot grow any more."""
    path = segment(tmp_path, batch(0, 2) + batch(2, 2)[:50])
    found = Files([str(tmp_path)])
    begun = found.latest(is_growing=True)
    path.write_bytes(batch(0, 2) + batch(2, 2))
    whole = found.latest(is_growing=True)

    assert begun == {str(path): len(batch(0, 2))}
    rows = [row for low, high in [({}, begun), (begun, whole)] for row in rows_of(found.splits(low, high))]
    assert [row["log_offset"] for row in rows] == [0, 1, 2, 3]

    path.write_bytes(batch(0, 2) + batch(2, 2)[:50])
    newer = segment(tmp_path, b"", base_offset=4)
    assert found.latest(is_growing=True) == {str(path): path.stat().st_size, str(newer): 0}


def test_a_segment_that_was_compacted_meanwhile_is_read_anew(tmp_path: Path) -> None:
    """Its records stand elsewhere in it: what was read comes again, which changes nothing, and nothing is damaged."""
    path = segment(tmp_path, batch(0, 2) + batch(2, 2))
    found = Files([str(tmp_path)])
    begun = found.latest(is_growing=True)
    path.write_bytes(batch(1, 1) + batch(3, 1) + batch(4, 9))
    rows = rows_of(found.splits(begun, found.latest(is_growing=True)))

    assert [(row["what"], row["log_offset"]) for row in rows] == [("commit", n) for n in (1, *range(3, 13))]


def test_json_lines_are_read_as_a_whole(tmp_path: Path) -> None:
    """A file of lines is one part, rejects included."""
    line = {"partition": 0, "offset": 1, "timestamp": 5, "key": KEY.hex(), "value": value(1).hex()}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n{torn")

    (split,) = all_splits(tmp_path, 1)

    assert row_differences(read_history([tmp_path], source="west"), rows_of([split])) == []


def test_parts_are_of_about_the_same_size() -> None:
    """Large splits are shared out first; no more parts than asked for, none that is empty."""
    splits = [Split("json", f"{n}", None, 0, -1, size) for n, size in enumerate([5, 90, 10, 80, 70, 20, 1])]

    assert sorted(sum(each.size_bytes for each in part) for part in balanced(splits, 3)) == [90, 91, 95]
    assert len(balanced(splits[:2], 3)) == 2


def test_a_file_that_goes_before_it_is_read_is_an_error(tmp_path: Path) -> None:
    """What a stream had planned to read cannot be left out in silence."""
    path = segment(tmp_path, batch(0, 3))
    segment(tmp_path, batch(0, 3), partition=1)
    found = Files([str(tmp_path)])
    end = found.latest(is_growing=False)
    path.unlink()

    with pytest.raises(HistoryError, match="the file was deleted before it was read completely"):
        found.splits({}, end)


def test_a_stream_reads_about_as_much_as_it_may(tmp_path: Path) -> None:
    """Limited steps reach the same end, each of them further than the one before."""
    segment(tmp_path, b"".join(batch(n, 3) for n in range(0, 30, 3)))
    parquet(tmp_path / "__consumer_offsets-9" / "a.parquet", 0, 10)
    found = Files([str(tmp_path)])
    end, steps = found.latest(is_growing=False), [found.first()]
    while steps[-1] != end:
        steps.append(found.limited(steps[-1], end, 300))
        assert steps[-1] != steps[-2]

    parts = [found.splits(low, high) for low, high in pairwise(steps)]
    assert len(parts) > 4
    assert (
        row_differences(read_history([tmp_path], source="west"), [row for part in parts for row in rows_of(part)]) == []
    )


def test_it_is_known_when_records_cannot_repeat(tmp_path: Path) -> None:
    """One folder for each partition, or Parquet without a place that stands twice, needs no comparing."""
    segment(tmp_path / "broker-1", batch(0, 3))
    segment(tmp_path / "broker-1", batch(3, 3), base_offset=3)
    assert known_of(files_of([tmp_path])) == (False, True)
    copy = segment(tmp_path / "broker-1", batch(3, 3), base_offset=3).with_name("copy.log")
    copy.write_bytes(batch(3, 3))
    assert known_of(files_of([tmp_path])) == (True, True)
    copy.unlink()
    segment(tmp_path / "broker-2", batch(0, 3))
    assert known_of(files_of([tmp_path])) == (True, True)
    (tmp_path / "broker-1" / "__consumer_offsets-3" / "0 (copy).log").write_bytes(batch(0, 3))
    assert known_of(files_of([tmp_path / "broker-1"])) == (True, True)

    parquet(tmp_path / "dump" / "a.parquet", 0, 30)
    parquet(tmp_path / "dump" / "b.parquet", 30, 30)
    assert known_of(files_of([tmp_path / "dump"])) == (False, False)
    parquet(tmp_path / "dump" / "c.parquet", 57, 3)
    assert known_of(files_of([tmp_path / "dump"])) == (True, False)
    (tmp_path / "dump" / "d.parquet").write_bytes(b"PAR1")
    assert known_of(files_of([tmp_path / "dump"])) == (True, False)
