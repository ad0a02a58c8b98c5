"""Gold tables on Spark: the same rows as DuckDB gives, over many random histories at once."""

from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from fakebroker.analysis.pipeline.engines import make
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.tables import table
from tests.support.gold_tables import Tables, events_of, frames_of, in_order, rows_of_frame, silver_of
from tests.support.histories import make_history
from tests.support.newer_group import JOURNALS, random_history
from tests.support.tables_made import READS, made

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GOLD = ("rebalances", "lag_minute", "protocol_coverage", "group_health", "expiry_audit")
SEEDS = range(24)
RELEASES = ("4.3", "3.9", "2.1", "2.0")

pytestmark = pytest.mark.spark


def _journal(seed: int) -> list[dict[str, Any]]:
    """A history of some era and policy; every second one lacks expiries, some lack commits, or what broker it was."""
    config = {"fakebroker.expiry.policy": ("release", "kip-211", "2.0")[seed % 3]}
    rows = make_history(
        seed,
        as_release=RELEASES[seed % 4],
        config=config,
        steps_back=seed % 3 == 0,
        transactions=seed % 6 == 0,
        deletes_topics=seed % 2 == 0,
    ).rows
    chance = Random(seed)
    lost = {"offset_expired": 0.3 if seed % 2 else 0, "offset_committed": 0.1 if seed % 3 == 1 else 0}
    lost["broker_started"] = 1 if seed % 8 == 7 else 0
    for row in rows[:: 30 if seed % 5 == 0 else len(rows)]:
        if row["kind"] == "offset_committed":
            row["offset"] = chance.choice([-1, -(2**63)])  # brokers store them
    return [row for row in rows if chance.random() >= lost.get(row["kind"], 0)]


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Silver and gold of many histories: of every era, with clocks that go back and lines that lack."""
    journals = [*map(_journal, SEEDS), *(random_history(seed).rows for seed in SEEDS), *(made() for made in JOURNALS)]
    found = silver_of(events_of(chain.from_iterable(journals)))
    for name in GOLD:
        found[name] = made(name, *(found[each] for each in READS[name]))
    return found


@pytest.fixture(scope="module")
def frames(spark: "SparkSession", tables: Tables) -> "dict[str, DataFrame]":
    """The same as DataFrames."""
    return frames_of(spark, tables)


@pytest.mark.parametrize("name", GOLD)
def test_spark_makes_what_duckdb_makes(
    spark: "SparkSession", name: str, tables: Tables, frames: "dict[str, DataFrame]"
) -> None:
    """Row for row, whatever the order, with the columns of the contract."""
    found = make(SparkEngine(spark), name, frames)

    assert tuple(found.columns) == table(name).column_names
    assert in_order(rows_of_frame(found)) == in_order(tables[name])
    assert tables[name]


def test_no_rows_give_no_rows(spark: "SparkSession") -> None:
    """Empty tables are no error."""
    empty = {name: frame.limit(0) for name, frame in frames_of(spark, silver_of([])).items()}

    for name in ("lag_minute", "rebalances"):
        assert rows_of_frame(make(SparkEngine(spark), name, empty)) == []
