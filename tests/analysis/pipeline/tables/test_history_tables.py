"""The tables of histories: commits, coordinator records and rejects."""

from typing import Any

from fakebroker.analysis.history.decode import decode_all
from fakebroker.analysis.history.log_record import LogRecord, Reject
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.tables import commits as commits_table
from fakebroker.analysis.pipeline.tables import coordinator_records as records_table
from fakebroker.analysis.pipeline.tables import rejects as rejects_table
from tests.analysis.history.samples import AT_MS, KEY, group_record, log_record, value
from tests.support.tables_made import commits, coordinator_records, rejects


def decoded() -> list[Row]:
    """A commit in two files, a transaction with its marker, a group, a record that cannot be read, a conflict."""
    in_transaction: dict[str, Any] = {"producer_id": 7, "producer_epoch": 1, "is_transactional": True}
    records: list[LogRecord | Reject] = [
        log_record(KEY, value(1), log_offset=0),
        log_record(KEY, value(1), log_offset=0, file="copy.log"),
        log_record(KEY, value(2), log_offset=1, **in_transaction),
        log_record(b"\0\0\0\1", None, log_offset=2, at_ms=AT_MS + 9, control="commit", **in_transaction),
        log_record(*group_record(), log_offset=3),
        log_record(KEY[:-1], value(4), log_offset=4),
        log_record(KEY, value(5), log_offset=5),
        log_record(KEY, value(6), log_offset=5, file="other.log"),
        Reject("west", "a.log", 900, 3, None, "the file ends in a batch", None),
    ]
    return list(decode_all(records))


def test_commits_of_a_log() -> None:
    """Each commit once, with its outcome and the offset and time at which it took effect."""
    rows = commits(decoded(), [])

    assert [(row["committed_offset"], row["outcome"], row["applied_log_offset"]) for row in rows] == [
        (1, "committed", 0),
        (2, "committed", 2),
    ]
    assert [row["applied_at"] for row in rows] == [AT_MS, AT_MS + 9]
    assert all(tuple(row) == commits_table.TABLE.column_names for row in rows)


def test_commits_of_a_journal() -> None:
    """A line of a journal is a commit that took effect at its time; lines of other kinds are none."""
    common = {"run": "r1", "wall_ms": AT_MS, "mono_ms": 5, "seq": 8, "part": 1}
    line = {"group": "g", "topic": "t", "partition": 2, "offset": 3, "leader_epoch": -1, "metadata": None}
    more = {"committed_ms": AT_MS - 1, "expire_ms": None, "transactional": False}
    event = {**common, "kind": "offset_committed", **line, **more, "member_id": "m", "generation": 4}
    (row,) = commits([], [{**common, "kind": "request"}, event])

    assert tuple(row) == commits_table.TABLE.column_names
    assert {name: each for name, each in row.items() if each is not None} == {
        "group_id": "g",
        "topic": "t",
        "partition": 2,
        "committed_offset": 3,
        "leader_epoch": -1,
        "metadata": "",
        "committed_at": AT_MS - 1,
        "transactional": False,
        "outcome": "committed",
        "at": AT_MS,
        "applied_at": AT_MS,
        "member_id": "m",
        "generation": 4,
        "source": "r1",
        "seq": 8,
        "part": 1,
    }


def test_coordinator_records() -> None:
    """Every other record, markers included."""
    rows = coordinator_records(decoded())

    assert [(row["log_offset"], row["kind"]) for row in rows] == [(2, "commit"), (3, "GroupMetadata")]
    assert all(tuple(row) == records_table.TABLE.column_names for row in rows)


def test_rejects() -> None:
    """What could not be read, each once, and both sides of a conflict."""
    rows = rejects(decoded() + decoded())

    assert [(row["file"], row["position"], row["log_offset"]) for row in rows] == [
        ("a.log", 100, 4),
        ("a.log", 100, 5),
        ("a.log", 900, None),
        ("other.log", 100, 5),
    ]
    assert all(tuple(row) == rejects_table.TABLE.column_names for row in rows)
