"""Acknowledgements of share groups (KIP-932), by ShareAcknowledge and inside ShareFetch."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
)
from tests.support.share_fetches import ACCEPT, GAP, REJECT, RELEASE, RENEW, ShareGroupLab, ShareMember, listed


@pytest.fixture
def lab() -> ShareGroupLab:
    return ShareGroupLab()


@pytest.fixture
def member(lab: ShareGroupLab) -> ShareMember:
    """A member that has acquired the batches 0 to 2 and 3 to 5."""
    lab.produce(3, 3)
    member = lab.member("m")
    assert member.fetch(0, batch_size=1) == [(0, 2, 1), (3, 5, 1)]
    return member


@pytest.mark.rules("SGK-1", "SGK-2", "SGK-3", "SGK-4", "SGK-5")
def test_types_for_each_offset(lab: ShareGroupLab, member: ShareMember) -> None:
    """Each offset has its own type: accepted, released, rejected, said to be no record."""
    assert member.acknowledge((0, 2, RELEASE, ACCEPT, REJECT), (3, 5, GAP, ACCEPT, RELEASE)) == 0
    assert lab.states() == {
        0: ("Available", 1),
        1: ("Acknowledged", 1),
        2: ("Archived", 1),
        3: ("Archived", 1),
        4: ("Acknowledged", 1),
        5: ("Available", 1),
    }
    assert member.fetch() == [(0, 0, 2), (5, 5, 2)]


@pytest.mark.rules("SGK-1", "SGP-4")
def test_the_start_moves(lab: ShareGroupLab, member: ShareMember) -> None:
    """Over a finished beginning the start moves; when all is finished nothing is left."""
    member.acknowledge((3, 5, ACCEPT))
    assert len(lab.states()) == 6
    member.acknowledge((0, 0, REJECT))
    member.acknowledge((1, 2, ACCEPT))
    assert lab.states() == {}
    lab.produce(1)
    assert member.fetch() == [(6, 6, 1)]


MALFORMED = {
    "last before first": [(2, 1, ACCEPT)],
    "not in order": [(3, 5, ACCEPT), (0, 2, ACCEPT)],
    "no type": [(0, 2)],
    "too few types": [(0, 2, ACCEPT, ACCEPT)],
    "too many types": [(0, 0, ACCEPT, ACCEPT)],
    "unknown type": [(0, 0, 5)],
    "type below zero": [(0, 0, -1)],
    "renewal without the flag": [(0, 0, RENEW)],
}


@pytest.mark.rules("SGK-6")
@pytest.mark.parametrize("acks", MALFORMED.values(), ids=MALFORMED)
def test_malformed(lab: ShareGroupLab, member: ShareMember, acks: list[tuple[int, ...]]) -> None:
    """What is malformed has no effect, in either request."""
    before = lab.states()
    assert member.acknowledge(*acks) == ErrorCode.INVALID_REQUEST
    assert listed(member.send(acks=acks, wait=0)) == {0: (0, ErrorCode.INVALID_REQUEST)}
    assert lab.states() == before


@pytest.mark.rules("SGK-7")
@pytest.mark.parametrize(
    ("acks", "code"),
    [
        ([(4, 9, ACCEPT)], ErrorCode.INVALID_REQUEST),
        ([(20, 25, ACCEPT)], ErrorCode.INVALID_REQUEST),
        ([(0, 1, ACCEPT), (1, 2, ACCEPT)], ErrorCode.INVALID_RECORD_STATE),
        ([(0, 0, ACCEPT), (20, 25, ACCEPT)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_all_or_none(lab: ShareGroupLab, member: ShareMember, acks: list[tuple[int, ...]], code: ErrorCode) -> None:
    """One bad range is the error of the partition, and none of its ranges counts (SGK-8)."""
    before = lab.states()
    assert member.acknowledge(*acks) == code
    assert lab.states() == before


@pytest.mark.rules("SGK-7", "SGK-8")
def test_what_others_have(lab: ShareGroupLab) -> None:
    """Records of another member, or that are done, cannot be acknowledged; those before the start are over."""
    lab.produce(3, 3, 3)
    one, two = lab.member("one"), lab.member("two")
    one.fetch(0, max_records=1)
    two.fetch(0, max_records=1)
    one.fetch(max_records=1)
    assert one.acknowledge((0, 8, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert one.acknowledge((0, 2, ACCEPT), (6, 8, ACCEPT)) == 0
    assert one.acknowledge((0, 2, ACCEPT)) == 0
    assert one.acknowledge((6, 8, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert two.acknowledge((4, 4, ACCEPT)) == 0
    assert two.acknowledge((3, 5, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert one.acknowledge((5, 5, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert two.acknowledge((3, 3, REJECT), (5, 5, ACCEPT)) == 0
    assert two.acknowledge((9, 9, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE


@pytest.mark.rules("SGK-7")
def test_kafka_stumbles(lab: ShareGroupLab, member: ShareMember) -> None:
    """A range from before the start to beyond it, when no records are in delivery, fails the whole request."""
    member.acknowledge((0, 5, ACCEPT))
    assert member.acknowledge((5, 8, ACCEPT)) == ErrorCode.UNKNOWN_SERVER_ERROR
    member.epoch += 1
    lab.produce(1)
    assert member.fetch() == [(6, 6, 1)]


@pytest.mark.rules("SGK-7")
def test_partitions_that_are_not_there(lab: ShareGroupLab, member: ShareMember) -> None:
    """A share partition that is not in memory, a partition that does not exist, an unknown topic id."""
    assert member.acknowledge((0, 0, ACCEPT), partition=7) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    said = AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[ACCEPT])
    rows = [AcknowledgePartition(partition_index=0, acknowledgement_batches=[said])]
    topics = [AcknowledgeTopic(topic_id=bytes(15) + b"x", partitions=rows)]
    answer = member.send_acks(topics=topics)
    assert listed_errors(answer) == [ErrorCode.UNKNOWN_TOPIC_ID]
    share_partition = lab.share_partition()
    assert share_partition is not None
    lab.cluster.nodes[1].share_partitions.drop(share_partition)
    assert member.acknowledge((0, 0, ACCEPT)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def listed_errors(answer: object) -> list[int]:
    """The errors of the partitions of a ShareAcknowledge's answer."""
    return [each.error_code for topic in answer.responses for each in topic.partitions]  # type: ignore[attr-defined]


