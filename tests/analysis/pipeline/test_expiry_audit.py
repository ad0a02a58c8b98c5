"""The expiry audit: it agrees with the broker, and sees what a journal gets wrong."""

from typing import Any

import pytest

from fakebroker.analysis.pipeline.expiry_facts import (
    BROKER_UNKNOWN,
    COMMIT_UNKNOWN,
    TOPICS_UNKNOWN,
    TRANSACTION,
    TYPE_UNKNOWN,
    broker_facts,
)
from fakebroker.broker.release import RELEASES
from tests.support.chance import IS_SEEDED, SEED
from tests.support.gold_tables import events_of
from tests.support.histories import History, make_history
from tests.support.newer_group import (
    journal_of_a_downgrade,
    journal_of_a_held_offset,
    journal_of_a_loaded_group,
    journal_of_newer_group,
    random_history,
)
from tests.support.tables_made import expiry_audit

SEEDS = range(8)
HOUR_MS = 3_600_000


def _journal(seed: int, **changes: Any) -> History:
    """One that has expiries: they all have by far."""
    found = make_history(seed, steps=80, **changes)
    assert found.rows
    return found


@pytest.mark.random
@pytest.mark.rules("EX-2", "EX-3", "EX-5", "EX-14", "EX-17", "EX-18")
@pytest.mark.parametrize("as_release", ["4.3", "3.9", "2.1", "2.0"])
@pytest.mark.parametrize("policy", ["release", "2.0", "2.1", "kip-211"])
def test_what_the_broker_expires_is_what_the_rules_say(as_release: str, policy: str) -> None:
    """Every expiry of random histories is recomputed as it was, and no offset should have expired that did not."""
    config = {"fakebroker.expiry.policy": policy}
    for seed in SEEDS if IS_SEEDED else SEEDS[:2]:
        history = _journal(seed, as_release=as_release, config=config, deletes_topics=True, steps_back=seed % 2 == 0)
        found = expiry_audit(events_of(history.rows))

        assert len(found) == len(history.of_kind("offset_expired"))
        assert all(row["agrees"] or row["unknown_because"] == TOPICS_UNKNOWN for row in found)
        assert policy == "kip-211" or all(row["agrees"] for row in found)


@pytest.mark.rules("CGO-10")
def test_offsets_of_newer_groups_count_from_their_commits() -> None:
    """Also while it has members: what these read is in the records of the group."""
    found = expiry_audit(events_of(journal_of_newer_group()))

    assert [(row["topic"], row["agrees"], row["unknown_because"]) for row in found] == [
        ("payments", True, None),
        ("orders", True, None),
    ]
    assert {row["recorded_rule"] for row in found} == {"CGO-10"}


@pytest.mark.rules("CGO-10")
def test_the_records_of_a_load_tell_the_type_of_a_newer_group() -> None:
    """Of one without members, too; a journal without such lines does not, so the audit does not judge the expiry."""
    lines = journal_of_a_loaded_group()
    (row,) = expiry_audit(events_of(lines))
    (other,) = expiry_audit(events_of(line for line in lines if line["kind"] != "coordinator_record"))

    assert (row["recorded_rule"], row["agrees"], row["unknown_because"]) == ("CGO-10", True, None)
    assert (other["recorded_rule"], other["agrees"], other["unknown_because"]) == ("CGO-10", None, TYPE_UNKNOWN)


@pytest.mark.rules("CGO-11")
def test_a_transaction_holds_its_offset_in_a_group_of_another_kind_too() -> None:
    """The group that takes the place of another one has its offsets, so none should have expired."""
    assert expiry_audit(events_of(journal_of_a_held_offset())) == []


@pytest.mark.rules("CGM-11", "EX-3")
def test_a_consumer_group_that_becomes_classic_is_judged_as_one() -> None:
    """Its first record says what its members read, also when it need not rebalance."""
    (row,) = expiry_audit(events_of(journal_of_a_downgrade()))

    assert (row["topic"], row["recorded_rule"], row["agrees"]) == ("payments", "EX-3", True)


@pytest.mark.rules("CGO-10")
def test_what_the_broker_expires_of_newer_groups_is_what_the_rules_say() -> None:
    """Of random consumer and streams groups, and of groups that change between classic and consumer."""
    rules = set()
    for seed in range(SEED, SEED + 24):
        rows = random_history(seed).rows
        found = expiry_audit(events_of(rows))

        assert len(found) == sum(row["kind"] == "offset_expired" for row in rows)
        assert all(row["agrees"] or row["unknown_because"] == TOPICS_UNKNOWN for row in found), seed
        rules |= {row["recomputed_rule"] for row in found if row["agrees"]}

    assert "CGO-10" in rules


