"""The rows that `history compile` reads: the same with both engines."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakebroker.analysis.history.compile.anonymise import PlainNames
from fakebroker.analysis.history.compile.group_rows import rows_of_group
from fakebroker.analysis.history.compile.scenario import compiled
from fakebroker.analysis.history.compile.window import window_of
from tests.analysis.history.compile.tables_of import from_journal, of_group, publish
from tests.support.histories import make_history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = "group-1"


def test_what_is_read_is_what_a_window_needs(tmp_path: Path) -> None:
    """A window of the rows that are read compiles to the same scenario as one of all rows."""
    tables = from_journal(make_history(0, steps=60))
    folder = publish(tmp_path, tables)
    every = of_group(tables, GROUP)
    times = sorted(row["began_at"] for row in every["group_states"])
    for start_ms, end_ms in ((times[0], times[-1]), (times[3], times[-3]), (times[6], times[-1])):
        rows = rows_of_group(folder, GROUP, start_ms, end_ms, None)
        found = compiled(window_of(rows, GROUP, start_ms, end_ms), PlainNames())
        assert found.problems == []
        assert found.text == compiled(window_of(every, GROUP, start_ms, end_ms), PlainNames()).text


@pytest.mark.spark
def test_spark_reads_the_same_rows(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filtered by Spark, as tables are that are too large for DuckDB, the rows are those that DuckDB filters."""
    from fakebroker.analysis.pipeline import spark_engine

    folder = publish(tmp_path, from_journal(make_history(0, steps=40)))
    start_ms, end_ms = 1_767_400_000_000, 1_768_400_000_000
    by_duckdb = rows_of_group(folder, GROUP, start_ms, end_ms, "run-0")
    monkeypatch.setattr(spark_engine, "MAX_CHECKED_ROWS", -1)
    by_spark = rows_of_group(folder, GROUP, start_ms, end_ms, "run-0", spark_engine.SparkEngine(spark))
    for name, rows in by_duckdb.items():
        assert sorted(map(repr, by_spark[name])) == sorted(map(repr, rows)), name
    assert any(by_duckdb.values())
