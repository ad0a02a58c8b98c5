"""Tables as the report reads them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.protocol.errors import FakebrokerError
from tests.analysis.pipeline.report.small import START_MS, publish, rows


def lags(*given: tuple[str, int, int | None]) -> list[dict[str, object]]:
    """Rows of lag_minute: group, minute, lag."""
    return rows(
        "lag_minute",
        *(
            {"group_id": group, "topic": "t", "partition": n, "minute_at": START_MS + minute * 60_000, "lag": lag}
            for n, (group, minute, lag) in enumerate(given)
        ),
    )


def test_rows_of_several_folders_are_summed_up_together(tmp_path: Path) -> None:
    """A table that two folders have counts as one; times are milliseconds, a missing table is empty."""
    one = publish(tmp_path / "one", {"lag_minute": lags(("b", 2, 7), ("a", 0, 1))})
    two = publish(tmp_path / "two", {"lag_minute": lags(("a", 1, 5), ("a", 3, None))})
    tables = Tables([one, two])

    found = tables.rows(
        "SELECT group_id, COUNT(*) AS rows, MAX(lag) AS most, MAX(minute_at) AS last FROM lag_minute GROUP BY group_id"
        " ORDER BY group_id"
    )

    assert found == [
        {"rows": 3, "most": 5, "last": START_MS + 180_000, "group_id": "a"},
        {"rows": 1, "most": 7, "last": START_MS + 120_000, "group_id": "b"},
    ]
    assert tables.rows_in("lag_minute") == 4
    assert not tables.has("rebalances")
    assert tables.rows("SELECT * FROM rebalances") == []


def test_only_wanted_rows_count(tmp_path: Path) -> None:
    """A condition leaves rows out."""
    tables = Tables([publish(tmp_path / "one", {"lag_minute": lags(("a", 0, 1), ("b", 0, 2), ("b", 1, 3))})])

    assert tables.rows("SELECT MIN(lag) AS least, COUNT(*) AS rows FROM lag_minute WHERE group_id = 'b'") == [
        {"least": 2, "rows": 2}
    ]


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 10))
def test_the_first_rows_are_those_of_the_whole_table(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], most: int
) -> None:
    """The largest first, as many as are wanted, as if the whole table had been sorted."""
    folder = publish(tmp_path_factory.mktemp("t") / "one", {"lag_minute": lags(*(("g", 0, each) for each in values))})

    found = Tables([folder]).rows(f"SELECT lag FROM lag_minute ORDER BY lag DESC LIMIT {most}")

    assert [row["lag"] for row in found] == sorted(values, reverse=True)[:most]


def test_a_folder_without_tables_is_reported(tmp_path: Path) -> None:
    """Another folder than a published one is an error with its path."""
    with pytest.raises(FakebrokerError, match="is not a folder of published tables"):
        Tables([tmp_path])
