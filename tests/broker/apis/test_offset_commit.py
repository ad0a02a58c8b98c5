"""OffsetCommit: which partitions are stored, and the errors of the others."""

from collections.abc import Callable
from time import process_time

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.offset_commit import handle
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.protocol.errors import ErrorCode, WireError
from fakebroker.protocol.records.offsets_topic import CommittedOffset
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.frames import OffsetRow
from tests.support.offsets import NO_ID, OffsetsCluster
from tests.support.time import MINUTE, START
from tests.support.work_counter import no_collection

OK = ErrorCode.NONE
NO_PARTITION = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
NOT_HERE = ErrorCode.NOT_COORDINATOR
GENERATION = ErrorCode.ILLEGAL_GENERATION
UNKNOWN_MEMBER = ErrorCode.UNKNOWN_MEMBER_ID
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS
OLD_VERSION = ErrorCode.UNSUPPORTED_VERSION
NO_GROUP = ErrorCode.GROUP_ID_NOT_FOUND
FENCED = ErrorCode.FENCED_INSTANCE_ID
NO_TOPIC = ErrorCode.UNKNOWN_TOPIC_ID
VERSIONS = range(1, 11)
BY_NAME = range(1, 10)


def stored(lab: OffsetsCluster, topic: str = "t", partition: int = 0, group_id: str = "g") -> CommittedOffset:
    offset = lab.group(group_id).offsets.get(topic, partition)
    assert offset is not None
    return offset


@pytest.mark.parametrize("version", VERSIONS)
def test_a_simple_commit_in_every_version(version: int) -> None:
    """A consumer without a group commits, and what it said is stored."""
    lab = OffsetsCluster()

    assert lab.commit_codes({("t", 0): 5, ("t", 1): 6, ("u", 3): 7}, version=version) == [OK, OK, OK]
    assert lab.offsets() == {("t", 0): 5, ("t", 1): 6, ("u", 3): 7}


@pytest.mark.rules("OC-1")
def test_version_0_belonged_to_zookeeper() -> None:
    """v0 gets 35 on every partition, unknown ones too, and stores nothing; if none is known, they are 3."""
    lab = OffsetsCluster("3.9")

    unknown = [("t", 9, NO_PARTITION), ("none", 7, NO_PARTITION)]
    assert lab.commit({("t", 9): 5, ("none", 7): 5}, version=0) == unknown

    assert lab.commit({("t", 0): 5, ("none", 7): 5}, version=0) == [("t", 0, OLD_VERSION), ("none", 7, OLD_VERSION)]
    assert not lab.exists()


@pytest.mark.rules("OC-2", "OC-22")
@pytest.mark.parametrize("version", BY_NAME)
def test_unknown_topics_and_partitions(version: int) -> None:
    """An unknown topic is 3 on all its partitions, an unknown partition on itself; the others are stored."""
    lab = OffsetsCluster()
    codes = lab.commit([("t", 0, 5), ("t", 4, 5), ("t", -1, 5), ("none", 0, 5), ("none", 9, 5)], version=version)

    assert codes == [
        ("t", 4, NO_PARTITION),
        ("t", -1, NO_PARTITION),
        ("t", 0, OK),
        ("none", 0, NO_PARTITION),
        ("none", 9, NO_PARTITION),
    ]
    assert lab.offsets() == {("t", 0): 5}


@pytest.mark.rules("OC-22")
def test_refused_topics_come_first() -> None:
    """Topics with a refusal stand in front of topics without, as Kafka builds its answer."""
    codes = OffsetsCluster().commit([("t", 0, 5), ("none", 0, 5), ("u", 0, 5), ("u", 9, 5)])

    assert codes == [("none", 0, NO_PARTITION), ("u", 9, NO_PARTITION), ("u", 0, OK), ("t", 0, OK)]


