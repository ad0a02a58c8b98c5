"""OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete on groups whose members have epochs (CGO)."""

from typing import Any

import pytest

from fakebroker.broker.core.groups.consumer.heartbeat import heartbeat
from fakebroker.broker.core.groups.consumer.messages import HeartbeatRequest
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from fakebroker.protocol.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.offsets import OffsetsCluster
from tests.support.time import MINUTE

OK = ErrorCode.NONE
NO_PARTITION = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE
FAILED = ErrorCode.UNKNOWN_SERVER_ERROR
GENERATION = ErrorCode.ILLEGAL_GENERATION
UNKNOWN_MEMBER = ErrorCode.UNKNOWN_MEMBER_ID
OLD_VERSION = ErrorCode.UNSUPPORTED_VERSION
NO_GROUP = ErrorCode.GROUP_ID_NOT_FOUND
SUBSCRIBED = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
STALE = ErrorCode.STALE_MEMBER_EPOCH


class Lab(OffsetsCluster):
    """A cluster with the topics of `OffsetsCluster`; m1 reads "t"."""

    def __init__(self) -> None:
        settings = {
            "group.consumer.assignment.interval.ms": 0,
            "transaction.partition.verification.enable": False,
            "offsets.topic.replication.factor": 1,
        }
        super().__init__(settings=settings)
        self.beat("m1", 0)

    def beat(self, member_id: str, epoch: int, owned: list[int] | None = None) -> int:
        """A heartbeat of somebody who reads "t"; the epoch after it."""
        topic = self.cluster.topics.get("t")
        assert topic is not None
        partitions = {} if epoch == 0 else None if owned is None else {topic.id: owned}
        names = ["t"] if epoch == 0 else None
        request = HeartbeatRequest("g", member_id, epoch, None, None, MINUTE, names, owned=partitions)
        shard = self.cluster.nodes[1].coordinator.shard("g", self.now)
        return heartbeat(shard, request, self.now).member_epoch

    def share(self) -> list[int]:
        """m2 joins, and m1 gives up what is to be its own; returns what m1 kept. Its epoch is 3 then."""
        self.beat("m2", 0)
        self.beat("m1", 2)
        topic = self.cluster.topics.get("t")
        assert topic is not None
        kept = list(self.target("m1")[topic.id])
        assert self.beat("m1", 2, kept) == 3
        self.beat("m2", 3)
        return kept

    def target(self, member_id: str) -> Any:
        group: Any = self.shard().group("g")
        return group.target_of(member_id)

    def codes(self, indexes: list[int], member_id: str, epoch: int, version: int = 9, **fields: Any) -> list[int]:
        return self.commit_codes(
            {("t", index): 5 for index in indexes},
            version=version,
            member_id=member_id,
            generation_id_or_member_epoch=epoch,
            **fields,
        )

    def txn_codes(self, indexes: list[int], member_id: str, epoch: int, instance_id: str | None = None) -> list[int]:
        partitions = [
            TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=5, committed_metadata="")
            for index in indexes
        ]
        answer = self.ask(
            "TxnOffsetCommit",
            3,
            topics=[TxnOffsetCommitRequestTopic(name="t", partitions=partitions)],
            transactional_id="x",
            group_id="g",
            producer_id=7,
            producer_epoch=1,
            member_id=member_id,
            generation_id=epoch,
            group_instance_id=instance_id,
        )
        return [entry.error_code for topic in answer.topics for entry in topic.partitions]

    def fetched(self, member_id: str | None, epoch: int, group_id: str = "g", version: int = 9) -> tuple[int, int]:
        """The code of the group, and how many topics are answered."""
        topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
        group = OffsetFetchRequestGroup(group_id=group_id, member_id=member_id, member_epoch=epoch, topics=topics)
        (found,) = self.ask("OffsetFetch", version, groups=[group]).groups
        return found.error_code, len(found.topics)


@pytest.mark.rules("CGO-1", "CGO-2", "CGO-3")
@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [
        ("m1", 2, OK),
        ("m1", 3, STALE),
        ("m1", -1, STALE),
        ("nobody", 2, UNKNOWN_MEMBER),
        ("", -1, UNKNOWN_MEMBER),
        ("nobody", -1, UNKNOWN_MEMBER),
    ],
)
def test_who_may_commit(member_id: str, epoch: int, code: int) -> None:
    """Members, with their epoch, for any partition."""
    assert Lab().codes([0, 3], member_id, epoch) == [code, code]


@pytest.mark.rules("CGO-4")
@pytest.mark.parametrize(
    ("member_id", "epoch", "code"), [("nobody", 2, UNKNOWN_MEMBER), ("m1", 2, OLD_VERSION), ("m1", 7, OLD_VERSION)]
)
def test_versions_before_epochs(member_id: str, epoch: int, code: int) -> None:
    """Below v9 a member of the consumer protocol is UNSUPPORTED_VERSION, whatever its epoch."""
    assert Lab().codes([0], member_id, epoch, version=8) == [code]


