"""Offsets of transactions in scenarios of histories: each transaction is played, and ends as it did."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from fakebroker.analysis.history.compile.anonymise import HashedNames, PlainNames
from fakebroker.analysis.history.compile.group_rows import rows_of_group
from fakebroker.analysis.history.compile.scenario import Options, compiled
from fakebroker.analysis.history.compile.window import window_of
from fakebroker.analysis.history.reading import read_history
from fakebroker.analysis.history.transaction_log import decode_transactions, read_transactions
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.analysis.history.compile.tables_of import from_journal, from_log, of_group, of_lines, of_rows, publish
from tests.support.histories import make_history
from tests.support.tables_made import transaction_records, transactions

SECRET = b"a secret of the tests"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tables_of", [from_journal, from_log])
def test_every_window_with_transactions_passes(seed: int, tables_of: Any) -> None:
    """Whatever group and window of a random history: the scenario passes, anonymised or not, with the same steps."""
    tables, chance, played = tables_of(make_history(seed, steps=80, transactions=True)), Random(seed), 0
    for group_id in sorted({row["group_id"] for row in tables["commits"] if row["transactional"]}):
        rows = of_group(tables, group_id)
        times = sorted({row["at"] for row in rows["commits"]})
        for start_ms, end_ms in ((times[0], times[-1]), sorted(chance.choices(times, k=2))):
            window = window_of(rows, group_id, start_ms - chance.randint(0, 5000), end_ms + chance.randint(0, 5000))
            plain, hidden = compiled(window, PlainNames()), compiled(window, HashedNames(SECRET))
            assert plain.problems == [], plain.text
            assert hidden.problems == [], hidden.text
            assert plain.steps == hidden.steps
            played += plain.text.count("txn_offset_commit")
    assert played


def _play(broker: VirtualBroker) -> None:
    """One is committed, one aborted by its producer, one by its timeout, one by a new producer; the last is open."""
    broker.create_topic("orders", partitions=2)
    first, second = broker.client("p"), broker.client("q")
    first.init_producer_id("copier", transaction_timeout_ms=20_000)
    first.txn_offset_commit({("orders", 0): 1, ("orders", 1): 4}, "g", "a note")
    broker.pass_time(s=1)
    first.commit_transaction()
    first.txn_offset_commit({("orders", 0): 2}, "g")
    first.abort_transaction()
    first.txn_offset_commit({("orders", 0): 3}, "g")
    broker.pass_time(s=100)
    first.init_producer_id("copier", transaction_timeout_ms=20_000)
    first.txn_offset_commit({("orders", 0): 4}, "g")
    second.init_producer_id("copier", transaction_timeout_ms=20_000)
    broker.pass_time(s=1)
    second.init_producer_id("copier", transaction_timeout_ms=20_000)
    second.txn_offset_commit({("orders", 1): 9}, "g")


STEPS = (
    "init_producer_id copier",
    "txn_offset_commit, group_id: g, offsets: {orders-0: 1, orders-1: 4}, metadata: a note",
    "producer_copier: commit_transaction",
    "offsets: {orders-0: 2}",
    "offsets: {orders-0: 3}",
    "transaction: abort copier",
    "init_producer_id copier",
    "offsets: {orders-0: 4}",
    "transaction: abort copier",
    "init_producer_id copier",
    "offsets: {orders-1: 9}",
    "state: Empty, members: 0, offsets: {orders-0: 1, orders-1: 4}",
)


def _check_steps(text: str, *reasons: str) -> None:
    place = 0
    for each in STEPS:
        assert each in text[place:], f"{each}\n{text}"
        place = text.index(each, place)
    for reason in reasons:
        assert reason in text


@pytest.mark.parametrize("release", ["4.3", "3.9", "2.1"])
def test_a_journal_tells_how_each_transaction_ended(release: str) -> None:
    """By its producer, its timeout, or a new producer; also where a release has protocol 1 only."""
    with VirtualBroker() as broker:
        _play(broker)
        lines = broker.journal.rows()
    start_ms = lines[0]["wall_ms"]
    window = window_of(of_group(of_lines(lines), "g"), "g", start_ms, start_ms + 400_000)
    found = compiled(window, PlainNames(), Options(release))

    assert found.problems == []
    _check_steps(found.text, "copier: abort_transaction", "Its timeout had passed.", "A new producer fenced it.")


def test_a_log_tells_it_as_far_as_its_records_do(tmp_path: Path) -> None:
    """Of a data directory: the transactional id is in `__transaction_state`, how transactions end in both logs."""
    with VirtualBroker(data=tmp_path / "data") as broker:
        start_ms = broker.clock.now_ms
        _play(broker)
    tables = of_rows(list(read_history([tmp_path / "data"], source="log")))
    read = decode_transactions(read_transactions([tmp_path / "data"], "log"), [])
    tables["transaction_records"] = transaction_records(list(read))
    tables["transactions"] = transactions(tables["transaction_records"], [])
    rows = rows_of_group(publish(tmp_path / "tables", tables), "g", start_ms, start_ms + 400_000, None)
    found = compiled(window_of(rows, "g", start_ms, start_ms + 400_000), PlainNames())

    assert found.problems == []
    _check_steps(found.text, "Its timeout had passed.", "The history does not tell who aborted it.")


def test_without_the_log_of_transactions_its_producer_id_names_it(tmp_path: Path) -> None:
    """The markers in `__consumer_offsets` still tell how it ended."""
    with VirtualBroker(data=tmp_path / "data") as broker:
        start_ms = broker.clock.now_ms
        _play(broker)
    rows = of_group(of_rows(list(read_history([tmp_path / "data"], source="log"))), "g")
    found = compiled(window_of(rows, "g", start_ms, start_ms + 400_000), PlainNames())

    assert found.problems == []
    assert "init_producer_id producer-0" in found.text
    assert found.text.count("commit_transaction") == 1


def test_a_transaction_from_before_the_window_takes_effect_when_it_ends(tmp_path: Path) -> None:
    """Its request is not in the window; the offset is committed without a transaction, and a remark says so."""
    with VirtualBroker(data=tmp_path / "data") as broker:
        broker.create_topic("orders")
        producer = broker.client("p")
        producer.init_producer_id("copier")
        producer.txn_offset_commit({("orders", 0): 7}, "g")
        broker.pass_time(s=10)
        start_ms = broker.clock.now_ms - 5_000
        producer.commit_transaction()
        broker.pass_time(s=1)
    rows = of_group(of_rows(list(read_history([tmp_path / "data"], source="log"))), "g")
    found = compiled(window_of(rows, "g", start_ms, start_ms + 20_000), PlainNames())

    assert found.problems == []
    assert "txn_offset_commit" not in found.text
    assert "began before the window are committed without one" in found.text
    assert "offsets: {orders-0: 7}" in found.text