@pytest.mark.rules("OC-3")
@pytest.mark.parametrize("offsets", [{}, {("none", 0): 5}, {("t", 4): 5}])
def test_nothing_left_asks_nobody(offsets: dict[tuple[str, int], int]) -> None:
    """When no partition survives, not even a loading coordinator is heard, and no group appears."""
    lab = OffsetsCluster()
    lab.load_slowly()

    assert lab.commit_codes(offsets, generation_id_or_member_epoch=3) == [NO_PARTITION] * len(offsets)
    lab.wait(MINUTE)
    assert not lab.exists()


@pytest.mark.rules("OC-4", "OC-5", "LD-6")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_loading_coordinator(version: int) -> None:
    """While the group's partition is read every remaining partition is 14; what was refused before keeps its code."""
    lab = OffsetsCluster()
    lab.load_slowly()
    refused = NO_PARTITION if version < 10 else NO_TOPIC

    asked = [("t", 0, 5), ("t", 1, 5), ("t", 9, 5), ("none", 2, 5)]
    codes = {code[1:] for code in lab.commit(asked, version=version)}

    assert codes == {(0, LOADING), (1, LOADING), (9, NO_PARTITION), (2, refused)}


@pytest.mark.rules("OC-4", "OC-5")
def test_a_group_of_another_broker() -> None:
    """16 stands on every partition where the group lives elsewhere."""
    lab = OffsetsCluster(nodes=(1, 2))
    lab.partition().lead(2, lab.now)

    assert lab.commit_codes({("t", 0): 5, ("t", 1): 5}) == [NOT_HERE, NOT_HERE]


@pytest.mark.rules("OC-5", "OC-14", "CLU-5")
def test_a_partition_without_leader() -> None:
    """16 stands on every partition when nobody leads the group's partition."""
    lab = OffsetsCluster()
    lab.partition().lead(-1, lab.now)

    assert lab.commit_codes() == [NOT_HERE]


@pytest.mark.rules("OC-5")
def test_the_empty_group_id() -> None:
    """A group may be called ""."""
    lab = OffsetsCluster()

    assert lab.commit_codes(group_id="") == [OK]
    assert lab.offsets("") == {("t", 0): 5}


@pytest.mark.rules("OC-6")
@pytest.mark.parametrize(("as_release", "new_code"), [("4.3", NO_GROUP), ("3.9", GENERATION)])
def test_a_generation_of_no_group(as_release: str, new_code: int) -> None:
    """A generation without a group is 22, from v9 on 69; 3.9.1 says 22 in every version."""
    lab = OffsetsCluster(as_release)
    last = 10 if as_release == "4.3" else 9

    codes = [lab.commit_codes(version=v, generation_id_or_member_epoch=0, member_id="m") for v in range(1, last + 1)]

    assert codes == [[GENERATION]] * 8 + [[new_code]] * (last - 8)
    assert not lab.exists()


@pytest.mark.rules("OC-7", "OC-9")
def test_an_empty_group_does_not_look_at_names() -> None:
    """Without a generation an Empty group takes a commit whoever claims to send it; with one nobody is a member."""
    lab = OffsetsCluster()
    lab.emptied()

    assert lab.commit_codes(member_id="nobody", group_instance_id="nothing") == [OK]
    assert lab.commit_codes(generation_id_or_member_epoch=2, member_id="nobody") == [UNKNOWN_MEMBER]
    assert lab.commit_codes(generation_id_or_member_epoch=2) == [UNKNOWN_MEMBER]


