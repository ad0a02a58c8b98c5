"""Transactions: from hand-made changes, and a real run told by its journal and by its log."""

from pathlib import Path
from typing import Any

import pytest

from fakebroker.analysis.history.transaction_log import (
    STATES,
    decode_transactions,
    read_transactions,
    transaction_segments,
)
from fakebroker.analysis.pipeline.tables.transactions import ENDED_BY
from fakebroker.broker.core.transactions.states import TransactionState
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.transaction_log import TransactionValue, transaction_key, transaction_value
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.analysis.pipeline.hand_made_log import TIMEOUT_MS, transaction_record
from tests.support.gold_tables import events_of
from tests.support.tables_made import transaction_records, transactions

Row = dict[str, Any]


def _ends(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row["outcome"], row["ended_by"], row["duration_ms"]) for row in rows]


@pytest.mark.parametrize(
    ("end", "ended_by"),
    [
        ({"producer_epoch": 0}, "producer"),
        ({"producer_epoch": 1}, "new producer"),
        ({"producer_epoch": 1, "updated_at": 1000 + TIMEOUT_MS + 1}, "timeout"),
        ({"producer_epoch": 1, "client_version": 2}, None),
    ],
)
def test_a_log_tells_who_aborted_by_epoch_and_timeout(end: Row, ended_by: str | None) -> None:
    """A coordinator raises the epoch, a producer of protocol 1 does not; with protocol 2 both do."""
    version = end.get("client_version", 0)
    rows = [
        transaction_record(0, "Ongoing", 1000, client_version=version),
        transaction_record(1, "PrepareAbort", 3000, **end),
    ]
    (found,) = transactions(rows, [])

    assert (found["outcome"], found["ended_by"]) == ("aborted", ended_by)
    assert (found["began_at"], found["decided_at"], found["producer_epoch"]) == (1000, end.get("updated_at", 3000), 0)


def test_a_transaction_lasts_until_its_end_is_stored() -> None:
    """Partitions that are added count; markers come after its end; the next one is another transaction."""
    found = transactions(
        [
            transaction_record(0, "Empty", 900, partitions=0, topics=[], started_at=None),
            transaction_record(1, "Ongoing", 1000),
            transaction_record(2, "Ongoing", 1500, partitions=3, topics=["audit", "orders"]),
            transaction_record(3, "PrepareCommit", 2000, partitions=3, topics=["audit", "orders"]),
            transaction_record(4, "CompleteCommit", 2100, partitions=0, topics=[]),
            transaction_record(5, "Ongoing", 4000, started_at=4000),
            transaction_record(6, None, 9000, producer_id=None, producer_epoch=None, partitions=None, topics=None),
        ],
        [],
    )

    assert _ends(found) == [("committed", "producer", 1000), ("open", None, None)]
    assert (found[0]["partitions"], found[0]["topics"], found[0]["ended_at"]) == (3, ["audit", "orders"], 2100)
    assert [row["log_offset"] for row in found] == [1, 5]


def test_a_compacted_log_has_the_last_end() -> None:
    """Its record says when the transaction began; what it read is not known."""
    (found,) = transactions([transaction_record(9, "CompleteAbort", 5000, partitions=0, topics=[])], [])

    assert (found["outcome"], found["began_at"], found["ended_at"]) == ("aborted", 1000, 5000)
    assert (found["decided_at"], found["ended_by"], found["partitions"]) == (None, None, None)


def test_what_lacks_its_end_does_not_run_into_the_next() -> None:
    """Records are missing between two transactions, as in a damaged log: each has what is known of it."""
    found = transactions(
        [
            transaction_record(0, "Ongoing", 1000),
            transaction_record(1, "PrepareAbort", 2000),
            transaction_record(4, "PrepareCommit", 6000, started_at=5000),
            transaction_record(7, "CompleteAbort", 9000, started_at=8000),
        ],
        [],
    )

    assert _ends(found) == [("aborted", "producer", 1000), ("committed", "producer", 1000), ("aborted", None, None)]


def test_states_are_those_of_the_coordinator() -> None:
    """The numbers of records, by Kafka's names."""
    assert list(STATES) == [state.kafka_name for state in sorted(TransactionState)]