@pytest.mark.rules("SGK-8")
def test_the_last_entry_of_a_partition_counts(lab: ShareGroupLab, member: ShareMember) -> None:
    """A partition that comes twice in a request is acknowledged as it comes last."""
    rows = [
        AcknowledgePartition(
            partition_index=0,
            acknowledgement_batches=[AcknowledgementBatch(first_offset=0, last_offset=2, acknowledge_types=[kind])],
        )
        for kind in (ACCEPT, RELEASE)
    ]
    answer = member.send_acks(topics=[AcknowledgeTopic(topic_id=lab.topic.id, partitions=rows)])
    assert listed_errors(answer) == [0]
    assert member.fetch() == [(0, 2, 2)]


@pytest.mark.rules("SGK-9")
def test_a_renewed_lock_begins_anew(lab: ShareGroupLab, member: ShareMember) -> None:
    """Renewing puts the timeout off, and nothing else; other records of the same range are not renewed."""
    lab.wait(20_000)
    assert member.acknowledge((0, 0, RENEW), (3, 5, RENEW), is_renew_ack=True) == 0
    lab.wait(15_000)
    assert lab.states()[0] == ("Acquired", 1)
    assert lab.states()[1] == ("Available", 1)
    assert lab.states()[3] == ("Acquired", 1)
    lab.wait(15_000)
    assert {state for state, _ in lab.states().values()} == {"Available"}


@pytest.mark.rules("SGK-9")
def test_renewing_inside_a_fetch(member: ShareMember) -> None:
    """A ShareFetch that renews must want nothing, fetches nothing, and does not count when it wants something."""
    wrong = member.send(acks=[(0, 5, RENEW)], is_renew_ack=True)
    assert wrong.error_code == ErrorCode.INVALID_REQUEST
    right = member.send(acks=[(0, 5, RENEW)], is_renew_ack=True, wait=0, min_bytes=0, max_bytes=0, max_records=0)
    assert listed(right) == {0: (0, 0)}


