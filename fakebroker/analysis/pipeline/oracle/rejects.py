"""The table `rejects` in plain Python."""

from typing import Any

from fakebroker.analysis.history.distinct import distinct_rows
from fakebroker.analysis.pipeline.tables.rejects import TABLE

Row = dict[str, Any]


def rejects(decoded: list[Row]) -> list[Row]:
    """A row for each thing that could not be read, and for each record of an offset that has another one elsewhere.

    Args:
        decoded: Rows of `decoded`, in any order; what is in it twice counts once.
    """
    _, conflicts = distinct_rows(decoded)
    found = [row for row in decoded if row["what"] == "reject"] + [reject._asdict() for reject in conflicts]
    rows = [{name: row[name] for name in TABLE.column_names} for row in found]
    return list({tuple(row[name] for name in TABLE.key): row for row in rows}.values())
