"""Comparing published tables, whichever engine made them."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.publish import Published
from fakebroker.analysis.pipeline.rows import read_rows
from fakebroker.analysis.pipeline.tables import table

MAX_SHOWN = 5


def differences(one: Published, other: Published) -> list[str]:
    """What differs between two folders of tables: tables, and rows of them in any order; nothing if they are equal."""
    if set(one.tables) != set(other.tables):
        return [f"tables: {sorted(one.tables)} and {sorted(other.tables)}"]
    return [
        f"{name}: {difference}"
        for name in one.tables
        for difference in row_differences(
            read_rows(table(name), one.folder_of(name)), read_rows(table(name), other.folder_of(name))
        )
    ]


def row_differences(one: Iterable[Row], other: Iterable[Row]) -> list[str]:
    """Rows that one has and the other has not, at most so many; their order does not matter."""
    first, second = Counter(map(_comparable, one)), Counter(map(_comparable, other))
    only_first, only_second = first - second, second - first
    shown = [f"- {dict(row)}" for row in sorted(only_first, key=repr)[:MAX_SHOWN]]
    return shown + [f"+ {dict(row)}" for row in sorted(only_second, key=repr)[:MAX_SHOWN]]


def _comparable(row: Row) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _value(value)) for name, value in row.items())


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, float) and not math.isnan(value):
        return round(value, 6)
    return value
