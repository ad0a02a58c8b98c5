"""TxnOffsetCommit, as far as groups are concerned: who may commit in a transaction, and that it stays pending."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import parse_header
from fakebroker.protocol.records.offsets_codec import read_entry
from fakebroker.protocol.records.offsets_topic import OffsetEntry
from fakebroker.protocol.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.group_apis import GroupApis
from tests.support.offsets import NO_ID, OffsetsCluster

OK = ErrorCode.NONE
NO_PARTITION = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
NOT_HERE = ErrorCode.NOT_COORDINATOR
GENERATION = ErrorCode.ILLEGAL_GENERATION
NO_GROUP_ID = ErrorCode.INVALID_GROUP_ID
UNKNOWN_MEMBER = ErrorCode.UNKNOWN_MEMBER_ID
FENCED = ErrorCode.FENCED_INSTANCE_ID
PLACE = {("t", 0): 5}


def unverified(
    as_release: str = "4.3", *, settings: Mapping[str, object] | None = None, **nodes: Any
) -> OffsetsCluster:
    """A cluster that does not ask the transaction coordinator, so that any producer may commit up to v4."""
    values = {"transaction.partition.verification.enable": False, **(settings or {})}
    return OffsetsCluster(as_release, settings=values, **nodes)


def commit(
    lab: OffsetsCluster,
    offsets: Mapping[tuple[str, int], int] = PLACE,
    *,
    version: int = 3,
    metadata: str | None = "",
    group_id: str = "g",
    **request: Any,
) -> list[int]:
    """The codes as answered."""
    topics = [
        TxnOffsetCommitRequestTopic(
            name=name,
            partitions=[
                TxnOffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset, committed_metadata=metadata
                )
            ],
        )
        for (name, index), offset in offsets.items()
    ]
    who: dict[str, Any] = {"transactional_id": "tx", "group_id": group_id, "producer_id": 7, "producer_epoch": 1}
    answer = lab.ask("TxnOffsetCommit", version, topics=topics, **who, **request)
    return [entry.error_code for topic in answer.topics for entry in topic.partitions]


@pytest.mark.rules("OC-16")
@pytest.mark.parametrize("version", range(5))
def test_offsets_wait_for_the_marker(version: int) -> None:
    """What is committed in a transaction is pending: nobody sees it until the transaction ends."""
    lab = unverified()

    assert commit(lab, version=version) == [OK]
    assert lab.offsets() == {}
    lab.shard().replay_end_transaction_marker(7, True, lab.now)
    assert lab.offsets() == PLACE


@pytest.mark.rules("OC-16", "LD-2")
def test_an_abort_forgets_them() -> None:
    """Pending offsets of an aborted transaction never were."""
    lab = unverified()
    lab.commit({("t", 0): 1})
    commit(lab, {("t", 0): 5, ("t", 1): 6})

    lab.shard().replay_end_transaction_marker(7, False, lab.now)

    assert lab.offsets() == {("t", 0): 1}
    assert not lab.group().offsets.pending


@pytest.mark.rules("OC-16", "OC-18")
def test_unknown_topics_and_large_metadata() -> None:
    """3 for what does not exist, 12 for metadata that is too long, the others are taken."""
    lab = unverified(settings={"offset.metadata.max.bytes": 3})

    assert commit(lab, {("none", 0): 5, ("t", 4): 5, ("t", 1): 5}, metadata=None) == [NO_PARTITION, NO_PARTITION, OK]
    assert commit(lab, {("t", 0): 5, ("t", 9): 5}, metadata="long") == [TOO_LARGE, NO_PARTITION]
    assert lab.group().offsets.is_pending("t", 1)
    assert not lab.group().offsets.is_pending("t", 0)


@pytest.mark.rules("OC-16", "LD-6")
@pytest.mark.parametrize(("version", "code"), [(0, NOT_AVAILABLE), (1, NOT_AVAILABLE), (2, LOADING), (5, LOADING)])
def test_while_loading(version: int, code: int) -> None:
    """14, which v0 and v1 do not know: 15 there. What does not exist is 3 all the same."""
    lab = unverified()
    lab.load_slowly()

    assert commit(lab, {("t", 0): 5, ("none", 0): 5}, version=version) == [code, NO_PARTITION]
    assert commit(lab, {("none", 0): 5}, version=version) == [NO_PARTITION]


@pytest.mark.rules("OC-16")
def test_group_ids() -> None:
    """The empty group id is 24; a group of another broker 16."""
    lab = unverified(nodes=(1, 2))
    lab.partition().lead(2, lab.now)

    assert commit(lab, group_id="") == [NO_GROUP_ID]
    assert commit(lab) == [NOT_HERE]


@pytest.mark.rules("OC-18")
def test_an_unknown_group() -> None:
    """Without a generation it is made, whatever member is named; with one it is 22."""
    lab = unverified()

    assert commit(lab, generation_id=0, member_id="m") == [GENERATION]
    assert not lab.exists()
    assert commit(lab, member_id="m") == [OK]
    assert lab.exists()


@pytest.mark.rules("OC-18", "ST-1")
def test_an_unknown_group_in_3_9() -> None:
    """3.9.1 makes the group at any generation, and then knows nobody in it."""
    lab = unverified("3.9")

    assert commit(lab, generation_id=0, member_id="m") == [UNKNOWN_MEMBER]
    assert lab.exists()


@pytest.mark.rules("OC-16", "OC-18")
def test_an_empty_group() -> None:
    """A generation is 25; without one any member id will do."""
    lab = unverified()
    lab.emptied()

    assert commit(lab, generation_id=1) == [UNKNOWN_MEMBER]
    assert commit(lab, generation_id=1, member_id="m") == [UNKNOWN_MEMBER]
    assert commit(lab, member_id="m") == [OK]
    assert commit(lab) == [OK]


@pytest.mark.rules("OC-16")
def test_a_live_group() -> None:
    """Nobody need be named in any state, and a rebalance is no obstacle; who is named is checked."""
    lab = unverified()
    member = lab.stable(instance="i")
    for state, step in (
        (State.STABLE, lambda: None),
        (State.PREPARING, lab.join),
        (State.COMPLETING, lambda: lab.join(member_id=member)),
    ):
        step()
        generation = lab.group().generation
        assert lab.group().state is state
        assert commit(lab) == [OK]
        assert commit(lab, member_id=member, generation_id=generation) == [OK]
        assert commit(lab, member_id=member, generation_id=generation + 1) == [GENERATION]
        assert commit(lab, member_id=member) == [GENERATION]
        assert commit(lab, member_id="nobody", generation_id=generation) == [UNKNOWN_MEMBER]
        assert commit(lab, member_id="x", group_instance_id="i", generation_id=generation) == [FENCED]


@pytest.mark.rules("OC-16")
def test_it_is_no_sign_of_life() -> None:
    """A commit in a transaction does not restart the member's session."""
    lab = unverified()
    member = lab.stable(session_ms=10_000)
    lab.wait(9_999)
    commit(lab, member_id=member, generation_id=1)
    lab.wait(1)

    assert lab.group().state is State.EMPTY


