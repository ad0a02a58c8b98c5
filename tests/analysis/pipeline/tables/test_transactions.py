"""Outcomes of transactions: a marker decides what its producer has pending in the same partition of the log."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.history.decode import decode_record
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.pipeline.contract import Row
from tests.analysis.history.samples import AT_MS, KEY, value
from tests.support.tables_made import commits

Outcome = tuple[int, str, int | None]


def commit(offset: int, producer_id: int | None = None, epoch: int = 0, *, partition: int = 0) -> Row:
    """A commit, in a transaction if a producer is named."""
    record = LogRecord("west", "f", 0, partition, offset, AT_MS + offset, KEY, value(offset))
    if producer_id is not None:
        record = record._replace(producer_id=producer_id, producer_epoch=epoch, is_transactional=True)
    return decode_record(record)[0]


def marker(offset: int, producer_id: int, kind: str, epoch: int = 0, *, partition: int = 0) -> Row:
    record = LogRecord("west", "f", 0, partition, offset, AT_MS + offset, b"\0\0\0\0", None, producer_id, epoch, True)
    return decode_record(record._replace(control=kind))[0]


def outcomes(rows: list[Row]) -> list[Outcome]:
    """Log offset, outcome and the log offset with which it took effect, of each commit."""
    found = sorted(commits(rows, []), key=lambda row: (row["log_partition"], row["log_offset"]))
    return [(row["log_offset"], row["outcome"], row["applied_log_offset"]) for row in found]


def test_a_commit_outside_of_a_transaction() -> None:
    """It takes effect with its own record."""
    assert outcomes([commit(3)]) == [(3, "committed", 3)]


@pytest.mark.parametrize(("kind", "expected"), [("commit", (0, "committed", 2)), ("abort", (0, "aborted", None))])
def test_a_marker_decides(kind: str, expected: Outcome) -> None:
    """A transaction takes effect with its marker or never; another producer's commits are open."""
    assert outcomes([commit(0, 7), commit(1, 8), marker(2, 7, kind)]) == [expected, (1, "open", None)]


def test_when_it_took_effect() -> None:
    """The time is that of the marker."""
    (row,) = commits([commit(0, 7), marker(5, 7, "commit")], [])

    assert row["applied_at"] == AT_MS + 5


def test_transactions_one_after_the_other() -> None:
    """A marker decides what came before it, and nothing after."""
    rows = [commit(0, 7), marker(1, 7, "abort"), commit(2, 7), marker(3, 7, "commit"), commit(4, 7)]

    assert outcomes(rows) == [(0, "aborted", None), (2, "committed", 3), (4, "open", None)]


def test_partitions_of_the_log_are_apart() -> None:
    """A marker in one partition says nothing about another, where the producer has one of its own."""
    assert outcomes([commit(0, 7, partition=1), marker(1, 7, "commit", partition=2)]) == [(0, "open", None)]


def test_a_marker_of_a_newer_epoch() -> None:
    """The coordinator raises the epoch before it ends a transaction: the marker is about the older one."""
    assert outcomes([commit(0, 7, epoch=3), marker(1, 7, "abort", epoch=4)]) == [(0, "aborted", None)]


def test_a_marker_of_an_older_epoch() -> None:
    """It says nothing about a newer transaction, which the next marker decides."""
    rows = [commit(0, 7, epoch=4), marker(1, 7, "abort", epoch=3), marker(2, 7, "commit", epoch=4)]

    assert outcomes(rows) == [(0, "committed", 2)]


def test_a_commit_without_a_producer_in_a_transaction() -> None:
    """No marker can be its own: it is open."""
    row = commit(0, 7) | {"producer_id": None, "producer_epoch": None}

    assert outcomes([row, marker(1, 7, "commit")]) == [(0, "open", None)]


@given(st.randoms(use_true_random=False), st.integers(1, 30))
def test_the_order_of_rows_does_not_matter(chance: random.Random, count: int) -> None:
    """Only the log's order counts, and each transaction is decided by the first marker behind it."""
    rows = []
    for offset in range(count):
        producer_id = chance.choice([7, 8, None])
        if producer_id is not None and chance.random() < 0.4:
            rows.append(marker(offset, producer_id, chance.choice(["commit", "abort"])))
        else:
            rows.append(commit(offset, producer_id))
    shuffled = chance.sample(rows, len(rows))

    assert outcomes(shuffled) == [_expected(row, rows) for row in rows if row["what"] == "commit"]


def _expected(row: Row, rows: list[Row]) -> Outcome:
    offset = row["log_offset"]
    if not row["transactional"]:
        return offset, "committed", offset
    for other in rows[offset:]:
        if other["what"] == "record" and other["producer_id"] == row["producer_id"]:
            return (
                (offset, "committed", other["log_offset"]) if other["kind"] == "commit" else (offset, "aborted", None)
            )
    return offset, "open", None
