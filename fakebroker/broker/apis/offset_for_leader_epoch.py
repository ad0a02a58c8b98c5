"""OffsetForLeaderEpoch, key 23, v0-v4: where a leader epoch ended (KIP-101, KIP-279, KIP-320; LE, OE).

v1 the epoch in the answer; v2 current leader epoch; v3 replica id, which is ignored (OE-4); v4 flexible.
"""

from collections.abc import Generator

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

PARTITIONS_PER_STEP = 1_000  # whose logs may have to be made; and topics

_Entry = tuple[str, list[OffsetForLeaderPartition]]


def handle(call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse | None:
    """Answer each partition on its own; one that comes twice gets two answers, in 2.1.1 one (OE-5)."""
    return call.work(_in_steps(call, request))


def _in_steps(call: Call, request: OffsetForLeaderEpochRequest) -> Steps[OffsetForLeaderEpochResponse]:
    """A frame of 1 MB may name 77,000 partitions."""
    response, pace = OffsetForLeaderEpochResponse(), call.pace(PARTITIONS_PER_STEP)
    entries = [(topic.topic, topic.partitions) for topic in request.topics]
    if not call.cluster.behaviours.epoch_ends_answer_duplicates:
        entries = yield from _merged(entries, pace)
    for name, partitions in entries:
        answers: list[EpochEndOffset] = []
        for entry in partitions:
            answers.append(_answer(call, name, entry))
            if pace.is_over():
                yield
        response.topics.append(OffsetForLeaderTopicResult(topic=name, partitions=answers))
        if pace.is_over():
            yield
    return response


def _merged(entries: list[_Entry], pace: Pace) -> Generator[None, None, list[_Entry]]:
    """One entry for each topic that has partitions, with the last of several rows for a partition."""
    topics: dict[str, dict[int, OffsetForLeaderPartition]] = {}
    for name, partitions in entries:
        topics.setdefault(name, {}).update((each.partition, each) for each in partitions)
        if pace.is_over(1 + len(partitions)):
            yield
    return [(name, list(partitions.values())) for name, partitions in topics.items() if partitions]


def _answer(call: Call, name: str, entry: OffsetForLeaderPartition) -> EpochEndOffset:
    partition = call.cluster.topics.partition(name, entry.partition)
    if partition is None:
        return _error(entry, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = partition.error_for_access(call.node.id, entry.current_leader_epoch)
    if code:
        return _error(entry, code)
    epoch, end_offset = partition.log.epochs.end_of(entry.leader_epoch, partition.log.log_end_offset)
    return EpochEndOffset(partition=entry.partition, leader_epoch=epoch, end_offset=end_offset)


def _error(entry: OffsetForLeaderPartition, code: ErrorCode) -> EpochEndOffset:
    return EpochEndOffset(partition=entry.partition, error_code=code, leader_epoch=-1, end_offset=-1)
