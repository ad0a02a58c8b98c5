"""OffsetFetch: committed offsets, and where errors go in which version."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode, WireError
from fakebroker.protocol.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.support.offsets import OffsetsCluster
from tests.support.time import MINUTE

OK = ErrorCode.NONE
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
NOT_HERE = ErrorCode.NOT_COORDINATOR
OLD_VERSION = ErrorCode.UNSUPPORTED_VERSION
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT
NO_TOPIC = ErrorCode.UNKNOWN_TOPIC_ID
ONE_GROUP, MANY_GROUPS = range(1, 8), range(8, 11)
NOTHING = -1

Row = tuple[int, int, int, str | None, int]


def fetch(
    lab: OffsetsCluster,
    version: int,
    asked: Mapping[str, Sequence[int]] | Sequence[tuple[str, Sequence[int]]] | None,
    group_id: str = "g",
    **request: Any,
) -> tuple[int, list[tuple[str | bytes, list[Row]]]]:
    """One group: its error (the top-level one below v8) and its topics as answered."""
    topics = list(asked.items()) if isinstance(asked, Mapping) else asked
    if version < 8:
        answer = lab.ask(
            "OffsetFetch",
            version,
            group_id=group_id,
            topics=None
            if topics is None
            else [OffsetFetchRequestTopic(name=name, partition_indexes=list(indexes)) for name, indexes in topics],
            **request,
        )
        return answer.error_code, [(topic.name, topic.partitions) for topic in answer.topics]
    answer = lab.ask("OffsetFetch", version, groups=[asking(lab, version, topics, group_id)], **request)
    (group,) = answer.groups
    assert group.group_id == group_id
    return group.error_code, [
        (topic.topic_id if version >= 10 else topic.name, topic.partitions) for topic in group.topics
    ]


def asking(
    lab: OffsetsCluster,
    version: int,
    topics: Sequence[tuple[str, Sequence[int]]] | None,
    group_id: str = "g",
    **fields: Any,
) -> OffsetFetchRequestGroup:
    """The entry of a group from v8 on."""
    entries = None
    if topics is not None:
        entries = [
            OffsetFetchRequestTopics(**lab.named(name, version), partition_indexes=list(indexes))
            for name, indexes in topics
        ]
    return OffsetFetchRequestGroup(group_id=group_id, topics=entries, **fields)


def name_of(lab: OffsetsCluster, topic: str, version: int) -> str | bytes:
    return next(iter(lab.named(topic, version).values()))  # type: ignore[no-any-return]


@pytest.mark.rules("OF-1", "OF-13")
@pytest.mark.parametrize("version", [*ONE_GROUP, *MANY_GROUPS])
def test_every_version(version: int) -> None:
    """Offset, metadata and, from v5 on, the leader epoch come back; stored nulls as ""."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5}, metadata="m")
    lab.commit({("t", 1): 6}, metadata=None)

    assert fetch(lab, version, {"t": [0, 1]}) == (
        OK,
        [(name_of(lab, "t", version), [(0, 5, -1, "m", OK), (1, 6, -1, "", OK)])],
    )


@pytest.mark.rules("OF-1")
def test_leader_epoch() -> None:
    """The stored leader epoch is reported from v5 on."""
    lab = OffsetsCluster()
    shard = lab.shard()
    shard.commit(shard.create_group("g", lab.now), [("t", 0, 5, 3, "", 0, -1, bytes(16))], lab.now)

    assert fetch(lab, 4, {"t": [0]})[1] == [("t", [(0, 5, -1, "", OK)])]
    assert fetch(lab, 5, {"t": [0]})[1] == [("t", [(0, 5, 3, "", OK)])]
    assert fetch(lab, 9, {"t": [0]})[1] == [("t", [(0, 5, 3, "", OK)])]


@pytest.mark.rules("OF-2")
def test_version_0_belonged_to_zookeeper() -> None:
    """v0 gets 35 on every partition, once; topics without partitions are left out."""
    lab = OffsetsCluster("3.9")
    lab.commit()

    assert fetch(lab, 0, {"t": [], "u": [0, 0]}) == (OK, [("u", [(0, NOTHING, -1, "", OLD_VERSION)])])

    assert fetch(lab, 0, {"t": [0], "none": [7]}) == (
        OK,
        [("t", [(0, NOTHING, -1, "", OLD_VERSION)]), ("none", [(7, NOTHING, -1, "", OLD_VERSION)])],
    )


@pytest.mark.rules("OF-3")
@pytest.mark.parametrize("version", [0, 1])
def test_null_topics_before_version_2(version: int) -> None:
    """Null topics cannot be read in v0 and v1, so the connection is closed."""
    with pytest.raises(WireError, match="null"):
        OffsetFetchRequest.decode(OffsetFetchRequest(group_id="g", topics=None).encode(2), version)


