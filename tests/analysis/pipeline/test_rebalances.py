"""Rebalances: counted by hand, and every reason of the broker has a cause."""

from typing import Any

import pytest

from fakebroker.analysis.pipeline.causes import CAUSES, REQUESTED, UNKNOWN, Cause, cause_of
from fakebroker.broker.core.groups.classic.reasons import Reason
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.gold_tables import events_of, silver_of
from tests.support.histories import make_history
from tests.support.tables_made import rebalances


def _span(state: str, place: int, at: int, generation: int = 0, **more: Any) -> dict[str, Any]:
    row = {
        "group_id": "g", "group_type": "classic", "state": state, "generation": generation, "members": None,
        "began_at": at, "ended_at": None, "reason": None, "source": "run", "log_partition": None, "log_offset": None,
        "seq": place, "part": 0,
    }  # fmt: skip
    return row | more


@pytest.mark.parametrize(
    ("reason", "cause", "trigger"),
    [
        ("member a-1 joined", "member joined", "a-1"),
        ("member a-1 joined (rebalance, member b left)", "member joined", "a-1"),
        ("members a, b left (shutting down)", "member left", "a, b"),
        ("a-1, which had not joined yet, left", "pending member left", "a-1"),
        ("member my app-1 exceeded its session timeout", "session expired", "my app-1"),
        ("member a did not join after it got its member id", "new member did not join", "a"),
        ("members a, b, c and others sent no SyncGroup in time", "no SyncGroup in time", "a, b, c and others"),
        (
            "member a did not rejoin in time, and the consumer group became a classic one",
            "member did not rejoin",
            "a",
        ),
        (
            "member a did not give up its partitions in time, and the consumer group became a classic one",
            "partitions not given up",
            "a",
        ),
        ("the leader changed its metadata", "subscription changed", None),
        ("member a changed its metadata", "subscription changed", "a"),
        ("the leader rejoined", "leader rejoined", None),
        ("static member i-1 returned", "static member returned", "i-1"),
        ("member a was evicted by a test", "evicted by a test", "a"),
        ("storing the assignment failed with MESSAGE_TOO_LARGE", "assignment not stored", None),
        ("the loaded group has more members than group.max.size", "group too large", None),
        ("requested by a test", "requested by a test", None),
    ],
)
def test_reasons_have_causes(reason: str, cause: str, trigger: str | None) -> None:
    """The cause is the first thing that is said of members; words of the client in brackets do not matter."""
    assert cause_of(reason) == Cause(cause, trigger)
    assert cause in CAUSES


@pytest.mark.parametrize("reason", Reason)
def test_a_new_reason_needs_a_cause(reason: Reason) -> None:
    """Each reason that the broker starts a rebalance for has a cause of its own, also with words of the client."""
    assert cause_of(reason.of("member a")).cause not in (REQUESTED, UNKNOWN)
    assert cause_of(reason.of("member a")) == cause_of(reason.of("member a", "member b joined"))


def test_random_histories_have_causes_but_those_of_tests() -> None:
    """Clients of random histories give no words of their own, so none is taken for a test's."""
    found = [
        row for seed in range(8) for row in rebalances(silver_of(events_of(make_history(seed).rows))["group_states"])
    ]

    assert {"member joined", "member left", "session expired", "subscription changed", "leader rejoined"} <= {
        row["cause"] for row in found
    }
    assert not {REQUESTED, UNKNOWN} & {row["cause"] for row in found}


def test_a_rebalance_lasts_until_the_group_has_assignments_again() -> None:
    """Of a broker whose members join and leave in virtual time: as many as were made, each as long as it took."""
    with VirtualBroker(config={"group.initial.rebalance.delay.ms": 3000}) as broker:
        broker.create_topic("orders")
        client = broker.client("a")
        client.join("billing", ["orders"])
        broker.pass_time(s=2)
        client.sync({client.member_id: {"orders": [0]}})
        broker.pass_time(s=10)
        client.leave()
        found = rebalances(silver_of(events_of(broker.journal.rows()))["group_states"])

    assert [(row["cause"], row["result"], row["generation_before"], row["generation"]) for row in found] == [
        ("member joined", "Stable", 0, 1),
        ("member left", "Empty", 1, 2),
    ]
    assert found[0]["duration_ms"] == pytest.approx(5000, abs=50)
    assert found[1]["duration_ms"] == 0


def test_one_that_begins_again_is_one() -> None:
    """It ends with the first state that is Stable or Empty; one that is Dead or has no end made no generation."""
    spans = [
        _span("Stable", 1, 1000, 4, members=2),
        _span("PreparingRebalance", 2, 2000, 4, reason="member c joined"),
        _span("CompletingRebalance", 3, 3000, 5),
        _span("PreparingRebalance", 4, 4000, 5, reason="member a left"),
        _span("CompletingRebalance", 5, 5000, 6),
        _span("Stable", 6, 6000, 6, members=1),
        _span("PreparingRebalance", 7, 7000, 6, reason="member a left"),
        _span("Dead", 8, 8000, 6, reason="deleted"),
        _span("PreparingRebalance", 9, 9000, 0, reason="member d joined"),
    ]
    first, second, third = rebalances(reversed(spans))

    assert (first["began_at"], first["ended_at"], first["duration_ms"]) == (2000, 6000, 4000)
    assert (first["trigger"], first["generation_before"], first["generation"]) == ("c", 4, 6)
    assert (first["members_before"], first["members"]) == (2, 1)
    assert (second["result"], second["ended_at"], second["generation"]) == ("Dead", None, None)
    assert (third["result"], third["duration_ms"]) == ("unfinished", None)


def test_a_clock_that_goes_back_gives_no_negative_duration() -> None:
    """The order is that of the journal; how long it took nobody knows."""
    spans = [_span("PreparingRebalance", 1, 5000, reason="member a joined"), _span("Stable", 2, 4000, 1)]

    (row,) = rebalances(spans)
    assert (row["result"], row["ended_at"], row["duration_ms"]) == ("Stable", 4000, None)


def test_a_log_tells_generations_only() -> None:
    """Each record with another generation is a rebalance of an unknown cause; nothing gives nothing."""
    of_log = {"seq": None, "part": None, "log_partition": 3}
    spans = [
        _span("Stable", 0, 1000, 1, log_offset=5, members=1, **of_log),
        _span("Stable", 0, 2000, 1, log_offset=6, members=1, **of_log),
        _span("Empty", 0, 3000, 2, log_offset=7, members=0, **of_log),
        _span("Dead", 0, 4000, 0, log_offset=8, **of_log),
    ]
    found = rebalances(spans)

    assert [(row["generation_before"], row["generation"], row["result"], row["cause"]) for row in found] == [
        (None, 1, "Stable", UNKNOWN),
        (1, 2, "Empty", UNKNOWN),
    ]
    assert rebalances([]) == []
