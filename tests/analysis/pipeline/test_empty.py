"""Every transformation of nothing, with both engines."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
from fakebroker.analysis.pipeline.engines import Engine, make
from fakebroker.analysis.pipeline.rows import read_rows
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.tables import NAMES, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Runs of a campaign are played, not made of other tables.
MADE = tuple(name for name in (*NAMES, "journal_rejects") if name != "campaign_runs")

every_table = pytest.mark.parametrize("name", MADE)


@every_table
def test_nothing_comes_of_nothing(tmp_path: Path, name: str) -> None:
    """Of tables without rows a table without rows is made, which can be stored and read as its contract says."""
    check(DuckEngine(), tmp_path, name)


@pytest.mark.spark
@pytest.mark.slow
@every_table
def test_nothing_comes_of_nothing_on_spark(spark: "SparkSession", tmp_path: Path, name: str) -> None:
    """The same on Spark."""
    check(SparkEngine(spark), tmp_path, name)


def check(engine: Engine, folder: Path, name: str) -> None:
    """Make a table of nothing, store it and read it."""
    contract = table("rejects" if name == "journal_rejects" else name)
    engine.store(contract, make(engine, name, {}), folder / name)
    assert list(folder.joinpath(name).glob("*.parquet"))
    assert read_rows(contract, folder / name) == []
