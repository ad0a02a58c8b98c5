"""The table `coordinator_records` in plain Python."""

from typing import Any

from fakebroker.analysis.history.distinct import distinct_rows
from fakebroker.analysis.pipeline.tables.coordinator_records import TABLE

Row = dict[str, Any]


def coordinator_records(decoded: list[Row]) -> list[Row]:
    """A row for each record of the logs that is no offset commit.

    Args:
        decoded: Rows of `decoded`, in any order, records in several files included.
    """
    rows, _ = distinct_rows(decoded)
    return [{name: row.get(name) for name in TABLE.column_names} for row in rows if row["what"] == "record"]
