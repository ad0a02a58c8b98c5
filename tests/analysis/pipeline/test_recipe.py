"""Recipes: what a step makes of the rows of its query."""

from collections.abc import Iterable, Iterator
from typing import Any

from fakebroker.analysis.pipeline.contract import columns_only
from fakebroker.analysis.pipeline.recipe import Step

Row = dict[str, Any]


def summed(rows: Iterable[Row]) -> Iterator[Row]:
    """The sum of the rows of one call."""
    yield {"sum": sum(row["n"] for row in rows)}


ROWS: list[Row] = [{"a": "x", "b": None, "n": 1}, {"a": "x", "b": None, "n": 2}, {"a": "x", "b": 5, "n": 4}]


def test_a_step_calls_its_function_once_for_each_group() -> None:
    """Rows that have the columns alike, nulls too, are one call; without columns all rows are."""
    by_group = Step("s", columns_only("sum long: the sum"), "", summed, ("a", "b"), ("n",))

    assert list(by_group.made(ROWS)) == [{"sum": 3}, {"sum": 4}]
    assert list(by_group._replace(together=()).made(ROWS)) == [{"sum": 7}]
