"""ListOffsets, key 2, v0-v11: offsets by time, the first, the last (KIP-79, LO).

v0 lists segment starts; v1 one offset with its timestamp (KIP-79); v2 isolation level (KIP-98); v4 leader epochs
(KIP-320); v6 flexible; v7 MAX_TIMESTAMP (KIP-734); v8 EARLIEST_LOCAL (KIP-405); v9 LAST_TIERED (KIP-1005); v10 timeout
(KIP-1075); v11 EARLIEST_PENDING_UPLOAD (KIP-1023). There is no tiered storage: EARLIEST_LOCAL is EARLIEST, the other
two are never found, and the timeout has nothing to wait for.

Where Kafka's segment search errs (LO-12) the right answer is given (LO-11). KAFKA_STORAGE_ERROR does not occur.
"""

from collections import Counter
from collections.abc import Generator
from typing import Any

from fakebroker.broker.apis.call import Call, Repeat, Steps
from fakebroker.broker.apis.isolation_levels import READ_COMMITTED, check_isolation_level
from fakebroker.broker.core.logs import list_offsets
from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Line, Pace
from fakebroker.protocol.schema.runtime import check_size
from fakebroker.protocol.wire.layout import AnswerTemplate
from fakebroker.protocol.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

_SINCE = {  # special timestamps and the version that brought them
    list_offsets.LATEST: 0,
    list_offsets.EARLIEST: 0,
    list_offsets.MAX_TIMESTAMP: 7,
    list_offsets.EARLIEST_LOCAL: 8,
    list_offsets.LAST_TIERED: 9,
    list_offsets.EARLIEST_PENDING_UPLOAD: 11,
}

_REPEATED = ErrorCode.INVALID_REQUEST  # for every row of a partition that comes twice (LO-6)

SEGMENTS_PER_STEP = 20_000
_ROW_COSTS_SEGMENTS = 20
_OFFSET_BYTES = 8

_RequestRow = tuple[int, int, int, int]  # index, current leader epoch, timestamp, v0's number of offsets
_Entry = tuple[str, list[_RequestRow]]  # of a topic
_AnswerRow = tuple[int, int, list[int], int, int, int]  # index, error, v0's offsets, timestamp, offset, leader epoch
_Lookup = Generator[None, None, _AnswerRow]  # in steps