@pytest.mark.rules("OC-7", "OC-9")
def test_a_live_group_takes_members_only() -> None:
    """In a Stable group only a member with the current generation commits."""
    lab = OffsetsCluster()
    member = lab.stable(instance="i")

    assert lab.commit_codes() == [UNKNOWN_MEMBER]
    assert lab.commit_codes(member_id=member) == [GENERATION]
    assert lab.commit_codes(member_id="nobody", generation_id_or_member_epoch=1) == [UNKNOWN_MEMBER]
    assert lab.commit_codes(member_id="nobody", generation_id_or_member_epoch=9) == [UNKNOWN_MEMBER]
    assert lab.commit_codes(member_id=member, generation_id_or_member_epoch=0) == [GENERATION]
    assert lab.commit_codes(member_id=member, generation_id_or_member_epoch=2) == [GENERATION]
    assert lab.commit_codes(group_instance_id="j", member_id=member, generation_id_or_member_epoch=1) == [
        UNKNOWN_MEMBER
    ]
    assert lab.commit_codes(group_instance_id="i", member_id="old", generation_id_or_member_epoch=1) == [FENCED]
    assert lab.commit_codes(group_instance_id="i", member_id=member, generation_id_or_member_epoch=1) == [OK]
    assert lab.commit_codes(member_id=member, generation_id_or_member_epoch=1) == [OK]


@pytest.mark.rules("OC-8")
def test_states_in_which_a_member_may_commit() -> None:
    """PreparingRebalance stores with the old generation; CompletingRebalance refuses with 27."""
    lab = OffsetsCluster()
    first = lab.stable()
    second = lab.join()
    assert lab.group().state is State.PREPARING
    assert lab.commit_codes({("t", 0): 1}, member_id=first, generation_id_or_member_epoch=1) == [OK]

    lab.join(member_id=first)
    assert lab.group().state is State.COMPLETING
    assert lab.commit_codes({("t", 0): 2}, member_id=first, generation_id_or_member_epoch=2) == [REBALANCING]
    assert lab.commit_codes({("t", 0): 2}, member_id=first, generation_id_or_member_epoch=1) == [GENERATION]

    lab.sync(first)
    lab.sync(second.member_id)
    assert lab.commit_codes({("t", 0): 3}, member_id=first, generation_id_or_member_epoch=2) == [OK]
    assert lab.offsets() == {("t", 0): 3}


@pytest.mark.rules("OC-8")
@pytest.mark.parametrize(
    ("release", "stranger", "late"), [("4.3", UNKNOWN_MEMBER, GENERATION), ("2.1", REBALANCING, REBALANCING)]
)
def test_who_commits_while_assignments_are_awaited(release: str, stranger: ErrorCode, late: ErrorCode) -> None:
    """2.1.1 answers 27 before it looks at the member and its generation."""
    lab = OffsetsCluster(release)
    first = lab.join().member_id
    assert lab.group().state is State.COMPLETING

    assert lab.commit_codes(version=6) == lab.commit_codes(version=6, member_id="nobody") == [stranger]
    assert lab.commit_codes(version=6, member_id=first, generation_id_or_member_epoch=9) == [late]


@pytest.mark.rules("OC-8", "TM-1")
def test_a_commit_is_a_sign_of_life() -> None:
    """An accepted commit restarts the member's session; a refused one does not."""
    lab = OffsetsCluster()
    member = lab.stable(session_ms=10_000)
    lab.wait(8_000)
    lab.commit(member_id=member, generation_id_or_member_epoch=1)
    lab.wait(8_000)
    assert lab.group().state is State.STABLE

    lab.commit(member_id=member, generation_id_or_member_epoch=9)
    lab.wait(2_000)
    assert lab.group().state is State.EMPTY


@pytest.mark.rules("OC-10")
def test_what_is_stored() -> None:
    """Offset and leader epoch as sent, even senseless ones; null metadata as ""; the time is the broker's."""
    lab = OffsetsCluster()
    lab.wait(1234)
    partitions = [(0, -7, -5, -1, None), (1, 2**63 - 1, 3, -1, "ü")]
    topic = OffsetCommitRequestTopic(name="t", partitions=partitions)
    lab.ask("OffsetCommit", 9, group_id="g", topics=[topic])

    topic_id, now_ms = lab.topics["t"].id, START.wall_ms + 1234
    assert stored(lab) == ("t", 0, -7, -5, "", now_ms, -1, topic_id)
    assert stored(lab, partition=1) == ("t", 1, 2**63 - 1, 3, "ü", now_ms, -1, topic_id)


