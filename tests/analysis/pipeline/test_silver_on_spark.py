"""Silver tables on Spark are those of DuckDB, on random histories and on bad journals."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakebroker.analysis.pipeline.engines import make
from fakebroker.analysis.pipeline.sources.journal_files import read_journals
from fakebroker.analysis.pipeline.sources.journal_line import Line, parse_line
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.tables import table
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.exchanges.writing import line_of
from tests.analysis.pipeline.bad_journals import event, write_bad_journals
from tests.analysis.pipeline.hand_made_log import newer_groups, transaction_record
from tests.analysis.pipeline.silver_inputs import SEEDS, history, journal_rows, log_rows
from tests.support.gold_tables import events_of
from tests.support.newer_group import random_history
from tests.support.tables_made import made

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Row = dict[str, Any]


def rows_of(frame: "DataFrame", name: str) -> list[Row]:
    """What a DataFrame of a table holds, as rows of DuckDB."""
    from fakebroker.analysis.pipeline.rows import from_arrow

    assert tuple(frame.columns) == table(name).column_names
    return from_arrow(frame.toArrow())


def frame_of(spark: "SparkSession", name: str, rows: Iterable[Row]) -> "DataFrame":
    """Rows of a table as a DataFrame."""
    from fakebroker.analysis.pipeline.rows import to_arrow

    return spark.createDataFrame(to_arrow(table(name), list(rows)))


def in_order(rows: Iterable[Row]) -> list[str]:
    """Rows as texts that can be compared, in one order."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def on_spark(spark: "SparkSession", name: str, **tables: Any) -> list[Row]:
    """The rows of a table that Spark makes of rows, or of DataFrames."""
    frames = {each: frame_of(spark, each, rows) if isinstance(rows, list) else rows for each, rows in tables.items()}
    return rows_of(make(SparkEngine(spark), name, frames), name)


@pytest.fixture(scope="module")
def events() -> list[Row]:
    """The journals of all seeds, each a run of its own, of newer groups, too."""
    newer = [row for seed in SEEDS for row in events_of(random_history(seed).rows)]
    return [row for seed in SEEDS for row in journal_rows(seed)] + newer


@pytest.fixture(scope="module")
def records() -> list[Row]:
    """The logs of all seeds, each a source of its own, and newer groups."""
    return [row for seed in SEEDS for row in log_rows(seed)] + newer_groups()


@pytest.mark.parametrize("name", ["group_states", "members", "assignments"])
def test_groups_are_those_of_plain_python(
    spark: "SparkSession", name: str, events: list[Row], records: list[Row]
) -> None:
    """What records and journals tell of groups, for a dozen histories in one run."""
    found = on_spark(spark, name, coordinator_records=records, events=events)

    assert in_order(found) == in_order(made(name, records, events))


def test_transactions_are_those_of_plain_python(spark: "SparkSession", events: list[Row]) -> None:
    """Of a dozen journals and of a log, of which a record was read twice."""
    states = ("Ongoing", "Ongoing", "PrepareAbort", "CompleteAbort", None, "Ongoing", "CompleteCommit")
    read = [
        {**transaction_record(offset, state, 2000 * offset), "file": file}
        for offset, state in enumerate(states)
        for file in ("one", "two")[: 1 + offset % 2]
    ]
    records = on_spark(spark, "transaction_records", transaction_log=read)
    found = on_spark(spark, "transactions", transaction_records=records, events=events)

    assert in_order(records) == in_order(made("transaction_records", read))
    assert in_order(found) == in_order(made("transactions", records, events))
    assert {row["outcome"] for row in found if row["seq"] is not None} >= {"committed", "aborted"}
    assert [row["log_offset"] for row in found if row["seq"] is None] == [0, 5]


@pytest.mark.parametrize("name", ["requests", "log_ends", "expiries"])
def test_lines_of_journals_are_those_of_plain_python(spark: "SparkSession", name: str, events: list[Row]) -> None:
    """Requests, ends of logs and expired offsets of a dozen journals in one run."""
    assert in_order(on_spark(spark, name, events=events)) == in_order(made(name, events))


def test_times_that_no_table_can_have_are_null(spark: "SparkSession") -> None:
    """A client may send any commit timestamp: the expiry has none then, and the job goes on."""
    (line,) = [row for seed in SEEDS for row in journal_rows(seed) if row["kind"] == "offset_expired"][:1]
    rows = [{**line, "committed_ms": -(2**63), "due_ms": 2**63 - 1}]

    (found,) = on_spark(spark, "expiries", events=rows)

    assert [found] == made("expiries", rows)
    assert (found["committed_at"], found["due_at"]) == (None, None)