@pytest.mark.rules("CR-5", "CR-14")
def test_the_batch() -> None:
    """One transactional batch of the producer; the topic id is not stored."""
    lab = unverified()
    commit(lab, {("t", 0): 5, ("u", 1): 6})
    header = parse_header(lab.batches()[-1])

    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.records_count) == (7, 1, 2)
    entries = [read_entry(record.key, record.value) for record in lab.records()]
    assert [entry.value[-1] for entry in entries if isinstance(entry, OffsetEntry) and entry.value] == [NO_ID, NO_ID]


@pytest.mark.rules("OC-18", "LD-2")
def test_a_plain_commit_meanwhile() -> None:
    """It is visible at once, and outlives the pending offset in front of it in the log, also for a later reader."""
    lab = unverified()
    commit(lab, {("t", 0): 50, ("t", 1): 60})
    lab.commit({("t", 0): 5})
    assert lab.offsets() == {("t", 0): 5}
    commit(lab, {("t", 2): 70})
    lab.commit({("t", 3): 8})
    commit(lab, {("t", 3): 80})

    reread = lab.reread()
    for shard in (lab.shard(), reread):
        group = shard.group("g")
        assert group is not None
        shard.replay_end_transaction_marker(7, True, lab.now)
        assert {stored[:2]: stored[2] for stored in group.offsets} == {
            ("t", 0): 5,
            ("t", 1): 60,
            ("t", 2): 70,
            ("t", 3): 80,
        }


@pytest.mark.rules("OC-14")
def test_more_than_a_batch_holds() -> None:
    """What does not fit into a batch together is refused with -1; nothing is pending then."""
    lab = unverified()
    lab.cluster.topics.create("wide", 300, 1)

    assert set(commit(lab, {("wide", n): n for n in range(300)}, metadata="x" * 4096)) == {
        ErrorCode.UNKNOWN_SERVER_ERROR
    }
    assert not lab.group().offsets.pending


@pytest.mark.rules("TX-6", "TX-11")
@pytest.mark.parametrize("is_ended", [False, True])
def test_what_was_verified_before_a_marker_is_not_stored_after_it(
    make_call: Callable[..., Call], is_ended: bool
) -> None:
    """48, else no marker would ever end what is pending; also if the answer of the coordinator came late."""
    lab = GroupApis(make_call)
    lab.cluster.topics.create("t", 1)
    who = lab.ask("InitProducerId", 4, transactional_id="tx", transaction_timeout_ms=60_000)
    producer = who.producer_id, who.producer_epoch
    states = lab.cluster.coordinator_partition("__transaction_state", "tx").log
    offsets = lab.cluster.group_partition("g").log
    states.limit_high_watermark(states.high_watermark, lab.now)
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
    sent = lab.send(
        "TxnOffsetCommit",
        5,
        transactional_id="tx",
        group_id="g",
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[partition])],
    )
    was_parked = sent.is_parked
    if is_ended:
        offsets.append_marker(*producer, lab.now, commit=False, coordinator_epoch=0)

    states.limit_high_watermark(None, lab.now)

    assert was_parked
    assert sent.topics[0].partitions[0].error_code == (ErrorCode.INVALID_TXN_STATE if is_ended else OK)
    assert offsets.producers.is_in_transaction(*producer) is not is_ended