def test_every_rule_decides_somewhere() -> None:
    """The histories are rich enough to show them."""
    rules = {
        row["recomputed_rule"]
        for seed in SEEDS
        for release in ("4.3", "2.0")
        for row in expiry_audit(events_of(_journal(seed, as_release=release).rows))
    }

    assert rules == {"EX-2", "EX-3", "EX-5", "EX-17"}


def test_an_expiry_that_is_not_recorded_is_missed() -> None:
    """Without its line the audit says of the commit when it was due; of all other commits it says what it said."""
    missed = 0
    for seed in SEEDS:
        rows = _journal(seed).rows
        for gone in [row for row in rows if row["kind"] == "offset_expired"][:2]:
            found = expiry_audit(events_of(row for row in rows if row is not gone))
            wrong = [row for row in found if not row["agrees"]]
            missed += len(wrong)
            for row in wrong:
                assert (row["group_id"], row["topic"], row["partition"]) == (
                    gone["group"], gone["topic"], gone["partition"],
                )  # fmt: skip
                assert row["recorded_at"] is None
                assert row["recomputed_due_at"] <= gone["wall_ms"]

    assert missed > 6  # not all: another commit, or another state of the group, may come before a check had to


@pytest.mark.parametrize("change", [{"due_ms": 1}, {"rule": "EX-2"}])
def test_an_expiry_for_another_reason_does_not_agree(change: dict[str, Any]) -> None:
    """Another due time or rule than the rules give is reported as it was recorded."""
    rows = [dict(row) for row in _journal(3).rows]
    expired = next(row for row in rows if row["kind"] == "offset_expired" and row["rule"] == "EX-3")
    expired.update(change)

    (wrong,) = [row for row in expiry_audit(events_of(rows)) if not row["agrees"]]
    assert wrong["expiry_seq"] == expired["seq"]
    assert wrong["recorded_rule"] == expired["rule"]
    assert wrong["recorded_due_at"] == expired["due_ms"]


def test_what_a_journal_does_not_tell_is_said_to_be_unknown() -> None:
    """Without the broker's line, or that of the commit, nothing is recomputed, and nothing is said to be wrong."""
    rows = _journal(3).rows
    expired = next(row for row in rows if row["kind"] == "offset_expired")
    place = ("group", "topic", "partition")
    without_commit = [
        row
        for row in rows
        if not (row["kind"] == "offset_committed" and all(row[name] == expired[name] for name in place))
    ]
    without_broker = [row for row in rows if row["kind"] != "broker_started"]

    assert {row["unknown_because"] for row in expiry_audit(events_of(without_broker))} == {BROKER_UNKNOWN}
    unknown = [row for row in expiry_audit(events_of(without_commit)) if row["agrees"] is None]
    assert {row["unknown_because"] for row in unknown} == {COMMIT_UNKNOWN}
    assert {(row["group_id"], row["topic"], row["partition"]) for row in unknown} == {
        tuple(expired[name] for name in place)
    }


def test_offsets_of_transactions_are_unknown() -> None:
    """A journal does not tell how a transaction ends; whatever else there is agrees."""
    found = [row for seed in SEEDS for row in expiry_audit(events_of(_journal(seed, transactions=True).rows))]

    assert {row["unknown_because"] for row in found if row["agrees"] is None} == {TRANSACTION}
    assert not [row for row in found if row["agrees"] is False]


def test_two_brokers_in_one_run_know_nothing_of_each_other() -> None:
    """After another `broker_started` line, as `reset` gives, what was before is forgotten; nothing gives nothing."""
    first, second = _journal(3), _journal(4)
    shift = first.rows[-1]["seq"] + 1
    later = [row | {"run": first.run, "seq": row["seq"] + shift} for row in second.rows]
    found = expiry_audit(events_of([*first.rows, *later]))

    assert len(found) == len(first.of_kind("offset_expired")) + len(second.of_kind("offset_expired"))
    assert all(row["agrees"] for row in found)
    assert expiry_audit([]) == []


@pytest.mark.parametrize("name", RELEASES)
def test_the_facts_of_a_release_are_those_of_the_broker(name: str) -> None:
    """Policy, retention and interval, which the audit has from the documentation, are what a broker of it uses."""
    history = make_history(1, as_release=name, steps=1, config={"fakebroker.expiry.policy": "release"})
    facts = broker_facts(name, history.rows[0]["settings"])

    assert facts.policy == ("4.3" if history.policy == "3.9" else history.policy)
    assert facts.retention_ms == history.retention_ms
    assert broker_facts(name, '{"offsets.retention.check.interval.ms": "5"}').interval_ms == 5
    assert broker_facts(name, {"offsets.retention.minutes": "60"}).retention_ms == HOUR_MS