@pytest.mark.rules("OC-10", "OC-12")
def test_commit_timestamp_of_version_1() -> None:
    """v1 may set the commit timestamp of each partition, and that gives it no expire timestamp."""
    lab = OffsetsCluster()
    lab.commit(version=1, own_ms=4711)
    lab.commit({("t", 1): 5}, version=1)

    assert (stored(lab).commit_ms, stored(lab).expire_ms) == (4711, -1)
    assert stored(lab, partition=1).commit_ms == START.wall_ms


@pytest.mark.rules("OC-11")
@pytest.mark.parametrize("text", ["x" * 11, "ü" * 11, "\U0001f600" * 6])
def test_metadata_too_large(text: str) -> None:
    """Metadata is measured in UTF-16 units; what is too large is 12 for its partition alone."""
    lab = OffsetsCluster(settings={"offset.metadata.max.bytes": 10})
    fits = text[: -1 if len(text) > 10 else 5]
    rows: list[OffsetRow] = [(0, 1, -1, -1, text), (1, 2, -1, -1, fits)]
    answer = lab.ask("OffsetCommit", 9, group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=rows)])

    assert answer.topics[0].partitions == [(0, TOO_LARGE), (1, OK)]
    assert lab.offsets() == {("t", 1): 2}
    assert stored(lab, partition=1).metadata == fits


@pytest.mark.rules("OC-12", "OC-21")
@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(
    ("retention_ms", "expire_ms"),
    [
        (-1, -1),
        (0, START.wall_ms),
        (60_000, START.wall_ms + 60_000),
        (-2, START.wall_ms - 2),
        (2**63 - 1, START.wall_ms - 1 - 2**63),
    ],
)
def test_explicit_retention(version: int, retention_ms: int, expire_ms: int) -> None:
    """v2 to v4 may set a retention for the request: the sum is 64 bits wide and wraps; -1 means none."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5, ("u", 1): 6}, version=version, retention_time_ms=retention_ms)

    assert stored(lab).expire_ms == stored(lab, "u", 1).expire_ms == expire_ms


@pytest.mark.rules("OC-13")
def test_a_commit_is_visible_at_once() -> None:
    """With one replica the append is done at once, and so the next OffsetFetch sees it."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5})

    answer = lab.ask("OffsetFetch", 7, group_id="g", topics=None)

    assert answer.topics[0].partitions == [(0, 5, -1, "", OK)]


@pytest.mark.rules("OC-15")
def test_a_partition_twice() -> None:
    """Two entries for one partition are two in the answer; the last value counts.

    Topic entries are answered as they came, but merged as soon as a topic or partition is unknown, as seen in 4.3.1.
    """
    lab = OffsetsCluster()
    twice = [("t", 0, 5), ("u", 0, 1), ("t", 0, 6)]

    assert lab.commit(twice) == [("t", 0, OK), ("u", 0, OK), ("t", 0, OK)]
    assert lab.offsets() == {("t", 0): 6, ("u", 0): 1}
    assert len(lab.records()) == 3
    assert lab.commit([*twice, ("u", 9, 1)]) == [("u", 9, NO_PARTITION), ("u", 0, OK), ("t", 0, OK), ("t", 0, OK)]


@pytest.mark.rules("OC-3", "OC-15")
def test_a_topic_without_partitions() -> None:
    """It is in the answer only if it does not exist, as seen in 4.3.1."""
    topics = [OffsetCommitRequestTopic(name="t"), OffsetCommitRequestTopic(name="none")]
    answer = OffsetsCluster().ask("OffsetCommit", 9, group_id="g", topics=topics)

    assert [(topic.name, topic.partitions) for topic in answer.topics] == [("none", [])]


