"""Gold tables on Spark: the same rows as the oracle gives, over many random histories at once."""

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest

from fakebroker.pipeline.tables import table
from tests.support.gold_tables import Tables, events_of, frames_of, in_order, rows_of_frame, silver_of
from tests.support.histories import make_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GOLD = ("rebalances", "lag_minute", "protocol_coverage", "group_health", "expiry_audit")
SEEDS = range(24)
RELEASES = ("4.3", "3.9", "2.1", "2.0")

pytestmark = pytest.mark.spark


def _function(engine: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(f"fakebroker.pipeline.{engine}.{name}"), name)
    return found


def _made(engine: str, name: str, tables: dict[str, Any]) -> Any:
    function = _function(engine, name)
    return function(**{needed: tables[needed] for needed in signature(function).parameters})


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Silver and gold of many histories, of every era, with clocks that go back, by the oracles."""
    journal = [
        row
        for seed in SEEDS
        for row in make_history(seed, as_release=RELEASES[seed % 4], steps_back=seed % 3 == 0).rows
    ]
    found = silver_of(events_of(journal))
    for name in GOLD:
        found[name] = _made("oracle", name, found)
    return found


@pytest.fixture(scope="module")
def frames(spark: "SparkSession", tables: Tables) -> "dict[str, DataFrame]":
    """The same as DataFrames."""
    return frames_of(spark, tables)


@pytest.mark.parametrize("name", GOLD)
def test_spark_makes_what_the_oracle_makes(name: str, tables: Tables, frames: "dict[str, DataFrame]") -> None:
    """Row for row, whatever the order, with the columns of the contract."""
    made = _made("spark", name, frames)

    assert tuple(made.columns) == table(name).column_names
    assert in_order(rows_of_frame(made)) == in_order(tables[name])
    assert tables[name]
