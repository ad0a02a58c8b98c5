"""Times that are missing, or that no table can have, in every table and with both engines."""

from pathlib import Path
from typing import Any

import pytest

from fakebroker.analysis.pipeline.contract import LAST_TIME_MS
from fakebroker.analysis.pipeline.engines import Engine, make
from fakebroker.analysis.pipeline.rows import Rows, read_rows
from fakebroker.analysis.pipeline.tables import table

Row = dict[str, Any]

FROM_LOG = {"source": "log", "log_partition": 0}
STATE = {
    "group_id": "g", "group_type": "classic", "state": "Stable", "generation": 1, "protocol_type": "consumer",
    "members": 1, "subscribed_topics": ["t"], "log_offset": 2, **FROM_LOG,
}  # fmt: skip
COMMIT = {
    "group_id": "g", "topic": "t", "partition": 0, "committed_offset": 5, "leader_epoch": -1, "metadata": "",
    "transactional": False, "outcome": "committed", "log_offset": 3, "applied_log_offset": 3, **FROM_LOG,
}  # fmt: skip
LINE = {
    "kind": "offset_committed", "run": "run", "seq": 1, "part": 0, "wall_ms": 1_000, "group": "g", "topic": "t",
    "partition": 0, "offset": 5, "leader_epoch": -1, "transactional": False, "file": "f", "line": 1,
}  # fmt: skip


def made(engine: Engine, folder: Path, name: str, **tables: list[Row]) -> Rows:
    """The rows of a table as an engine makes and stores it, of rows of others."""
    frames = {each: engine.frame(table(each), [whole(each, row) for row in rows]) for each, rows in tables.items()}
    engine.store(table(name), make(engine, name, frames), folder / name)
    return read_rows(table(name), folder / name)


def whole(name: str, row: Row) -> Row:
    """A row with all columns of its table."""
    return dict.fromkeys(table(name).column_names) | row


def test_the_health_of_a_group_whose_records_have_no_times(engine: Engine, tmp_path: Path) -> None:
    """A sink may leave out the times of records: then nobody knows when the group was there first and last."""
    (row,) = made(engine, tmp_path, "group_health", group_states=[STATE], commits=[COMMIT])
    assert (row["first_at"], row["last_at"], row["last_state"], row["commits"]) == (None, None, "Stable", 1)


def test_a_state_without_time_does_not_count_for_the_first_and_last(engine: Engine, tmp_path: Path) -> None:
    """Only the times that are known decide."""
    commit = {**COMMIT, "at": 7_000, "applied_at": 7_000}
    (row,) = made(engine, tmp_path, "group_health", group_states=[STATE], commits=[commit])
    assert (row["first_at"], row["last_at"], row["last_commit_at"]) == (7_000, 7_000, 7_000)


def test_nothing_is_lost_in_a_history_without_times(engine: Engine, tmp_path: Path) -> None:
    """Without any time there are no cleanups that could drop an offset."""
    assert made(engine, tmp_path, "retention_losses", group_states=[STATE], commits=[COMMIT]) == []


@pytest.mark.parametrize(
    ("committed_ms", "expected"), [(LAST_TIME_MS, LAST_TIME_MS), (LAST_TIME_MS + 1, None), (2**62, None)]
)
def test_a_commit_timestamp_that_a_client_made_up(
    engine: Engine, tmp_path: Path, committed_ms: int, expected: int | None
) -> None:
    """A commit timestamp outside of the years 1 to 9999 is null; the commit is there."""
    (row,) = made(engine, tmp_path, "commits", events=[{**LINE, "committed_ms": committed_ms}])
    assert (row["committed_offset"], row["committed_at"]) == (5, expected)