@pytest.mark.rules("OC-15")
def test_a_partition_twice_in_3_9() -> None:
    """3.9.1 answers and stores only the last of them; those that do not exist are answered each."""
    lab = OffsetsCluster("3.9")

    assert lab.commit([("t", 9, 5), ("t", 9, 6)]) == [("t", 9, NO_PARTITION), ("t", 9, NO_PARTITION)]
    assert lab.commit([("t", 0, 5), ("t", 0, 6)]) == [("t", 0, OK)]
    assert lab.offsets() == {("t", 0): 6}
    assert len(lab.records()) == 1


@pytest.mark.rules("OC-17", "OC-3")
def test_topic_ids() -> None:
    """v10 goes by id: an unknown one is 100 and does not reach the coordinator; an unknown partition is 3."""
    lab = OffsetsCluster()
    topics = [
        OffsetCommitRequestTopic(topic_id=lab.topics["t"].id, partitions=[(0, 5, -1, -1, ""), (4, 5, -1, -1, "")]),
        OffsetCommitRequestTopic(topic_id=b"?" * 16, partitions=[(0, 5, -1, -1, "")]),
        OffsetCommitRequestTopic(topic_id=NO_ID, partitions=[(0, 5, -1, -1, "")]),
    ]
    answer = lab.ask("OffsetCommit", 10, group_id="g", topics=topics)

    assert [(topic.topic_id, topic.partitions) for topic in answer.topics] == [
        (lab.topics["t"].id, [(4, NO_PARTITION), (0, OK)]),
        (b"?" * 16, [(0, NO_TOPIC)]),
        (NO_ID, [(0, NO_TOPIC)]),
    ]
    only_unknown = lab.ask("OffsetCommit", 10, group_id="h", topics=topics[1:])
    assert [topic.partitions for topic in only_unknown.topics] == [[(0, NO_TOPIC)], [(0, NO_TOPIC)]]
    assert not lab.exists("h")


@pytest.mark.rules("OC-19", "EX-9")
def test_a_group_made_for_nothing() -> None:
    """A simple group is there even if its first commit was refused altogether, until the next cleanup."""
    lab = OffsetsCluster(settings={"offset.metadata.max.bytes": 3})

    assert lab.commit_codes(metadata="long") == [TOO_LARGE]
    assert lab.exists()
    lab.wait(10 * MINUTE)
    assert not lab.exists()


@pytest.mark.rules("OC-19")
@pytest.mark.parametrize("release", ["4.3", "3.9"])
@pytest.mark.parametrize("api", ["OffsetCommit", "TxnOffsetCommit"])
def test_a_group_made_for_nothing_is_seen_after_the_next_write(release: str, api: str) -> None:
    """4.3.1 describes and lists the group of a refused commit once another group has committed, 3.9.1 at once."""
    settings = {
        "offset.metadata.max.bytes": 3,
        "offsets.topic.num.partitions": 1,
        "transaction.partition.verification.enable": False,
    }
    lab = OffsetsCluster(release, settings=settings)

    def seen() -> tuple[str, bool]:
        listed = [each.group_id for each in lab.ask("ListGroups", 4).groups]
        return lab.ask("DescribeGroups", 5, groups=["g"]).groups[0].group_state, "g" in listed

    if api == "OffsetCommit":
        assert lab.commit_codes(metadata="long") == [TOO_LARGE]
    else:
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="long")
        topic = TxnOffsetCommitRequestTopic(name="t", partitions=[partition])
        lab.ask(api, 3, transactional_id="x", group_id="g", producer_id=1, producer_epoch=0, topics=[topic])
    assert seen() == (("Dead", False) if release == "4.3" else ("Empty", True))

    lab.commit(group_id="other")
    assert seen() == ("Empty", True)


@pytest.mark.rules("OC-5")
def test_a_null_group_id_cannot_be_read() -> None:
    """A group id of null is no request, so the connection is closed."""
    data = bytearray(OffsetCommitRequest(group_id="g").encode(8))
    data[0] = 0

    with pytest.raises(WireError, match=r"GroupId.*null"):
        OffsetCommitRequest.decode(bytes(data), 8)