def handle(call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse | None:
    """Answer each partition for itself; others are served during searches by time, which may unpack large batches, and
    between many rows.
    """
    return call.work(_in_steps(call, request))


def _in_steps(call: Call, request: ListOffsetsRequest) -> Steps[ListOffsetsResponse]:
    response, has_searched, pace = ListOffsetsResponse(), False, call.pace(SEGMENTS_PER_STEP)
    listed = 0  # offsets of v0
    entries = [(topic.name, topic.partitions) for topic in request.topics]
    check_isolation_level(call, request.isolation_level)  # all or nothing (LO-10)
    if call.version > 0:
        counts = yield from _counted(entries, pace)
    if call.cluster.behaviours.list_offsets_merges_topics:
        entries = yield from _merged(entries, pace)
    for name, rows in entries:
        answers: list[_AnswerRow] = []
        response.topics.append(ListOffsetsTopicResponse(name=name, partitions=answers))
        for row in rows:
            if call.version == 0:
                answers.append(_old_row(call, name, request.replica_id, pace, *row))
                listed += len(answers[-1][2])
                check_size((), _OFFSET_BYTES * listed)
            elif counts[name, row[0]] > 1:
                answers.append(_error(row[0], _REPEATED))
            else:
                target = _target(call, row[2])
                if list_offsets.is_search(target) and has_searched:
                    yield
                has_searched |= list_offsets.is_search(target)
                answer = yield from _row(call, request, name, row, target)
                answers.append(answer)
            if pace.is_over(_ROW_COSTS_SEGMENTS):
                yield
    return response


def _counted(entries: list[_Entry], pace: Pace) -> Generator[None, None, Counter[tuple[str, int]]]:
    """How often the request has each partition; in steps."""
    counts = Counter[tuple[str, int]]()
    for name, rows in entries:
        counts.update([(name, row[0]) for row in rows])
        if pace.is_over(1 + len(rows)):
            yield
    return counts


def _merged(entries: list[_Entry], pace: Pace) -> Generator[None, None, list[_Entry]]:
    """One entry for each topic that has partitions; of rows for the same partition the last (LO-6, LO-27); in steps."""
    if len(entries) == 1 and len(entries[0][1]) == 1:
        return entries
    topics: dict[str, dict[int, _RequestRow]] = {}
    for name, rows in entries:
        topics.setdefault(name, {}).update((row[0], row) for row in rows)
        if pace.is_over(1 + len(rows)):
            yield
    return [(name, list(rows.values())) for name, rows in topics.items() if rows]


def _target(call: Call, sent: int) -> int:
    """What to look for, from v1 on: what was sent, UNKNOWN if the version does not know it (LO-3)."""
    if sent >= 0 or _SINCE.get(sent, 99) <= call.version:
        return sent
    searched = call.cluster.behaviours.negative_times_are_searched
    return list_offsets.ANY_TIME if searched else list_offsets.UNKNOWN


def _row(call: Call, request: ListOffsetsRequest, name: str, row: _RequestRow, target: int) -> _Lookup:
    """The answer for one partition, from v1 on: the checks in Kafka's order (LO-4), then the lookup."""
    index, current_leader_epoch, *_ = row
    if target == list_offsets.UNKNOWN:
        return _error(index, ErrorCode.UNSUPPORTED_VERSION)
    partition = call.cluster.topics.partition(name, index)
    if partition is None:
        return _error(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return (yield from _looked_up(call, request, partition, current_leader_epoch, target))


def _looked_up(
    call: Call, request: ListOffsetsRequest, partition: Partition, current_leader_epoch: int, target: int
) -> _Lookup:
    """The answer for a partition that there is, and a target that the version knows."""
    index = partition.index
    code = list_offsets.error_for_lookup(partition, call.node.id, current_leader_epoch, request.replica_id)
    if code:
        return _error(index, code)
    call.line = Line.UNPACKING  # as `Call.in_line`, which is a generator more
    try:
        answer = yield from list_offsets.find_offset(
            partition.log,
            target,
            request.replica_id,
            read_committed=request.isolation_level == READ_COMMITTED,
            seen=partition.stale_views.get(call.node.id),
        )
    except KafkaError as error:
        too_new = error.code == ErrorCode.OFFSET_NOT_AVAILABLE and call.version < 5
        return _error(index, ErrorCode.LEADER_NOT_AVAILABLE if too_new else error.code)
    finally:
        call.line = None
    timestamp_ms, offset, leader_epoch = answer
    tells_epoch = call.version >= 4 and call.cluster.behaviours.list_offsets_tells_epochs
    return index, 0, [], timestamp_ms, offset, leader_epoch if tells_epoch else -1


def repeat(call: Call, request: ListOffsetsRequest, response: ListOffsetsResponse) -> Repeat | None:
    """The next lookups in the same partitions, each for another time, with at most one search.

    All of them have to succeed.
    """
    asked = [(topic.name, row) for topic in request.topics for row in topic.partitions]
    found = [(topic.name, row) for topic in response.topics for row in topic.partitions]
    if call.version == 0 or any(row[1] for _, row in found):
        return None
    if [(name, row[0]) for name, row in asked] != [(name, row[0]) for name, row in found]:
        return None
    topics, changes, count = call.cluster.topics, call.cluster.topics.changes, 3 if call.version >= 4 else 2
    lookups = [(topics.partition(name, row[0]), row[1]) for name, row in asked]
    body = response.encode(call.version)
    template = AnswerTemplate(body, ListOffsetsResponse.locator(call.version)(body, 0))

    def answer(call: Call, targets: tuple[Any, ...]) -> bytes | list[bytes] | None:
        if topics.changes != changes or (len(targets) > 1 and any(map(list_offsets.is_search, targets))):
            return None
        values: list[int] = []
        for (partition, leader_epoch), target in zip(lookups, targets, strict=True):
            if partition is None or (target < 0 and _SINCE.get(target, 99) > call.version):
                return None
            row = _at_once(_looked_up(call, request, partition, leader_epoch, target))
            if row is None or row[1]:
                return None
            values += row[3:][:count]
        return template.fill(*values)

    return answer


def _at_once(lookup: _Lookup) -> _AnswerRow | None:
    """What a lookup of a single step comes to; None if it has more of them."""
    try:
        next(lookup)
    except StopIteration as end:
        answer: _AnswerRow = end.value
        return answer
    return None


def _old_row(
    call: Call, name: str, replica_id: int, pace: Pace, index: int, _epoch: int, target: int, count: int
) -> _AnswerRow:
    """The answer of v0 for one partition: the starts of at most `count` segments (LO-18)."""
    partition = call.cluster.topics.partition(name, index)
    if target < list_offsets.EARLIEST and not call.cluster.behaviours.negative_times_are_searched:
        return _error(index, ErrorCode.UNSUPPORTED_VERSION)
    if partition is None:
        return _error(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = list_offsets.error_for_lookup(partition, call.node.id, -1, replica_id)
    if code:
        return _error(index, code)
    pace.count(len(partition.log.segments))
    offsets = list_offsets.find_segment_offsets(partition.log, target, count, replica_id, call.now.wall_ms)
    return index, 0, offsets, -1, -1, -1


def _error(index: int, code: ErrorCode) -> _AnswerRow:
    return index, code, [], -1, -1, -1