@pytest.mark.rules("OF-5")
@pytest.mark.parametrize("version", [1, 5])
def test_a_null_group_id_cannot_be_read(version: int) -> None:
    """A group id of null is no request, so the connection is closed."""
    data = b"\xff\xff" + OffsetFetchRequest(group_id="", topics=[]).encode(version)[2:]

    with pytest.raises(WireError, match=r"GroupId.*null"):
        OffsetFetchRequest.decode(data, version)


@pytest.mark.rules("OF-4")
@pytest.mark.parametrize("version", [v for v in (*ONE_GROUP, *MANY_GROUPS) if v >= 2])
def test_all_partitions(version: int) -> None:
    """Null topics list every partition with an offset, by topic; an empty list asks for nothing."""
    lab = OffsetsCluster()
    lab.commit([("t", 2, 5), ("u", 1, 6), ("t", 0, 7)])

    assert fetch(lab, version, None) == (
        OK,
        [
            (name_of(lab, "t", version), [(2, 5, -1, "", OK), (0, 7, -1, "", OK)]),
            (name_of(lab, "u", version), [(1, 6, -1, "", OK)]),
        ],
    )
    assert fetch(lab, version, {}) == (OK, [])


@pytest.mark.rules("OF-5", "OF-6", "LD-6")
@pytest.mark.parametrize("version", [*ONE_GROUP, *MANY_GROUPS])
@pytest.mark.parametrize("asked", [{"t": [0, 3]}, {}])
def test_where_a_group_error_goes(version: int, asked: dict[str, list[int]]) -> None:
    """v1: on every partition; v2 to v7: at the top; later: in the group's entry; topics are empty then."""
    lab = OffsetsCluster()
    lab.load_slowly()
    in_v1 = [(name, [(index, NOTHING, -1, "", LOADING) for index in indexes]) for name, indexes in asked.items()]

    assert fetch(lab, version, asked) == ((OK, in_v1) if version == 1 else (LOADING, []))


@pytest.mark.rules("OF-6")
def test_group_error_of_version_1_in_3_9() -> None:
    """3.9.1 answers v1 with an empty topic list."""
    lab = OffsetsCluster("3.9")
    lab.load_slowly()

    assert fetch(lab, 1, {"t": [0]}) == (OK, [])
    assert fetch(lab, 2, {"t": [0]}) == (LOADING, [])


@pytest.mark.rules("OF-5")
@pytest.mark.parametrize("version", [2, 8, 10])
def test_a_group_of_another_broker(version: int) -> None:
    """16 where the group lives elsewhere."""
    lab = OffsetsCluster(nodes=(1, 2))
    lab.partition().lead(2, lab.now)

    assert fetch(lab, version, {"t": [0]}) == (NOT_HERE, [])


@pytest.mark.rules("OF-5", "OF-7")
def test_the_state_does_not_matter() -> None:
    """Offsets can be read in every state of the group, and of the group called ""."""
    lab = OffsetsCluster()
    lab.commit(group_id="")
    assert fetch(lab, 8, {"t": [0]}, "")[1] == [("t", [(0, 5, -1, "", OK)])]

    lab.commit()
    first = lab.stable()
    for step in (lambda: None, lab.join, lambda: lab.join(member_id=first)):
        step()
        assert fetch(lab, 8, {"t": [0]})[1] == [("t", [(0, 5, -1, "", OK)])]


@pytest.mark.rules("OF-7", "OF-8")
@pytest.mark.parametrize("version", [*ONE_GROUP, 8, 9])
def test_what_is_not_there_is_no_error(version: int) -> None:
    """No such group, topic or partition, and no commit: offset -1 without an error; nobody looks at topics."""
    lab = OffsetsCluster()
    missing = {"t": [1, 99], "none": [0]}
    expected = (
        OK,
        [("t", [(1, NOTHING, -1, "", OK), (99, NOTHING, -1, "", OK)]), ("none", [(0, NOTHING, -1, "", OK)])],
    )

    assert fetch(lab, version, missing) == expected
    if version >= 2:
        assert fetch(lab, version, None) == (OK, [])
    lab.commit()
    assert fetch(lab, version, missing) == expected


