"""OffsetFetch, key 9, v0-v10: read a group's committed offsets (OF).

v0 read from ZooKeeper: UNSUPPORTED_VERSION (OF-2). v2: null topics mean all, and a top-level error (KIP-88); before, an
error of the group stands on every partition (OF-6). v5: leader epoch (KIP-320). v6: flexible. v7: require_stable
(KIP-447). v8: several groups, each with an error of its own (KIP-709). v9: member id and epoch, which classic groups
ignore (KIP-848, OF-11, CGO-7). v10: topic ids in place of names.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TypeVar

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.offsets.group_offsets import GroupOffsets
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.offsets_topic import LEADER_EPOCH, METADATA, NO_EPOCH, NO_TOPIC_ID, OFFSET, TOPIC_ID
from fakebroker.protocol.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

OffsetRow = tuple[int, int, int, str | None, int]  # partition, offset, leader epoch, metadata, error
_Named = OffsetFetchRequestTopic | OffsetFetchRequestTopics

Answered = TypeVar("Answered", OffsetFetchResponseTopic, OffsetFetchResponseTopics)
MayDescribe = Callable[[Topic], bool]

_AllTopics = dict[str, list[OffsetFetchResponseTopics]]
"""All topics of groups, by group id."""

ROWS_PER_STEP = 5_000  # and groups and topics
ROWS_AT_ONCE = ROWS_PER_STEP  # of one topic
_ZOOKEEPER_VERSION = 0
_TOP_LEVEL_ERROR_VERSION = 2
_MANY_GROUPS_VERSION = 8
_TOPIC_ID_VERSION = 10
_NO_OFFSET = -1
_NONE = int(ErrorCode.NONE)


def handle(
    call: Call, request: OffsetFetchRequest, may_describe: MayDescribe = lambda _topic: True
) -> OffsetFetchResponse | None:
    """One group or several, each answered on its own (OF-10).

    `may_describe` says whether the client may describe a topic whose id was unknown when its rights were looked at.
    """
    if call.version >= _MANY_GROUPS_VERSION:
        asks_for_all = bool(request.groups) and all(each.topics is None for each in request.groups)
        return call.work(_in_steps(call, request, may_describe), may_begin_later=asks_for_all)
    if call.version == _ZOOKEEPER_VERSION:
        return call.work(_unsupported(request, call.pace(ROWS_PER_STEP)))
    return call.work(_of_one_group(call, request), may_begin_later=request.topics is None)


def _of_one_group(call: Call, request: OffsetFetchRequest) -> Steps[OffsetFetchResponse]:
    """Before v8."""
    pace = call.pace(ROWS_PER_STEP)
    try:
        offsets = offsets_of(call, request.group_id)
    except KafkaError as error:
        return (yield from _group_error(call, request, error.code, pace))
    topics = yield from _topics_by_name(
        call, offsets, request.topics, request.require_stable, OffsetFetchResponseTopic, pace
    )
    if request.topics is None and sum([len(topic.partitions) for topic in topics]) > ROWS_PER_STEP:
        yield  # so that the answer is written in steps
    return OffsetFetchResponse(topics=topics)


def _in_steps(call: Call, request: OffsetFetchRequest, may_describe: MayDescribe) -> Steps[OffsetFetchResponse]:
    """Group by group. All offsets of a group are listed once, however often the request asks for them."""
    response, all_of, pace = OffsetFetchResponse(), _AllTopics(), call.pace(ROWS_PER_STEP)
    for requested in request.groups:
        group = yield from _group(call, requested, request.require_stable, all_of, may_describe, pace)
        response.groups.append(group)
        # All topics also of a group that is there again: it is written again.
        is_all = requested.topics is None
        if pace.is_over(1 + (sum([1 + len(topic.partitions) for topic in group.topics]) if is_all else 0)):
            yield
    return response


def _group_error(call: Call, request: OffsetFetchRequest, code: ErrorCode, pace: Pace) -> Steps[OffsetFetchResponse]:
    """An error of the group before v8: at the top since v2, before on every partition (OF-6)."""
    if call.version >= _TOP_LEVEL_ERROR_VERSION:
        return OffsetFetchResponse(error_code=code)
    response = OffsetFetchResponse()
    if call.cluster.behaviours.v1_fetch_errors_per_partition:
        for topic in request.topics or ():
            rows = [no_offset(index, code) for index in topic.partition_indexes]
            response.topics.append(OffsetFetchResponseTopic(name=topic.name, partitions=rows))
            if pace.is_over(1 + len(rows)):
                yield
    return response


def _unsupported(request: OffsetFetchRequest, pace: Pace) -> Steps[OffsetFetchResponse]:
    """The answer to v0: one entry for each topic that has partitions, with each partition once (OF-2)."""
    merged = yield from _merged(request.topics or (), pace)
    response = OffsetFetchResponse()
    for name, indexes in merged:
        rows = [no_offset(index, ErrorCode.UNSUPPORTED_VERSION) for index in indexes]
        response.topics.append(OffsetFetchResponseTopic(name=name, partitions=rows))
        if pace.is_over(1 + len(rows)):
            yield
    return response


# -- one group ---------------------------------------------------------------------------------------------------------


def offsets_of(call: Call, group_id: str) -> GroupOffsets:
    """The group's offsets; none if there is no such group (OF-7). Raises KafkaError as `Call.shard` does (OF-5)."""
    group = call.shard(group_id).group(group_id)
    return GroupOffsets() if group is None else group.offsets