@pytest.mark.rules("SGK-9")
def test_renewing_can_be_disabled(lab: ShareGroupLab, member: ShareMember) -> None:
    """Then it is an error, and what else is said of the partition does not count either."""
    lab.configure(share_renew_acknowledge_enable="false")
    assert member.acknowledge((0, 1, ACCEPT, RENEW), is_renew_ack=True) == ErrorCode.INVALID_RECORD_STATE
    assert member.acknowledge((0, 5, ACCEPT), is_renew_ack=True) == 0


@pytest.mark.rules("SGK-10")
def test_versions(member: ShareMember) -> None:
    """v2 says how long records are locked, and knows renewals; v1 does not."""
    assert member.send_acks((0, 0, ACCEPT)).acquisition_lock_timeout_ms == 30_000
    assert member.send_acks((1, 1, ACCEPT), version=1).acquisition_lock_timeout_ms == 0
    assert member.acknowledge((2, 2, RENEW), version=1) == ErrorCode.INVALID_REQUEST


@pytest.mark.rules("SGF-3", "SGF-6")
def test_session_epochs(lab: ShareGroupLab, member: ShareMember) -> None:
    """An acknowledgement opens no session; -1 closes one after what it says was applied."""
    assert member.acknowledge((0, 0, ACCEPT), epoch=0) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge((0, 0, ACCEPT), epoch=7) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge((0, 2, ACCEPT), epoch=-1) == 0
    assert member.acknowledge((3, 5, ACCEPT), epoch=-1) == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert lab.member("n").fetch(0) == [(3, 5, 2)]


@pytest.mark.rules("SGF-7")
@pytest.mark.parametrize(
    "fields", [{"group_id": None}, {"member_id": None}, {"member_id": ""}, {"member_id": "x" * 37}]
)
def test_ids_are_checked(member: ShareMember, fields: dict[str, Any]) -> None:
    """As for ShareFetch."""
    assert member.acknowledge((0, 0, ACCEPT), **fields) == ErrorCode.INVALID_REQUEST


@pytest.mark.rules("SGP-6")
def test_the_last_release_archives(lab: ShareGroupLab) -> None:
    """With a limit of 3 the third release gives the record up."""
    lab.configure(share_delivery_count_limit=3)
    lab.produce(1)
    member = lab.member("m")
    for count in (1, 2, 3):
        assert member.fetch(0) == [(0, 0, count)]
        member.acknowledge((0, 0, RELEASE))
    assert member.fetch() == []


@pytest.mark.rules("SGP-5", "SGP-6")
def test_locks_time_out(lab: ShareGroupLab) -> None:
    """When its time is up a record is available without anyone asking, and its owner has lost it; up to the limit."""
    lab.configure(share_delivery_count_limit=2)
    lab.produce(2)
    member = lab.member("m")
    member.fetch(0)
    member.acknowledge((0, 0, ACCEPT))
    lab.wait(29_999)
    assert lab.states()[1] == ("Acquired", 1)
    lab.wait(1)
    assert lab.states()[1] == ("Available", 1)
    assert member.acknowledge((1, 1, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert member.fetch() == [(1, 1, 2)]
    lab.wait(30_000)
    assert lab.states() == {}


@pytest.mark.rules("SGP-5")
def test_each_range_has_its_own_lock(lab: ShareGroupLab) -> None:
    """Records that were acquired later are released later."""
    lab.produce(1, 1)
    member = lab.member("m")
    member.fetch(0, max_records=1)
    lab.wait(10_000)
    member.fetch(max_records=1)
    lab.wait(20_000)
    assert [state for state, _ in lab.states().values()] == ["Available", "Acquired"]


def test_no_timer_is_left(lab: ShareGroupLab, member: ShareMember) -> None:
    """Once everything is acknowledged no lock runs any more."""
    armed = len(lab.cluster.timers.mono)
    member.acknowledge((0, 2, ACCEPT))
    member.acknowledge((3, 3, RELEASE))
    member.acknowledge((4, 5, REJECT))
    assert len(lab.cluster.timers.mono) == armed - 2