@pytest.mark.rules("CGO-3")
def test_an_empty_group() -> None:
    """Anybody may commit without an epoch; an epoch must be somebody's."""
    lab = Lab()
    lab.beat("m1", -1)

    assert lab.codes([0], "", -1) == lab.codes([0], "nobody", -1, version=5) == [OK]
    assert lab.codes([0], "m1", 2) == [UNKNOWN_MEMBER]
    assert lab.txn_codes([0], "nobody", -1) == [OK]
    assert lab.txn_codes([0], "m1", 2) == [UNKNOWN_MEMBER]


@pytest.mark.rules("CGO-5")
def test_a_commit_that_is_late() -> None:
    """With an epoch from before, a member commits what it has had since; one other partition refuses all."""
    lab = Lab()
    kept = lab.share()
    other = _given_up(kept)[0]

    assert lab.codes(kept, "m1", 2) == [OK] * len(kept)
    assert lab.codes([kept[0], other], "m1", 2) == [STALE, STALE]
    assert lab.codes(kept, "m1", 1) == [STALE] * len(kept)
    assert lab.codes([other], "m2", 2) == [STALE]
    assert lab.txn_codes(kept, "m1", 2) == [OK] * len(kept)
    assert lab.txn_codes([kept[0], other], "m1", 2) == [GENERATION, GENERATION]


def _given_up(kept: list[int]) -> list[int]:
    return [index for index in range(4) if index not in kept]


@pytest.mark.rules("CGO-5")
def test_what_is_on_its_way_counts_as_well() -> None:
    """Until a member has given a partition up, it may commit it."""
    lab = Lab()
    lab.beat("m2", 0)
    lab.beat("m3", 0)
    lab.beat("m1", 2)

    assert lab.codes([0, 1, 2, 3], "m1", 2) == [OK] * 4


@pytest.mark.rules("CGO-5")
def test_partitions_that_are_refused_anyway_are_not_asked_for() -> None:
    """What does not exist and what has too long a metadata does not make a late commit fail."""
    lab = Lab()
    kept = lab.share()
    other = _given_up(kept)[0]

    assert sorted(lab.commit_codes({("t", kept[0]): 5, ("t", 77): 5}, **_late())) == [OK, NO_PARTITION]
    assert lab.commit_codes({("t", other): 5}, metadata="x" * 5_000, **_late()) == [TOO_LARGE]


def _late() -> dict[str, Any]:
    return {"version": 9, "member_id": "m1", "generation_id_or_member_epoch": 2}


@pytest.mark.rules("CGO-4")
@pytest.mark.parametrize(
    ("member_id", "epoch", "instance_id", "code"),
    [
        ("m1", 2, None, OK),
        ("", -1, None, OK),
        ("m1", 3, None, GENERATION),
        ("m1", -1, None, GENERATION),
        ("", 2, None, UNKNOWN_MEMBER),
        ("nobody", 2, None, UNKNOWN_MEMBER),
        ("", -1, "i1", UNKNOWN_MEMBER),
    ],
)
def test_commits_in_transactions(member_id: str, epoch: int, instance_id: str | None, code: int) -> None:
    """Who names nobody is not checked; another epoch is ILLEGAL_GENERATION."""
    assert Lab().txn_codes([0], member_id, epoch, instance_id) == [code]


@pytest.mark.rules("CGO-7")
@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [
        (None, -1, OK),
        ("m1", 2, OK),
        ("m1", 1, STALE),
        ("m1", -1, STALE),
        ("", -1, UNKNOWN_MEMBER),
        ("nobody", 2, UNKNOWN_MEMBER),
        (None, 2, FAILED),
    ],
)
def test_who_may_fetch(member_id: str | None, epoch: int, code: int) -> None:
    """An error is the group's, and then there are no topics."""
    assert Lab().fetched(member_id, epoch) == (code, 0 if code else 1)


@pytest.mark.rules("CGO-7")
def test_fetches_that_nobody_checks() -> None:
    """Before v9 there is nothing to check, and an unknown group has no members."""
    lab = Lab()

    assert lab.fetched(None, -1, version=8) == (OK, 1)
    assert lab.fetched("nobody", 7, group_id="none") == (OK, 1)


@pytest.mark.rules("CGO-8")
@pytest.mark.parametrize(("version", "code"), [(8, GENERATION), (9, NO_GROUP)])
def test_an_unknown_group(version: int, code: int) -> None:
    """A commit with an epoch does not make it."""
    lab = Lab()

    assert lab.codes([0], "m1", 2, version=version, group_id="none") == [code]
    assert not lab.exists("none")


@pytest.mark.rules("CGO-9")
def test_offsets_that_are_read_are_not_deleted() -> None:
    """Partitions of topics that a member reads are spared, others go, whatever the group's state."""
    lab = Lab()
    lab.commit_codes({("t", 0): 5, ("u", 0): 5}, version=9, member_id="m1", generation_id_or_member_epoch=2)

    topics = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        for name in ("t", "u")
    ]
    answer = lab.ask("OffsetDelete", 0, group_id="g", topics=topics)

    codes = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert codes == {"t": SUBSCRIBED, "u": OK}
    assert lab.offsets() == {("t", 0): 5}
