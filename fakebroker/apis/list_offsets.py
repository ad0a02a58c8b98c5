"""ListOffsets, key 2, v0-v11: offsets by time, the first, the last (LO).

v0 lists segment starts; v1 one offset with its timestamp; v2 isolation level; v4 leader epochs; v6 flexible; v7 maximum
timestamp (-3); v8 earliest local (-4); v9 last tiered (-5); v11 earliest pending upload (-6). There is no tiered
storage: -4 is -2, -5 and -6 are never found, and v10's timeout has nothing to wait for.

Where Kafka's segment search errs (LO-12) the right answer is given (LO-11). Code 43 (LO-7) and offline replicas (56)
do not occur.
"""

from collections import Counter

from fakebroker.apis.call import Call
from fakebroker.core import lookups
from fakebroker.core.topics import Topic
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

_SINCE = {  # special timestamps and the version that brought them
    lookups.LATEST: 0,
    lookups.EARLIEST: 0,
    lookups.MAX_TIMESTAMP: 7,
    lookups.EARLIEST_LOCAL: 8,
    lookups.LAST_TIERED: 9,
    lookups.EARLIEST_PENDING_UPLOAD: 11,
}
_READ_COMMITTED = 1

_Row = tuple[int, int, list[int], int, int, int]  # index, error, v0's offsets, timestamp, offset, leader epoch


def handle(call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Answer each partition for itself."""
    response = ListOffsetsResponse()
    if call.version == 0:
        for topic in request.topics:
            entry = call.cluster.topics.get(topic.name)
            rows = [_old_row(call, entry, request.replica_id, *row) for row in topic.partitions]
            response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=rows))
        return response
    by_name: dict[str, list[tuple[int, int, int, int]]] = {}
    for topic in request.topics:
        by_name.setdefault(topic.name, []).extend(topic.partitions)
    for name, asked in by_name.items():
        if asked:  # LO-27
            partitions = _rows(call, request, name, asked)
            response.topics.append(ListOffsetsTopicResponse(name=name, partitions=partitions))
    return response


def _rows(call: Call, request: ListOffsetsRequest, name: str, asked: list[tuple[int, int, int, int]]) -> list[_Row]:
    topic = call.cluster.topics.get(name)
    if len(asked) == 1:
        return [_row(call, request, topic, asked[0])]
    counts = Counter(index for index, *_ in asked)
    rows = [_error(index, ErrorCode.INVALID_REQUEST) for index, count in counts.items() if count > 1]  # LO-6
    return rows + [_row(call, request, topic, row) for row in asked if counts[row[0]] == 1]


def _row(call: Call, request: ListOffsetsRequest, topic: Topic | None, row: tuple[int, int, int, int]) -> _Row:
    """The checks in the order of LO-4, then the lookup."""
    index, current_leader_epoch, target, _ = row
    if target < 0 and _SINCE.get(target, 99) > call.version:
        return _error(index, ErrorCode.UNSUPPORTED_VERSION)
    partition = topic.partition(index) if topic is not None else None
    if partition is None:
        return _error(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        lookups.check_leader(partition, call.node.id, current_leader_epoch, request.replica_id)
        answer = lookups.find_offset(
            partition.log, target, request.replica_id, read_committed=request.isolation_level == _READ_COMMITTED
        )
    except KafkaError as error:
        too_new = error.code == ErrorCode.OFFSET_NOT_AVAILABLE and call.version < 5
        return _error(index, ErrorCode.LEADER_NOT_AVAILABLE if too_new else error.code)
    timestamp_ms, offset, leader_epoch = answer
    return index, 0, [], timestamp_ms, offset, leader_epoch if call.version >= 4 else -1


def _old_row(
    call: Call, topic: Topic | None, replica_id: int, index: int, _epoch: int, target: int, count: int
) -> _Row:
    partition = topic.partition(index) if topic is not None else None
    if target < lookups.EARLIEST:
        return _error(index, ErrorCode.UNSUPPORTED_VERSION)
    if partition is None:
        return _error(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        lookups.check_leader(partition, call.node.id, -1, replica_id)
    except KafkaError as error:
        return _error(index, error.code)
    offsets = lookups.find_segment_offsets(partition.log, target, count, replica_id, call.now.wall_ms)
    return index, 0, offsets, -1, -1, -1


def _error(index: int, code: ErrorCode) -> _Row:
    return index, code, [], -1, -1, -1