@pytest.mark.rules("OC-14")
def test_as_many_as_a_batch_holds() -> None:
    """Together they must fit into max.message.bytes: of these 16,774 do, one more and none is stored, as in 4.3.1."""
    lab = OffsetsCluster()

    def commit(count: int) -> set[int]:
        rows: list[OffsetRow] = [(n % 4, n, -1, -1, "") for n in range(count)]
        topic = OffsetCommitRequestTopic(name="t", partitions=[*rows, (9, 0, -1, -1, "")])
        answer = lab.ask("OffsetCommit", 9, group_id="g", topics=[topic])
        return {code for _, code in answer.topics[0].partitions}

    assert commit(16_775) == {ErrorCode.UNKNOWN_SERVER_ERROR, NO_PARTITION}
    assert lab.offsets() == {}
    assert commit(16_774) == {OK, NO_PARTITION}
    assert lab.offsets() == {("t", n % 4): n for n in range(16_770, 16_774)}


@pytest.mark.rules("OC-14")
def test_more_than_a_batch_holds_in_3_9() -> None:
    """3.9.1 answers 28; large metadata counts like many partitions."""
    lab = OffsetsCluster("3.9")
    lab.cluster.topics.create("wide", 300, 1)

    assert set(lab.commit_codes({("wide", n): n for n in range(300)}, metadata="x" * 4096)) == {
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    }
    assert set(lab.commit_codes({("wide", n): n for n in range(250)}, metadata="x" * 4096)) == {OK}


def test_a_hundred_thousand_partitions() -> None:
    """A request of 100,000 entries is answered entry by entry, though together they are too large to be stored."""
    lab = OffsetsCluster()
    rows: list[OffsetRow] = [(n % 5, n, -1, -1, "") for n in range(100_000)]
    answer = lab.ask("OffsetCommit", 9, group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=rows)])

    codes = [code for _, code in answer.topics[0].partitions]
    assert (codes.count(NO_PARTITION), codes.count(ErrorCode.UNKNOWN_SERVER_ERROR)) == (20_000, 80_000)
    assert lab.offsets() == {}


@pytest.mark.rules("OC-15")
def test_the_request_is_not_changed(make_call: Callable[..., Call]) -> None:
    """Merging duplicates, as 3.9.1 does, leaves the decoded request as it came."""
    lab = OffsetsCluster("3.9")
    row = (0, 5, -1, -1, "")
    topics = [OffsetCommitRequestTopic(name="t", partitions=[row, row]) for _ in range(2)]
    request = OffsetCommitRequest(group_id="g", topics=topics)
    before = request.encode(7)

    handle(make_call(lab.cluster, 7), request)

    assert request.encode(7) == before


@pytest.mark.rules("OC-15")
def test_an_unknown_partition_twice_in_2_1() -> None:
    """2.1.1 answers it once."""
    assert OffsetsCluster("2.1").commit([("t", 9, 5), ("t", 9, 6)], version=6) == [("t", 9, NO_PARTITION)]


@pytest.mark.parametrize("version", [2, 9])
def test_a_topic_named_again_and_again_takes_no_square_of_its_entries(version: int) -> None:
    """Up to 3.9.1 its entries are put together: each of their rows once."""
    lab = OffsetsCluster("3.9")

    def seconds(entries: int) -> float:
        topics = [OffsetCommitRequestTopic(name="t", partitions=[(0, 5, -1, -1, "")]) for _ in range(entries)]
        request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=topics)
        took = list[float]()
        for _ in range(5):
            with no_collection():
                call, began = lab.call(version), process_time()
                handle(call, request)
                took.append(process_time() - began)
        return min(took)

    few, many = seconds(10_000), seconds(60_000)
    assert many < 12 * few  # by the square it would be 36
