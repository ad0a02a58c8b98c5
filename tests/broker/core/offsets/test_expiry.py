"""Expiry as Kafka 4.3.1 and 3.9.1 do it (KIP-211): what is due when, and what a cleanup takes."""

import pytest

from fakebroker.broker.core.groups.classic.states import State
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from fakebroker.protocol.records.offsets_codec import read_entry
from fakebroker.protocol.records.offsets_topic import GroupEntry, OffsetEntry
from tests.support.offsets import PASS, WEEK, OffsetsCluster
from tests.support.time import DAY, HOUR, MINUTE, START

T0, U0 = ("t", 0), ("u", 0)


def rules_of(lab: OffsetsCluster) -> dict[tuple[str, int], str]:
    """The rule by which each offset expired since the last call."""
    return {(each.topic, each.partition): each.rule for each in lab.expired()}


@pytest.mark.rules("EX-1")
def test_cleanups_run_at_whole_intervals() -> None:
    """The first comes one interval after the partition was taken over, then one every interval."""
    lab = OffsetsCluster()
    lab.shard()
    lab.wait(3 * MINUTE)
    lab.commit(version=2, retention_time_ms=MINUTE)
    lab.wait(PASS - 3 * MINUTE - 1)
    assert lab.offsets() == {T0: 5}
    lab.wait(1)
    assert lab.offsets() == {}

    lab.commit(version=2, retention_time_ms=MINUTE)
    lab.wait(PASS - 1)
    assert lab.offsets() == {T0: 5}
    lab.wait(1)
    assert lab.offsets() == {}


@pytest.mark.rules("EX-1")
def test_cleanups_that_find_nothing_are_jumped_over() -> None:
    """While nothing can be due no cleanup is planned, however long that is."""
    lab = OffsetsCluster()
    lab.commit()

    assert lab.cluster.timers.wall.next_due_ms() == START.wall_ms + WEEK


