"""Tables of random histories, by their recipes, as rows: by the name of the table."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.analysis.pipeline.tables import table
from fakebroker.analysis.pipeline.tables.events import TABLE as EVENTS
from tests.support.tables_made import commits, expiries, group_states, log_ends, requests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
Tables = dict[str, list[Row]]


def events_of(journal: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Lines of journals as rows of `events`: every column is there, objects are JSON text."""
    return [_event(number, row) for number, row in enumerate(journal, 1)]


def _event(line: int, row: Mapping[str, Any]) -> Row:
    texts = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in row.items()}
    return dict.fromkeys(EVENTS.column_names) | texts | {"file": "journal.jsonl", "line": line}


def silver_of(events: list[Row]) -> Tables:
    """The silver tables of journals that gold tables are made of, and `events`."""
    return {
        "events": events,
        "commits": commits([], events),
        "group_states": group_states([], events),
        "requests": requests(events),
        "log_ends": log_ends(events),
        "expiries": expiries(events),
    }


def frames_of(spark: "SparkSession", tables: Mapping[str, list[Row]]) -> "dict[str, DataFrame]":
    """The same as DataFrames."""
    from fakebroker.analysis.pipeline.rows import to_arrow

    return {name: spark.createDataFrame(to_arrow(table(name), rows)) for name, rows in tables.items()}


def rows_of_frame(frame: "DataFrame") -> list[Row]:
    """A DataFrame as rows, timestamps in milliseconds."""
    from fakebroker.analysis.pipeline.rows import from_arrow

    return from_arrow(frame.toArrow())


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows in one order, whatever engine made them."""
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