def write_journals(folder: Path) -> None:
    """Journals of several brokers in several files, some of them twice, and bad ones."""
    for seed in SEEDS[:2]:
        lines = [line_of(row) for row in history(seed).rows]
        half = len(lines) // 2
        (folder / f"run-{seed}-1.jsonl").write_bytes(b"".join(lines[: half + 5]))
        (folder / f"run-{seed}-2.jsonl").write_bytes(b"".join(lines[half:]))
    write_bad_journals(folder)


def test_both_engines_read_the_same_of_files(spark: "SparkSession", tmp_path: Path) -> None:
    """Events and rejects of good and bad files, also of those with a blank in their name, are the same in both."""
    from fakebroker.analysis.pipeline.sources.journal_frames import journal_frames

    folder = tmp_path / "some journals"
    folder.mkdir()
    write_journals(folder)

    events, rejects = journal_frames(spark, [folder])
    expected_events, expected_rejects = read_journals([folder])

    assert in_order(rows_of(events, "events")) == in_order(expected_events)
    assert in_order(rows_of(rejects, "rejects")) == in_order(expected_rejects)


def test_a_line_that_contradicts_an_event_of_before_is_a_reject(spark: "SparkSession") -> None:
    """The event that was there first stays; the same line again is none."""
    written = [event(0), event(1), event(1, reason="another")]
    parsed = [parse_line(Line("f", number, line_of(line).rstrip())) for number, line in enumerate(written, 1)]
    known, again, other = parsed[1], parsed[1], parsed[2]

    lines = [parsed[0], again, other]
    rejects = made("journal_rejects", lines, [known])

    assert [row["position"] for row in rejects] == [3]
    assert in_order(on_spark(spark, "journal_rejects", journal_lines=lines, events=[known])) == in_order(rejects)
    assert [row["position"] for row in made("journal_rejects", [parsed[0], again], [other])] == [2]


def test_files_with_a_scheme_are_read_by_spark(spark: "SparkSession", tmp_path: Path) -> None:
    """A folder of another file system is read as one of this machine is, gzip and unfinished files too.

    A file that is named itself may have any name there, too.
    """
    from fakebroker.analysis.pipeline.sources.journal_frames import journal_lines

    write_bad_journals(tmp_path)
    named = tmp_path.parent / "a, named.txt"
    named.write_bytes(line_of(event(6)))
    (tmp_path / "notes.txt").write_bytes(line_of(event(7)))
    expected, _ = read_journals([tmp_path, named])

    lines = journal_lines(spark, [f"file://{tmp_path}", f"file://{named}"])
    found = on_spark(spark, "events", journal_lines=lines)

    assert [row["seq"] for row in sorted(found, key=lambda row: row["seq"])] == [row["seq"] for row in expected]


def test_a_path_without_anything_is_an_error(spark: "SparkSession", tmp_path: Path) -> None:
    """It is said before any job is started; a folder without journals is none, it has no events."""
    from fakebroker.analysis.pipeline.sources.journal_frames import journal_frames

    with pytest.raises(InvalidArgument, match="no journal found"):
        journal_frames(spark, [tmp_path / "nothing"])
    events, rejects = journal_frames(spark, [tmp_path])
    assert (events.count(), rejects.count()) == (0, 0)


def test_a_stream_takes_each_file_once_whatever_happens(spark: "SparkSession", tmp_path: Path) -> None:
    """Files that come late or twice, and a restart in the middle of a batch, change nothing.

    A file that is still written is not taken before it has its name.
    """
    from fakebroker.analysis.pipeline.sources.journal_frames import ingest_stream

    folder, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "1.jsonl").write_bytes(line_of(event(0)) + line_of(event(1)) + b"{torn")
    (folder / "3.jsonl.open").write_bytes(line_of(event(4)))
    ingest_stream(spark, folder, out, checkpoint)
    (folder / "2 %20é.jsonl").write_bytes(line_of(event(2)) + line_of(event(1)))
    (folder / "0.jsonl").write_bytes(line_of(event(3)))
    shutil.copy(folder / "1.jsonl", folder / "4.jsonl")
    (folder / "3.jsonl.open").rename(folder / "3.jsonl")
    ingest_stream(spark, folder, out, checkpoint)
    for name in ("1", ".1.crc"):  # it was killed after it had written, before it had noted so
        (checkpoint / "commits" / name).unlink()
    ingest_stream(spark, folder, out, checkpoint)

    lines = spark.read.parquet(str(out))
    expected_events, expected_rejects = read_journals([folder])

    assert lines.count() == 10
    assert in_order(on_spark(spark, "events", journal_lines=lines)) == in_order(expected_events)
    assert in_order(on_spark(spark, "journal_rejects", journal_lines=lines)) == in_order(expected_rejects)
    assert [row["seq"] for row in expected_events] == [0, 1, 2, 3, 4]