@pytest.mark.rules("EX-2", "EX-3")
@pytest.mark.parametrize("minutes", [1, 10_080])
def test_a_simple_group(minutes: int) -> None:
    """Without members ever, each offset counts from its own commit; it is due when the retention is over."""
    lab = OffsetsCluster(settings={"offsets.retention.minutes": minutes, "offsets.retention.check.interval.ms": 1})
    lab.commit({T0: 5})
    lab.wait(MINUTE // 2)
    lab.commit({U0: 6})

    lab.wait(minutes * MINUTE - MINUTE // 2 - 1)
    assert lab.offsets() == {T0: 5, U0: 6}
    lab.wait(1)
    assert lab.offsets() == {U0: 6}
    lab.wait(MINUTE // 2)
    assert not lab.exists()
    assert rules_of(lab) == {T0: "EX-3", U0: "EX-3"}


@pytest.mark.rules("EX-2", "EX-16")
def test_a_later_commit_renews_a_simple_offset() -> None:
    """A simple consumer that goes on committing loses nothing; once all expired the group is gone, and made anew."""
    lab = OffsetsCluster()
    for _ in range(4):
        lab.commit()
        lab.wait(6 * DAY)
    assert lab.offsets() == {T0: 5}

    lab.wait(DAY)
    assert not lab.exists()
    assert lab.commit_codes(generation_id_or_member_epoch=1, member_id="m") == [ErrorCode.GROUP_ID_NOT_FOUND]
    assert lab.commit_codes(generation_id_or_member_epoch=1, member_id="m", version=8) == [ErrorCode.ILLEGAL_GENERATION]
    assert lab.commit_codes() == [0]


@pytest.mark.rules("EX-3", "EX-5")
def test_an_emptied_group_counts_from_then() -> None:
    """All offsets of a group whose members left are due together, also one committed a moment before."""
    lab = OffsetsCluster()
    member = lab.stable()
    lab.commit({T0: 5}, member_id=member, generation_id_or_member_epoch=1)
    lab.wait(5 * DAY)
    lab.leave(member)
    lab.wait(WEEK - HOUR)
    lab.commit({U0: 6})
    assert lab.offsets() == {T0: 5, U0: 6}

    lab.wait(HOUR)
    assert not lab.exists()
    assert rules_of(lab) == {T0: "EX-3", U0: "EX-5"}


@pytest.mark.rules("EX-5")
def test_rejoining_stops_the_clock() -> None:
    """A member that comes back in time saves the offsets; becoming Empty again starts anew."""
    lab = OffsetsCluster()
    lab.commit({T0: 5})
    lab.emptied()
    lab.wait(WEEK - 1)
    lab.emptied()
    lab.wait(WEEK - 1)
    assert lab.offsets() == {T0: 5}
    lab.wait(PASS)
    assert not lab.exists()


@pytest.mark.rules("EX-5")
def test_a_long_explicit_retention_keeps_the_group_only() -> None:
    """An offset with longer retention outlives the others; what is committed plainly then is due at once."""
    lab = OffsetsCluster()
    lab.commit({T0: 5}, version=2, retention_time_ms=20 * DAY)
    lab.commit({("t", 1): 6})
    lab.emptied()
    lab.wait(WEEK)
    assert lab.offsets() == {T0: 5}

    lab.commit({U0: 7})
    lab.wait(PASS)
    assert lab.offsets() == {T0: 5}
    assert rules_of(lab) == {("t", 1): "EX-3", U0: "EX-5"}
    lab.wait(13 * DAY)
    assert not lab.exists()


@pytest.mark.rules("EX-3")
def test_an_empty_group_with_an_old_record() -> None:
    """A record that does not say since when the group is Empty leaves the commits to count from."""
    lab = OffsetsCluster()
    lab.commit({T0: 5})
    lab.emptied()
    lab.wait(DAY)
    lab.commit({U0: 6})
    lab.group().state_ms = -1
    lab.wait(WEEK - DAY)

    assert lab.offsets() == {U0: 6}


@pytest.mark.rules("EX-3", "EX-7", "EX-15")
def test_a_stable_group_keeps_what_it_reads() -> None:
    """In a Stable consumer group only offsets of topics nobody reads are due, each by its commit."""
    lab = OffsetsCluster()
    lab.commit({T0: 5, U0: 6})
    lab.stable(topics=["t"])
    lab.wait(WEEK - 1)
    assert lab.offsets() == {T0: 5, U0: 6}

    lab.wait(PASS)
    assert lab.offsets() == {T0: 5}
    assert rules_of(lab) == {U0: "EX-3"}
    lab.wait(WEEK)
    assert lab.offsets() == {T0: 5}


@pytest.mark.rules("EX-7")
@pytest.mark.parametrize("version", range(4))
def test_subscriptions_of_several_members(version: int) -> None:
    """The topics of all members count, read from subscriptions of every version."""
    lab = OffsetsCluster()
    lab.commit({T0: 5, U0: 6})
    first = lab.stable(metadata=encode_subscription(ConsumerProtocolSubscription(topics=["t"]), version))
    second = lab.join(metadata=encode_subscription(ConsumerProtocolSubscription(topics=["u"]), version))
    lab.join(member_id=first, metadata=encode_subscription(ConsumerProtocolSubscription(topics=["t"]), version))
    lab.sync(first)
    lab.sync(second.member_id)
    assert lab.group().state is State.STABLE
    lab.wait(8 * DAY)

    assert lab.offsets() == {T0: 5, U0: 6}


@pytest.mark.rules("EX-3", "EX-7")
@pytest.mark.parametrize("join", [{"metadata": b"?"}, {"protocol_type": "connect"}])
def test_when_nobody_knows_what_is_read(join: dict[str, object]) -> None:
    """Unreadable subscriptions and other protocol types: nothing expires while there are members."""
    lab = OffsetsCluster()
    lab.commit({T0: 5, U0: 6})
    member = lab.stable(**join)  # type: ignore[arg-type]
    lab.wait(9 * DAY)
    assert lab.offsets() == {T0: 5, U0: 6}

    lab.leave(member)
    lab.wait(WEEK + PASS)
    assert not lab.exists()


@pytest.mark.rules("EX-3", "EX-6", "EX-15")
def test_nothing_expires_in_a_rebalance() -> None:
    """While members rejoin nothing expires, not even by its own timestamp; once Stable what was dropped goes."""
    lab = OffsetsCluster()
    lab.commit({T0: 5, U0: 6}, version=2, retention_time_ms=MINUTE)
    member = lab.stable(topics=["t", "u"])
    lab.join(topics=["t"], rebalance_ms=DAY)
    lab.join(topics=["t"], member_id=member, rebalance_ms=DAY)
    assert lab.group().state is State.COMPLETING
    lab.wait(DAY - PASS - 1)
    assert lab.offsets() == {T0: 5, U0: 6}

    lab.sync(lab.group().leader or "")
    lab.wait(PASS)
    assert lab.offsets() == {T0: 5}
    assert rules_of(lab) == {U0: "EX-2"}


@pytest.mark.rules("EX-6")
def test_an_expire_timestamp_does_not_widen_the_table() -> None:
    """An offset that a Stable group reads survives its expire timestamp."""
    lab = OffsetsCluster()
    lab.commit({T0: 5, U0: 6}, version=4, retention_time_ms=0)
    lab.stable(topics=["t"])
    lab.wait(PASS)

    assert lab.offsets() == {T0: 5}
    (story,) = lab.explain().offsets[:1]
    assert (story.rule, story.due_ms) == ("EX-6", None)


@pytest.mark.rules("EX-2", "OC-12", "OC-21")
@pytest.mark.parametrize("retention_ms", [0, -2, 2**63 - 1])
def test_due_at_once(retention_ms: int) -> None:
    """Retention 0, negative retention and one that wraps are due at the next cleanup."""
    lab = OffsetsCluster()
    lab.commit(version=3, retention_time_ms=retention_ms)
    lab.wait(PASS)

    assert not lab.exists()


@pytest.mark.rules("EX-2")
def test_an_expire_timestamp_replaces_base_and_retention() -> None:
    """It may be later than the retention would be, or earlier."""
    lab = OffsetsCluster()
    lab.commit({T0: 5}, version=2, retention_time_ms=10 * DAY)
    lab.commit({U0: 6}, version=2, retention_time_ms=DAY)
    lab.wait(DAY)
    assert lab.offsets() == {T0: 5}
    lab.wait(9 * DAY - 1)
    assert lab.offsets() == {T0: 5}
    lab.wait(1)
    assert not lab.exists()


@pytest.mark.rules("EX-4", "EX-9")
@pytest.mark.parametrize("commits", [True, False])
def test_a_pending_offset_holds_its_partition(commits: bool) -> None:
    """While a transaction holds a partition its offset stays, and so does the group; then it goes if still due."""
    lab = OffsetsCluster()
    lab.commit({T0: 5, U0: 6}, version=2, retention_time_ms=MINUTE)
    lab.pend({T0: 50})
    lab.wait(HOUR)
    assert lab.offsets() == {T0: 5}
    assert lab.explain().offsets[0].rule == "EX-4"

    lab.shard().replay_end_transaction_marker(7, commits, lab.now)
    lab.wait(PASS)
    assert lab.offsets() == ({T0: 50} if commits else {})
    assert lab.exists() == commits


@pytest.mark.rules("EX-8", "CR-14")
def test_tombstones_of_a_cleanup() -> None:
    """What a pass takes is one batch: each group's offsets and then, if it is gone, the group."""
    lab = OffsetsCluster()
    lab.commit({T0: 5, ("t", 1): 6})
    before = len(lab.batches())
    lab.wait(WEEK)

    entries = [read_entry(record.key, record.value) for record in lab.records()[-3:]]
    assert entries == [OffsetEntry("g", "t", 0, None), OffsetEntry("g", "t", 1, None), GroupEntry("g", None)]
    assert len(lab.batches()) == before + 1


@pytest.mark.rules("EX-8", "EX-12", "CR-14")
@pytest.mark.parametrize(("as_release", "batches"), [("4.3", 1), ("3.9", 3)])
def test_tombstones_of_several_groups(as_release: str, batches: int) -> None:
    """What a pass or the end of a topic takes from several groups is one batch; in 3.9.1 one for each group."""
    lab = OffsetsCluster(as_release, settings={"offsets.topic.num.partitions": 1})
    for commit, cause in (
        ({"version": 3, "retention_time_ms": 0}, lambda: lab.wait(PASS)),
        ({}, lambda: lab.cluster.topics.delete("t", lab.now)),
    ):
        for group_id in ("a", "b", "c"):
            lab.commit(group_id=group_id, **commit)  # type: ignore[arg-type]
        before = len(lab.batches("a"))
        cause()
        assert len(lab.batches("a")) - before == batches


@pytest.mark.rules("EX-9")
def test_an_empty_group_without_offsets_goes_at_once() -> None:
    """It needs no retention: the first cleanup takes a group that never committed or was emptied without offsets."""
    lab = OffsetsCluster()
    lab.emptied()
    lab.wait(PASS - 1)
    assert lab.exists()
    lab.wait(1)
    assert not lab.exists()


@pytest.mark.rules("EX-9")
def test_a_group_with_nothing_but_handed_out_ids() -> None:
    """Ids that nobody joined with do not keep a group; they are unknown afterwards."""
    lab = OffsetsCluster()
    shard = lab.shard()
    group = shard.create_group("g", lab.now)
    group.pending_join_members.add("m-1", 20 * DAY, group, lab.now)
    lab.wait(PASS)

    assert not lab.exists()
    assert lab.commit_codes(member_id="m-1", generation_id_or_member_epoch=0) == [ErrorCode.GROUP_ID_NOT_FOUND]


@pytest.mark.rules("EX-10", "CR-11")
@pytest.mark.parametrize(("as_release", "tombstones"), [("4.3", 1), ("3.9", 0)])
def test_the_tombstone_of_a_simple_group(as_release: str, tombstones: int) -> None:
    """4.3.1 writes one for a group that never had a record, 3.9.1 only if there ever was a generation."""
    lab = OffsetsCluster(as_release)
    lab.commit()
    lab.wait(WEEK)

    entries = [read_entry(record.key, record.value) for record in lab.records()]
    assert entries.count(GroupEntry("g", None)) == tombstones


@pytest.mark.rules("EX-10")
def test_the_tombstone_of_a_group_with_a_generation_in_3_9() -> None:
    """A group that had members leaves one in 3.9.1 too."""
    lab = OffsetsCluster("3.9")
    lab.emptied()
    lab.wait(PASS)

    assert read_entry(lab.records()[-1].key, lab.records()[-1].value) == GroupEntry("g", None)


@pytest.mark.rules("EX-11")
def test_a_group_with_members_stays() -> None:
    """Whatever happens to its offsets."""
    lab = OffsetsCluster()
    lab.commit({U0: 6})
    lab.stable(topics=["t"])
    lab.wait(8 * DAY)

    assert lab.offsets() == {}
    assert lab.exists()


@pytest.mark.rules("EX-12", "XT-5")
def test_deleting_a_topic() -> None:
    """Its offsets go in all groups and states, pending ones too; an Empty group without any goes at the next run."""
    lab = OffsetsCluster()
    lab.commit({T0: 5, U0: 6})
    lab.stable(topics=["t"])
    lab.commit({T0: 7}, group_id="h")
    lab.pend({T0: 50}, group_id="h")
    lab.cluster.topics.delete("t", lab.now)

    assert lab.offsets() == {U0: 6}
    assert lab.exists("h")
    assert lab.group("h").offsets.is_empty()
    lab.cluster.topics.create("t", 4, 1)
    assert lab.ask("OffsetFetch", 7, group_id="g", topics=None).topics[0].name == "u"
    lab.wait(PASS)
    assert not lab.exists("h")


@pytest.mark.rules("EX-12")
def test_deleting_a_topic_in_3_9() -> None:
    """3.9.1 removes the emptied group at once, in the same batch."""
    lab = OffsetsCluster("3.9")
    lab.commit({T0: 5})
    lab.emptied()
    before = len(lab.batches())
    lab.cluster.topics.delete("t", lab.now)

    assert not lab.exists()
    assert len(lab.batches()) == before + 1
    assert [record.value for record in lab.records()[-2:]] == [None, None]


@pytest.mark.rules("EX-14")
def test_the_text_of_the_proposal() -> None:
    """The text: unread topics age in every live state and for every protocol type; an Empty group goes as a whole."""
    lab = OffsetsCluster(settings={"fakebroker.expiry.policy": "kip-211"})
    lab.commit({T0: 5, U0: 6})
    member = lab.stable(topics=["t"])
    lab.join(topics=["t"], rebalance_ms=20 * DAY)
    assert lab.group().state is State.PREPARING
    lab.wait(WEEK)
    assert lab.offsets() == {T0: 5}

    lab.join(topics=["t"], member_id=member)
    for member_id in list(lab.group().members):
        lab.leave(member_id)
    lab.commit({U0: 7}, version=2, retention_time_ms=20 * DAY)
    lab.wait(WEEK + PASS)
    assert not lab.exists()
    assert set(rules_of(lab).values()) == {"EX-14"}


@pytest.mark.rules("EX-14")
def test_the_text_and_unknown_subscriptions() -> None:
    """What nobody can read is kept."""
    lab = OffsetsCluster(settings={"fakebroker.expiry.policy": "kip-211"})
    lab.commit({T0: 5})
    lab.stable(metadata=b"?")
    lab.wait(9 * DAY)

    assert lab.offsets() == {T0: 5}
    assert "unknown" in lab.explain().why


@pytest.mark.rules("EX-17", "CR-5")
def test_before_the_proposal() -> None:
    """2.0.1: each offset dies on its own timer, also that of a live member that reads the topic."""
    lab = OffsetsCluster("2.0")
    member = lab.stable(topics=["t"])
    lab.commit({T0: 5}, version=1, member_id=member, generation_id_or_member_epoch=1)
    lab.commit({U0: 6}, version=2, member_id=member, generation_id_or_member_epoch=1, retention_time_ms=DAY)
    lab.commit(
        {("u", 1): 7}, version=1, own_ms=lab.now.wall_ms - 6 * DAY, member_id=member, generation_id_or_member_epoch=1
    )
    retention_ms = lab.shard().cleanup.retention_ms

    stored = {
        entry.partition: entry.value
        for entry in (read_entry(record.key, record.value) for record in lab.records())
        if isinstance(entry, OffsetEntry) and entry.topic == "u" and entry.value
    }
    assert stored[0][-2] == START.wall_ms + DAY
    assert stored[1][-3:-1] == (START.wall_ms, START.wall_ms - 6 * DAY + retention_ms)
    lab.wait(DAY)
    assert lab.offsets() == {T0: 5}
    lab.wait(retention_ms)
    assert lab.offsets() == {}
    assert lab.exists()
    assert set(rules_of(lab).values()) == {"EX-17"}


@pytest.mark.rules("EX-17")
def test_an_empty_group_before_the_proposal() -> None:
    """Without members the group is gone with its last offset."""
    lab = OffsetsCluster("2.0")
    lab.commit(version=2, retention_time_ms=DAY)
    lab.wait(DAY)

    assert not lab.exists()


@pytest.mark.rules("EX-18")
def test_the_proposal_as_first_released() -> None:
    """2.1.1: nothing expires while the group has members, not even what nobody reads; an Empty one as today."""
    lab = OffsetsCluster("2.1")
    lab.commit({T0: 5}, version=2, retention_time_ms=DAY)
    lab.commit({U0: 6}, version=2)
    member = lab.stable(topics=["t"])
    lab.wait(9 * DAY)
    assert lab.offsets() == {T0: 5, U0: 6}

    lab.leave(member)
    lab.wait(PASS)
    assert lab.offsets() == {U0: 6}
    lab.wait(WEEK)
    assert not lab.exists()
    assert rules_of(lab) == {T0: "EX-2", U0: "EX-3"}


def test_the_setting_overrides_the_release() -> None:
    """A broker of today can live under older rules."""
    lab = OffsetsCluster(settings={"fakebroker.expiry.policy": "2.1"})
    lab.commit({U0: 6})
    lab.stable(topics=["t"])
    lab.wait(9 * DAY)

    assert lab.offsets() == {U0: 6}
    assert lab.explain().policy == "2.1"