def _play(broker: VirtualBroker) -> None:
    """One transaction for each way to end; the last one is open."""
    broker.create_topic("orders", partitions=2)
    first, second = broker.client("p"), broker.client("q")
    first.init_producer_id("t", transaction_timeout_ms=TIMEOUT_MS)
    for end in (first.commit_transaction, first.abort_transaction):
        first.txn_offset_commit({("orders", 0): 1}, "g")
        broker.pass_time(s=1)
        end()
    first.txn_offset_commit({("orders", 0): 2}, "g")
    broker.pass_time(s=100)
    first.init_producer_id("t", transaction_timeout_ms=TIMEOUT_MS)
    first.txn_offset_commit({("orders", 0): 3}, "g")
    broker.pass_time(s=3)
    second.init_producer_id("t", transaction_timeout_ms=TIMEOUT_MS)
    broker.pass_time(s=1)
    second.init_producer_id("t", transaction_timeout_ms=TIMEOUT_MS)
    second.txn_offset_commit({("orders", 0): 4}, "g")
    broker.transaction("t").abort()
    broker.pass_time(s=1)
    second.init_producer_id("t", transaction_timeout_ms=TIMEOUT_MS)
    second.txn_offset_commit({("orders", 0): 5}, "g")


OUTCOMES = ["committed", "aborted", "aborted", "aborted", "aborted", "open"]


@pytest.mark.rules("TX-23", "PI-10")
def test_a_journal_tells_who_ended_each_transaction() -> None:
    """The producer, its timeout, a new producer, or a test; with the reason and the time that it was open."""
    with VirtualBroker() as broker:
        _play(broker)
        found = transactions([], events_of(broker.journal.rows()))

    assert [(row["outcome"], row["ended_by"]) for row in found] == [
        *zip(OUTCOMES, ("producer", "producer", "timeout", "new producer", "test", None), strict=True)
    ]
    assert {row["ended_by"] for row in found} == {*ENDED_BY, None}
    assert [row["duration_ms"] for row in found[:2]] == [1000, 1000]
    assert found[2]["reason"] == f"open longer than its timeout of {TIMEOUT_MS} ms"
    assert {row["partitions"] for row in found} == {1}


def test_log_and_journal_tell_the_same(tmp_path: Path) -> None:
    """Of the log of the same run: the same transactions, with the same times; who aborted as far as records tell."""
    with VirtualBroker(data=tmp_path) as broker:
        _play(broker)
        journal = transactions([], events_of(broker.journal.rows()))
    rejects: list[Row] = []
    read = decode_transactions(read_transactions([tmp_path], "log"), rejects)
    log = transactions(transaction_records(list(read)), [])

    names = ("transactional_id", "producer_id", "producer_epoch", "outcome", "began_at", "decided_at", "ended_at")
    assert [[row[name] for name in names] for row in log] == [[row[name] for name in names] for row in journal]
    assert rejects == []
    assert [row["ended_by"] for row in log] == ["producer", None, "timeout", None, None, None]
    assert {(row["timeout_ms"], *row["topics"]) for row in log} == {(TIMEOUT_MS, "__consumer_offsets")}


def _segment(folder: Path, *pairs: tuple[bytes | None, bytes | None]) -> Path:
    folder.mkdir(parents=True)
    file = folder / f"{0:020}.log"
    records = [Record(offset, 1000, key, value, ()) for offset, (key, value) in enumerate(pairs)]
    file.write_bytes(build_batch(records))
    return file


def test_what_cannot_be_read_is_a_reject(tmp_path: Path) -> None:
    """A record without a key, and one whose value is torn; a key of an unknown version is skipped, as in Kafka."""
    value = TransactionValue(7, 0, TIMEOUT_MS, 1, (), 1000)
    whole = transaction_value(value)
    _segment(
        tmp_path / "__transaction_state-3",
        (transaction_key("t"), whole),
        (None, whole),
        (transaction_key("t"), whole[:-4]),
        (b"\0\x09abc", whole),
        (transaction_key("t"), None),
    )
    rejects: list[Row] = []
    rows = list(decode_transactions(read_transactions([tmp_path], "log"), rejects))

    assert [(row["log_partition"], row["log_offset"], row["state"]) for row in rows] == [
        (3, 0, "Ongoing"),
        (3, 4, None),
    ]
    assert [(row["what"], row["log_offset"]) for row in rejects] == [("reject", 1), ("reject", 2)]
    assert "has no key" in rejects[0]["reason"]


def test_a_copy_of_a_segment_adds_nothing(tmp_path: Path) -> None:
    """A record is a row once, though it stands in two files; a folder that is named twice is read once."""
    pair = (transaction_key("t"), transaction_value(TransactionValue(7, 0, TIMEOUT_MS, 1, (), 1000)))
    for name in ("one", "two"):
        _segment(tmp_path / name / "__transaction_state-0", pair)
    paths = [tmp_path, tmp_path / "one"]

    assert len(transaction_segments(paths, "log")) == 2
    assert len(transaction_records(list(decode_transactions(read_transactions(paths, "log"), [])))) == 1