@pytest.mark.rules("OF-9", "OF-15")
@pytest.mark.parametrize("version", [7, 8, 10])
def test_require_stable(version: int) -> None:
    """A partition with a pending offset is 88 for who insists on stable offsets; others get the last committed one."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5, ("t", 1): 6})
    lab.pend({("t", 0): 50, ("t", 2): 70})
    name = name_of(lab, "t", version)
    unstable = (0, NOTHING, -1, "", UNSTABLE)

    asked = {"t": [0, 1, 2]}
    assert fetch(lab, version, asked, require_stable=True)[1] == [
        (name, [unstable, (1, 6, -1, "", OK), (2, NOTHING, -1, "", UNSTABLE)])
    ]
    assert fetch(lab, version, asked, require_stable=False)[1] == [
        (name, [(0, 5, -1, "", OK), (1, 6, -1, "", OK), (2, NOTHING, -1, "", OK)])
    ]
    assert fetch(lab, version, None, require_stable=True)[1] == [(name, [unstable, (1, 6, -1, "", OK)])]
    assert fetch(lab, version, None)[1] == [(name, [(0, 5, -1, "", OK), (1, 6, -1, "", OK)])]


@pytest.mark.rules("OF-15")
def test_only_pending_offsets() -> None:
    """A partition that has nothing but a pending offset is not among all partitions."""
    lab = OffsetsCluster()
    lab.pend({("t", 0): 50})

    assert fetch(lab, 8, None) == (OK, [])
    assert fetch(lab, 8, None, require_stable=True) == (OK, [])


@pytest.mark.rules("OF-10")
def test_many_groups() -> None:
    """Groups are answered one by one in request order, a failing one and the same one twice included."""
    lab = OffsetsCluster()
    lab.commit(group_id="g")
    lab.commit({("u", 1): 8}, group_id="h")
    lab.load_slowly("h")
    assert lab.partition("g") is not lab.partition("h")
    groups = [asking(lab, 8, [("t", [0])], name) for name in ("h", "g", "g")]

    answer = lab.ask("OffsetFetch", 8, groups=groups)

    assert [(group.group_id, group.error_code) for group in answer.groups] == [("h", LOADING), ("g", OK), ("g", OK)]
    assert [len(group.topics) for group in answer.groups] == [0, 1, 1]
    lab.wait(MINUTE)
    assert lab.ask("OffsetFetch", 8, groups=groups[:1]).groups[0].error_code == OK
    assert lab.ask("OffsetFetch", 8, groups=[]).groups == []


@pytest.mark.rules("OF-11")
def test_classic_groups_ignore_member_and_epoch() -> None:
    """The fields of the new group protocol mean nothing to a classic group."""
    lab = OffsetsCluster()
    lab.commit()
    for member_id, epoch in ((None, -1), ("nobody", 9), ("", 0)):
        group = asking(lab, 9, [("t", [0])], member_id=member_id, member_epoch=epoch)
        assert lab.ask("OffsetFetch", 9, groups=[group]).groups[0].error_code == OK


@pytest.mark.rules("OF-12")
@pytest.mark.parametrize("version", [2, 8])
def test_odd_questions(version: int) -> None:
    """Partitions and topics asked for twice, and topics without partitions, are answered as asked."""
    lab = OffsetsCluster()
    lab.commit()
    row = (0, 5, -1, "", OK)

    assert fetch(lab, version, [("t", [0, 0]), ("u", []), ("t", [0])])[1] == [
        ("t", [row, row]),
        ("u", []),
        ("t", [row]),
    ]


@pytest.mark.rules("OF-12")
@pytest.mark.parametrize("version", [2, 8])
def test_odd_questions_in_3_9(version: int) -> None:
    """3.9.1 merges and drops them."""
    lab = OffsetsCluster("3.9")
    lab.commit()

    assert fetch(lab, version, [("t", [0, 0]), ("u", []), ("t", [0])])[1] == [("t", [(0, 5, -1, "", OK)])]


@pytest.mark.rules("OF-14")
def test_topic_ids() -> None:
    """v10: an unknown id is 100 on each partition, also for a group that does not exist; its own error stays 0."""
    lab = OffsetsCluster()
    unknown = b"none".ljust(16, b"?")

    assert fetch(lab, 10, {"none": [0, 1], "t": [0]}) == (
        OK,
        [
            (lab.topics["t"].id, [(0, NOTHING, -1, "", OK)]),
            (unknown, [(0, NOTHING, -1, "", NO_TOPIC), (1, NOTHING, -1, "", NO_TOPIC)]),
        ],
    )


@pytest.mark.rules("OF-14")
def test_an_offset_of_another_topic_of_that_name() -> None:
    """An offset stored under another topic id reads as none in v10; one stored without an id is found."""
    lab = OffsetsCluster()
    shard = lab.shard()
    rows = [("t", 0, 5, -1, "", 0, -1, b"o" * 16), ("t", 1, 6, -1, "", 0, -1, bytes(16))]
    rows.append(("gone", 0, 7, -1, "", 0, -1, b"o" * 16))
    shard.commit(shard.create_group("g", lab.now), rows, lab.now)

    assert fetch(lab, 10, {"t": [0, 1]})[1] == [
        (lab.topics["t"].id, [(0, NOTHING, -1, "", OK), (1, 6, -1, "", OK)]),
    ]
    assert fetch(lab, 9, {"t": [0]})[1] == [("t", [(0, 5, -1, "", OK)])]
    assert [topic for topic, _ in fetch(lab, 10, None)[1]] == [lab.topics["t"].id]


def test_a_thousand_partitions() -> None:
    """All offsets of a large group come in one answer."""
    lab = OffsetsCluster()
    lab.cluster.topics.create("wide", 1000, 1)
    lab.commit([("wide", n, n) for n in range(1000)])

    (_, rows), *others = fetch(lab, 8, None)[1]

    assert not others
    assert [row[:2] for row in rows] == [(n, n) for n in range(1000)]
