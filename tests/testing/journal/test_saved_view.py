"""A saved journal answers what the page asks as the broker that wrote it did."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker import FakeBroker
from fakebroker.cli.http.answers import to_json
from fakebroker.protocol.errors import UnknownThing
from fakebroker.testing.journal.saved_view import SavedView
from tests.support.chance import examples


@pytest.fixture(scope="module")
def broker() -> Iterator[FakeBroker]:
    """A broker with a member, a fault that hit it, and an offset that expired."""
    with FakeBroker() as broker:
        broker.create_topic("orders", partitions=2)
        broker.fault(api="Heartbeat", error="NOT_COORDINATOR", times=1)
        member = broker.client("svc-1")
        member.join("billing", ["orders"])
        member.sync({member.member_id: {"orders": [0, 1]}})
        member.heartbeat()
        member.commit({("orders", 0): 1})
        member.leave()
        broker.clock.advance(days=9)
        yield broker


@pytest.fixture(scope="module")
def saved(broker: FakeBroker) -> SavedView:
    """The same from its lines."""
    return SavedView(broker.journal.rows())


def without_words(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name != "text"} for line in lines]


@examples(40)
@given(
    st.integers(0, 60),
    st.none() | st.integers(0, 60),
    st.integers(1, 40),
    st.sampled_from([None, "request", "transition|offset_expired"]),
    st.sampled_from([None, "billing", "none"]),
)
def test_stretches_are_the_same(
    broker: FakeBroker,
    saved: SavedView,
    since: int,
    before: int | None,
    limit: int,
    kind: str | None,
    group: str | None,
) -> None:
    """The same lines for the same question; whoever goes on finds the rest."""
    asked: dict[str, Any] = {"before": before} if before is not None else {"since": since}

    live = broker.journal.brief(**asked, limit=limit, kind=kind, group=group)
    found = saved.brief(**asked, limit=limit, kind=kind, group=group)

    assert without_words(found.lines) == without_words(live.lines)
    assert (found.first_seq, found.next_seq) == (live.first_seq, live.next_seq)


def test_an_entry_in_full(broker: FakeBroker, saved: SavedView) -> None:
    """The faults and events of a request, its errors with their rules, as the broker tells them."""
    (heartbeat,) = broker.journal.requests(api="Heartbeat")
    live, found = to_json(broker.journal.entry(heartbeat.seq), frozenset()), saved.entry(heartbeat.seq)

    assert found["lines"] == live["lines"]
    assert found["faults"] == live["faults"] != []
    assert found["errors"] == live["errors"] != []
    for entry in broker.journal.requests():
        live, found = broker.journal.entry(entry.seq), saved.entry(entry.seq)
        assert [each["seq"] for each in found["events"]] == [each.seq for each in live.events], entry


def test_an_entry_that_is_not_there(saved: SavedView) -> None:
    """It is named."""
    with pytest.raises(UnknownThing, match="this journal has no entry 100000"):
        saved.entry(100_000)


def test_what_broker_it_was(broker: FakeBroker, saved: SavedView) -> None:
    """The lines say it."""
    assert saved.started["release"] == "4.3.1"
    assert saved.nodes == [1]
    assert (saved.first_seq, saved.next_seq) == (0, broker.journal.next_seq)


def test_an_empty_journal() -> None:
    """There is nothing, and nothing goes wrong."""
    found = SavedView([]).brief()

    assert (found.lines, found.first_seq, found.next_seq, found.next, found.previous) == ([], 0, 0, None, None)
