"""Windows of consumer groups (KIP-848) as scenarios: they pass, and members come and go as they did."""

from random import Random
from typing import Any

import pytest

from fakebroker.analysis.history.compile.anonymise import HashedNames, PlainNames
from fakebroker.analysis.history.compile.scenario import Options, compiled
from fakebroker.analysis.history.compile.window import UnplayableGroup, window_of
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.analysis.history.compile.tables_of import Rows, of_group, of_lines, of_records
from tests.support.chance import SEED
from tests.support.newer_group import KINDS, RETENTION, random_history

pytestmark = pytest.mark.random

AT_ONCE = {"group.consumer.assignment.interval.ms": 0, "group.consumer.min.assignment.interval.ms": 0}
KNOWN = Options(config=tuple((name, str(value)) for name, value in RETENTION.items()))
SECRET = b"a secret of the tests"


def _tables(seed: int, source: str) -> dict[str, Rows]:
    history = random_history(seed)
    return of_lines(history.rows) if source == "journal" else of_records("log", history.records)


@pytest.mark.parametrize("seed", range(SEED, SEED + 3 * len(KINDS), len(KINDS)))
@pytest.mark.parametrize("source", ["journal", "log"])
def test_every_window_passes(seed: int, source: str) -> None:
    """Whatever window of a random history of a consumer group, anonymised or not, with the same steps."""
    chance = Random(seed)
    rows = of_group(_tables(seed, source), f"consumer-{seed}-group")
    times = sorted({row["began_at"] for row in rows["group_states"]})
    for _ in range(2):
        start_ms, end_ms = sorted(chance.choices(times, k=2))
        window = window_of(rows, f"consumer-{seed}-group", start_ms - 10, end_ms + chance.randint(0, 5000))
        plain, hidden = (compiled(window, names, KNOWN) for names in (PlainNames(), HashedNames(SECRET)))
        assert plain.problems == [], plain.text
        assert hidden.problems == [], hidden.text
        assert plain.steps == hidden.steps
        assert f"consumer-{seed}" not in hidden.text


def _story() -> list[dict[str, Any]]:
    """Two members, of whom one leaves and one is silent for too long; a static one restarts."""
    with VirtualBroker(config=AT_ONCE) as broker:
        broker.create_topic("orders", partitions=4)
        first, second = broker.client("a"), broker.client("b")
        first.join_consumer_group("billing", ["orders"], group_instance_id="i-1")
        first.commit({("orders", 0): 1})
        broker.pass_time(s=1)
        second.join_consumer_group("billing", ["orders"])
        for client in (first, second, first, second):
            client.consumer_group_heartbeat()
            client.reconcile()
        second.commit({("orders", 1): 5}, metadata="by b")
        broker.pass_time(s=1)
        first.leave_consumer_group(is_temporary=True)
        first.join_consumer_group("billing", ["orders"], group_instance_id="i-1", member_id="returned")
        first.reconcile()
        broker.pass_time(s=1)
        second.leave_consumer_group()
        first.consumer_group_heartbeat()
        first.reconcile()
        first.commit({("orders", 1): 7})
        broker.pass_time(s=100)
        return broker.journal.rows()


def test_members_join_leave_return_and_time_out() -> None:
    """Each by name, as the journal has it, at its time; commits are those of the member that sent them."""
    lines = _story()
    rows = of_group(of_lines(lines), "billing")
    start_ms = lines[0]["wall_ms"]
    text = compiled(window_of(rows, "billing", start_ms, start_ms + 200_000), PlainNames()).text

    steps = [
        "static_i-1: join_consumer_group billing",
        "static_i-1: commit, offsets: {orders-0: 1}",
        "b: join_consumer_group billing",
        "b: commit, offsets: {orders-1: 5}, metadata: by b",
        "static_i-1: leave_consumer_group, is_temporary: true",
        "static_i-1: join_consumer_group billing",
        "b: leave_consumer_group",
        "static_i-1: commit, offsets: {orders-1: 7}",
        "group: evict billing, member: $static_i-1.member_id",
        "state: Empty, members: 0, offsets: {orders-0: 1, orders-1: 7}",
    ]
    place = 0
    for each in steps:
        assert each in text[place:], f"{each}\n{text}"
        place = text.index(each, place)


def test_without_its_records_a_consumer_group_is_refused() -> None:
    """Tables of an older version have none: the error says what to do."""
    lines = [line for line in _story() if line["kind"] != "coordinator_record"]
    rows, start_ms = of_group(of_lines(lines), "billing"), lines[0]["wall_ms"]

    with pytest.raises(UnplayableGroup, match="these tables do not have its records: make them again"):
        window_of(rows, "billing", start_ms, start_ms + 200_000)


def test_a_group_that_changes_its_type_in_the_window_is_refused() -> None:
    """Before the change, and after it, there are windows."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        classic, modern = broker.client("a"), broker.client("b")
        classic.join("billing", ["orders"])
        classic.sync({classic.member_id: {"orders": [0]}})
        classic.leave()
        broker.pass_time(s=10)
        modern.join_consumer_group("billing", ["orders"])
        broker.pass_time(s=10)
        lines = broker.journal.rows()
    rows, start_ms = of_group(of_lines(lines), "billing"), lines[0]["wall_ms"]

    with pytest.raises(UnplayableGroup, match="becomes a group of another type in this window"):
        window_of(rows, "billing", start_ms, start_ms + 20_000)
    assert compiled(window_of(rows, "billing", start_ms, start_ms + 5_000), PlainNames()).problems == []
    assert compiled(window_of(rows, "billing", start_ms + 12_000, start_ms + 20_000), PlainNames()).problems == []