def _offsets_for_member(call: Call, requested: OffsetFetchRequestGroup) -> GroupOffsets:
    """As `offsets_of`, if the group lets the member read them: raises KafkaError with its error, too (CGO-7)."""
    group = call.shard(requested.group_id).group(requested.group_id)
    if group is None:
        return GroupOffsets()
    code = group.error_for_offset_fetch(requested.member_id, requested.member_epoch)
    if code:
        raise KafkaError(code)
    return group.offsets


def _group(
    call: Call,
    group: OffsetFetchRequestGroup,
    require_stable: bool,
    all_of: _AllTopics,
    may_describe: MayDescribe,
    pace: Pace,
) -> Generator[None, None, OffsetFetchResponseGroup]:
    """The answer for one of several groups (v8 and later)."""
    try:
        offsets = _offsets_for_member(call, group)
    except KafkaError as error:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.code)
    if group.topics is None and group.group_id in all_of:
        return OffsetFetchResponseGroup(group_id=group.group_id, topics=all_of[group.group_id])
    if call.version >= _TOPIC_ID_VERSION:
        topics = yield from _topics_by_id(call, offsets, group, require_stable, may_describe, pace)
    else:
        topics = yield from _topics_by_name(
            call, offsets, group.topics, require_stable, OffsetFetchResponseTopics, pace
        )
    if group.topics is None:
        all_of[group.group_id] = topics
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)


def _topics_by_name(
    call: Call,
    offsets: GroupOffsets,
    topics: Sequence[_Named] | None,
    require_stable: bool,
    answered: type[Answered],
    pace: Pace,
) -> Generator[None, None, list[Answered]]:
    if topics is None:
        return [answered(name=name, partitions=rows) for name, rows in all_rows(offsets, require_stable)]
    if call.cluster.behaviours.commits_answer_duplicates:
        requested: Iterable[tuple[str, Sequence[int]]] = ((topic.name, topic.partition_indexes) for topic in topics)
    else:
        requested = yield from _merged(topics, pace)
    answers = list[Answered]()
    for name, indexes in requested:
        rows = rows_of(offsets, name, indexes[:ROWS_AT_ONCE], require_stable)
        for begin in range(ROWS_AT_ONCE, len(indexes), ROWS_AT_ONCE):
            yield
            rows += rows_of(offsets, name, indexes[begin : begin + ROWS_AT_ONCE], require_stable)
        answers.append(answered(name=name, partitions=rows))
        if pace.is_over(1 + len(indexes)):
            yield
    return answers


