"""OffsetFetch, key 9, v0-v10 (OF).

v0 was ZooKeeper's: 35 (OF-2). v0-v7 ask for one group, v8+ for several, each with an error of its own. v2+: null topics
mean all (KIP-88); v2-v7 have a top-level error, before them it stands on every partition (OF-6). v7+: require_stable.
v9: member id and epoch, which classic groups ignore (OF-11). v10: topic ids in place of names.
"""

from collections.abc import Iterable, Sequence

from fakebroker.apis.call import Call
from fakebroker.core.offsets.group_offsets import GroupOffsets
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.records.offsets_topic import LEADER_EPOCH, METADATA, NO_EPOCH, NO_TOPIC_ID, OFFSET, PARTITION, TOPIC_ID
from fakebroker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

Row = tuple[int, int, int, str | None, int]  # partition, offset, leader epoch, metadata, error
Asked = Sequence[tuple[str, Sequence[int]]]  # topics and their partitions

_ZOOKEEPER_VERSION = 0
_TOP_LEVEL_ERROR_VERSION = 2
_MANY_GROUPS_VERSION = 8
_TOPIC_ID_VERSION = 10
_NO_OFFSET = -1
_NONE = int(ErrorCode.NONE)


def handle(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """One group or several, each answered on its own (OF-10)."""
    if call.version >= _MANY_GROUPS_VERSION:
        return OffsetFetchResponse(groups=[_group(call, group, request.require_stable) for group in request.groups])
    if call.version == _ZOOKEEPER_VERSION:
        return _per_partition(request, ErrorCode.UNSUPPORTED_VERSION)
    try:
        offsets = offsets_of(call, request.group_id)
    except KafkaError as refused:
        return _group_error(call, request, refused.code)
    asked = None if request.topics is None else [(topic.name, topic.partition_indexes) for topic in request.topics]
    found = _rows_by_name(call, offsets, asked, request.require_stable)
    return OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name=name, partitions=rows) for name, rows in found])


def _group_error(call: Call, request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    """Where an error of the group goes before v8 (OF-6)."""
    if call.version >= _TOP_LEVEL_ERROR_VERSION:
        return OffsetFetchResponse(error_code=code)
    if call.cluster.behaviours.v1_fetch_errors_per_partition:
        return _per_partition(request, code)
    return OffsetFetchResponse()


def _per_partition(request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name, partitions=[no_offset(index, code) for index in topic.partition_indexes]
            )
            for topic in request.topics or ()
        ]
    )


# -- one group ---------------------------------------------------------------------------------------------------------


def offsets_of(call: Call, group_id: str) -> GroupOffsets:
    """The group's offsets; none if there is no such group (OF-7). Raises KafkaError 14, 15 or 16 (OF-5)."""
    group = call.node.coordinator.shard(group_id, call.now).group(group_id)
    return GroupOffsets() if group is None else group.offsets


def _group(call: Call, group: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
    """v8 and later: one of the groups."""
    try:
        offsets = offsets_of(call, group.group_id)
    except KafkaError as refused:
        return _refused(group.group_id, refused.code)
    if call.version >= _TOPIC_ID_VERSION:
        topics = _topics_by_id(call, offsets, group, require_stable)
    else:
        asked = None if group.topics is None else [(topic.name, topic.partition_indexes) for topic in group.topics]
        found = _rows_by_name(call, offsets, asked, require_stable)
        topics = [OffsetFetchResponseTopics(name=name, partitions=rows) for name, rows in found]
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)


def _refused(group_id: str, code: ErrorCode) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(group_id=group_id, error_code=code)


def _rows_by_name(
    call: Call, offsets: GroupOffsets, asked: Asked | None, require_stable: bool
) -> list[tuple[str, list[Row]]]:
    if asked is None:
        return all_rows(offsets, require_stable)
    if not call.cluster.behaviours.commits_answer_duplicates:
        asked = _merged(asked)
    return [(name, rows_of(offsets, name, indexes, require_stable)) for name, indexes in asked]


def _merged(asked: Asked) -> Asked:
    """3.9.1 answers each partition once and leaves out topics without any (OF-12)."""
    merged: dict[str, dict[int, None]] = {}
    for name, indexes in asked:
        if indexes:
            merged.setdefault(name, {}).update(dict.fromkeys(indexes))
    return [(name, list(indexes)) for name, indexes in merged.items()]


def _topics_by_id(
    call: Call, offsets: GroupOffsets, group: OffsetFetchRequestGroup, require_stable: bool
) -> list[OffsetFetchResponseTopics]:
    """v10: topics by their ids, both ways; unknown ones come last, as in 4.3.1 (OF-14)."""
    topics = call.cluster.topics
    if group.topics is None:
        known = [(topics.get(name), rows) for name, rows in all_rows(offsets, require_stable)]
        return [OffsetFetchResponseTopics(topic_id=topic.id, partitions=rows) for topic, rows in known if topic]
    answers, unknown = [], []
    for asked in group.topics:
        topic = topics.by_id(asked.topic_id)
        if topic is None:
            rows = [no_offset(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in asked.partition_indexes]
            unknown.append(OffsetFetchResponseTopics(topic_id=asked.topic_id, partitions=rows))
        else:
            rows = rows_of(offsets, topic.name, asked.partition_indexes, require_stable, topic.id)
            answers.append(OffsetFetchResponseTopics(topic_id=asked.topic_id, partitions=rows))
    return answers + unknown


# -- rows --------------------------------------------------------------------------------------------------------------


def all_rows(offsets: GroupOffsets, require_stable: bool) -> list[tuple[str, list[Row]]]:
    """Every stored offset, by topic (OF-4). What is only pending is not there (OF-15)."""
    if require_stable and offsets.pending:
        return [(topic, rows_of(offsets, topic, indexes, True)) for topic, indexes in offsets.topics.items()]
    return [
        (topic, [(each[PARTITION], each[OFFSET], each[LEADER_EPOCH], each[METADATA], _NONE) for each in found.values()])
        for topic, found in offsets.topics.items()
    ]


def rows_of(
    offsets: GroupOffsets, topic: str, indexes: Iterable[int], require_stable: bool, topic_id: bytes = NO_TOPIC_ID
) -> list[Row]:
    """The asked partitions of a topic as they were asked for (OF-7, OF-9).

    With `topic_id` an offset that was stored under another one reads as none (OF-14).
    """
    partitions = offsets.topics.get(topic, {})
    unstable = require_stable and bool(offsets.pending)
    rows = []
    for index in indexes:
        stored = partitions.get(index)
        if unstable and offsets.is_pending(topic, index):
            rows.append(no_offset(index, ErrorCode.UNSTABLE_OFFSET_COMMIT))
        elif stored is None or _is_of_another_topic(stored[TOPIC_ID], topic_id):
            rows.append(no_offset(index))
        else:
            rows.append((index, stored[OFFSET], stored[LEADER_EPOCH], stored[METADATA], _NONE))
    return rows


def no_offset(index: int, code: ErrorCode = ErrorCode.NONE) -> Row:
    """The row of a partition without an offset to tell."""
    return (index, _NO_OFFSET, NO_EPOCH, "", int(code))


def _is_of_another_topic(stored_id: bytes, topic_id: bytes) -> bool:
    return stored_id != topic_id and NO_TOPIC_ID not in (stored_id, topic_id)
