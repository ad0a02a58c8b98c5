"""Replays of histories with another retention, and the retention what-if, which must say the same."""

import json

import pytest

from fakebroker.analysis.pipeline.tables import table
from fakebroker.analysis.pipeline.tables.retention_losses import DAY_MS, HOUR_MS, WhatifOptions
from fakebroker.protocol.records.offsets_topic import TopicPartition, stored_offset
from tests.support.histories import make_history
from tests.support.history_replay import Committed, Expired, GroupChanged, OffsetDeleted, TransactionEnded, replay
from tests.support.tables_made import commits, group_states, retention_losses
from tests.support.whatif_histories import as_expired, losses_of_log, replayed

MINUTE_MS = 60_000
START_MS = 1_767_225_600_000
RETENTIONS_MS = (10 * MINUTE_MS, HOUR_MS, DAY_MS, 3 * DAY_MS, 7 * DAY_MS, 10 * DAY_MS, 21 * DAY_MS)


def commit(after_ms: int, offset: int = 5, producer_id: int | None = None) -> Committed:
    """A commit of group "g" for orders-0."""
    at_ms = START_MS + after_ms
    return Committed(at_ms, "g", stored_offset("orders", 0, offset, commit_ms=at_ms), producer_id)


def changed(after_ms: int, state: str, topics: frozenset[str] | None = None) -> GroupChanged:
    """Group "g" comes into a state."""
    return GroupChanged(START_MS + after_ms, "g", state, "consumer", topics, START_MS + after_ms)


def expired_after(inputs: list[object], retention_ms: int = HOUR_MS, until_ms: int = DAY_MS) -> list[tuple[int, int]]:
    """Which offsets expire, and how long after the beginning."""
    found = replay(inputs, retention_ms=retention_ms, since_ms=START_MS, until_ms=START_MS + until_ms)  # type: ignore[arg-type]
    return [(each.offset, each.expired_ms - START_MS) for each in found]


def test_an_offset_expires_at_the_first_cleanup_at_which_it_is_due() -> None:
    """Cleanups come at whole intervals from the beginning; the rule and the due time are reported."""
    found = replay([commit(5)], retention_ms=HOUR_MS, since_ms=START_MS, until_ms=START_MS + DAY_MS)

    due_ms = START_MS + 5 + HOUR_MS
    assert found == [Expired("g", "orders", 0, 5, START_MS + 5, due_ms, START_MS + 70 * MINUTE_MS, "EX-3")]


def test_a_cleanup_comes_before_what_happens_at_the_same_millisecond() -> None:
    """A commit at the very time of a cleanup is too late to save the offset before it."""
    assert expired_after([commit(0), commit(HOUR_MS, 6)], until_ms=HOUR_MS) == [(5, HOUR_MS)]
    assert expired_after([commit(0), commit(HOUR_MS - 1, 6)], until_ms=HOUR_MS) == []


def test_states_decide_from_when_offsets_age() -> None:
    """Members that read the topic keep its offsets; an Empty group's count from when it became Empty."""
    kept = changed(1, "Stable", frozenset({"orders"}))

    assert expired_after([commit(0), kept]) == []
    assert expired_after([commit(0), kept, changed(2 * HOUR_MS, "Empty")]) == [(5, 3 * HOUR_MS)]
    assert expired_after([commit(0), changed(1, "Stable", frozenset({"other"}))]) == [(5, HOUR_MS)]


def test_an_open_transaction_holds_what_is_due() -> None:
    """The offset goes at the first cleanup after the marker."""
    held = [commit(0), commit(1, 6, producer_id=7), TransactionEnded(START_MS + 5 * HOUR_MS + 1, 7, is_committed=False)]

    assert expired_after(list(held)) == [(5, 5 * HOUR_MS + 10 * MINUTE_MS)]


def test_what_is_deleted_does_not_expire() -> None:
    """A deletion of an offset ends it."""
    gone = OffsetDeleted(START_MS + 1, "g", TopicPartition("orders", 0))

    assert expired_after([commit(0), gone]) == []


@pytest.mark.rules("EX-1", "EX-2", "EX-3", "EX-4", "EX-5", "EX-6", "EX-8", "EX-9")
@pytest.mark.parametrize("seed", range(6))
def test_a_what_if_is_what_the_broker_does(seed: int) -> None:
    """What would be lost with a retention is what expires when the broker replays the history with that retention."""
    history = make_history(seed, steps=90, transactions=seed % 2 == 1, deletes_topics=seed % 3 == 0)
    first_ms = min((record.timestamp_ms for record in history.records), default=history.end_ms)
    options = WhatifOptions(RETENTIONS_MS, history.retention_ms, since_ms=first_ms - 777, until_ms=history.end_ms)

    losses = losses_of_log(history, options)

    for retention_ms, expired in replayed(history, RETENTIONS_MS, options).items():
        assert as_expired(losses, retention_ms) == expired


@pytest.mark.parametrize("policy", ["2.0", "2.1", "kip-211"])
def test_a_what_if_with_the_rules_of_another_release(policy: str) -> None:
    """The same with the rules that other releases had."""
    history = make_history(4, steps=150)
    first_ms = min(record.timestamp_ms for record in history.records)
    options = WhatifOptions(
        RETENTIONS_MS, history.retention_ms, since_ms=first_ms - 777, until_ms=history.end_ms, policy=policy
    )

    losses = losses_of_log(history, options)

    for retention_ms, expired in replayed(history, RETENTIONS_MS, options).items():
        assert as_expired(losses, retention_ms) == expired


@pytest.mark.slow
def test_what_ifs_of_many_histories() -> None:
    """The same for hundreds of histories."""
    for seed in range(1000, 1200):
        test_a_what_if_is_what_the_broker_does(seed)


@pytest.mark.parametrize("seed", [2, 8, 15, 27])
def test_a_what_if_of_a_journal_with_the_recorded_retention(seed: int) -> None:
    """It is what the journal says that expired; deletions are known, also those of topics that no client asked for."""
    history = make_history(seed, steps=100, moves=False, nodes=1, deletes_topics=seed % 2 == 1)
    blank = dict.fromkeys(table("events").column_names)
    events = [
        {**blank, **row, **{name: json.dumps(row[name]) for name in ("request", "response") if name in row}}
        for row in history.rows
    ]
    recorded = history.of_kind("offset_expired")
    first_ms, a_cleanup_ms = min(row["wall_ms"] for row in history.rows), recorded[0]["wall_ms"]
    since_ms = first_ms - (first_ms - a_cleanup_ms) % (10 * MINUTE_MS)
    retention_ms = history.retention_ms
    options = WhatifOptions((retention_ms,), retention_ms, since_ms=since_ms, until_ms=history.end_ms)

    losses = retention_losses(commits([], events), [], group_states([], events), events, [], options=options)

    times = ("committed_ms", "due_ms", "wall_ms", "rule")
    expected = [tuple(row[name] for name in ("group", "topic", "partition", "offset", *times)) for row in recorded]
    assert as_expired(losses, retention_ms) == sorted(expected)