def _merged(topics: Sequence[_Named], pace: Pace) -> Generator[None, None, list[tuple[str, list[int]]]]:
    """Each partition once, without topics that have none, as up to 3.9.1 (OF-12)."""
    merged: dict[str, dict[int, None]] = {}
    for topic in topics:
        if topic.partition_indexes:
            merged.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
        if pace.is_over(1 + len(topic.partition_indexes)):
            yield
    return [(name, list(indexes)) for name, indexes in merged.items()]


def _topics_by_id(
    call: Call,
    offsets: GroupOffsets,
    group: OffsetFetchRequestGroup,
    require_stable: bool,
    may_describe: MayDescribe,
    pace: Pace,
) -> Generator[None, None, list[OffsetFetchResponseTopics]]:
    """Topics by id, in the request and in the answer; unknown ones come last, as in 4.3.1 (v10, OF-14).

    Where all are asked for, each has its name, too, by which rights are looked at: it may be deleted by then.
    """
    topics = call.cluster.topics
    if group.topics is None:
        known = [(topics.get(name), rows) for name, rows in all_rows(offsets, require_stable)]
        return [
            OffsetFetchResponseTopics(name=topic.name, topic_id=topic.id, partitions=rows)
            for topic, rows in known
            if topic
        ]
    answers, unknown = [], []
    for requested in group.topics:
        topic = topics.by_id(requested.topic_id)
        if topic is None or not may_describe(topic):
            rows = [no_offset(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in requested.partition_indexes]
            unknown.append(OffsetFetchResponseTopics(topic_id=requested.topic_id, partitions=rows))
        else:
            indexes = requested.partition_indexes
            rows = rows_of(offsets, topic.name, indexes[:ROWS_AT_ONCE], require_stable, topic.id)
            for begin in range(ROWS_AT_ONCE, len(indexes), ROWS_AT_ONCE):
                yield
                rows += rows_of(offsets, topic.name, indexes[begin : begin + ROWS_AT_ONCE], require_stable, topic.id)
            answers.append(OffsetFetchResponseTopics(topic_id=requested.topic_id, partitions=rows))
        if pace.is_over(1 + len(rows)):
            yield
    return answers + unknown


# -- rows --------------------------------------------------------------------------------------------------------------


def all_rows(offsets: GroupOffsets, require_stable: bool) -> list[tuple[str, list[OffsetRow]]]:
    """Every stored offset, by topic (OF-4). What is only pending is not there (OF-15)."""
    if require_stable and offsets.pending:
        return [(topic, rows_of(offsets, topic, indexes, True)) for topic, indexes in offsets.topics.items()]
    none = _NONE
    return [
        # Unpacked, in the order of CommittedOffset: to read the fields one by one by their indexes takes twice as long.
        (
            topic,
            [(index, offset, epoch, metadata, none) for _, index, offset, epoch, metadata, _, _, _ in found.values()],
        )
        for topic, found in offsets.topics.items()
    ]


def rows_of(
    offsets: GroupOffsets, topic: str, indexes: Iterable[int], require_stable: bool, topic_id: bytes = NO_TOPIC_ID
) -> list[OffsetRow]:
    """One row for each of `indexes`, in their order (OF-7, OF-9).

    With `require_stable` a partition with a pending offset is answered with UNSTABLE_OFFSET_COMMIT (KIP-447).

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


def no_offset(index: int, code: ErrorCode = ErrorCode.NONE) -> OffsetRow:
    """The row of a partition without a committed offset, or with an error."""
    return (index, _NO_OFFSET, NO_EPOCH, "", int(code))


def _is_of_another_topic(stored_id: bytes, topic_id: bytes) -> bool:
    return stored_id != topic_id and NO_TOPIC_ID not in (stored_id, topic_id)
