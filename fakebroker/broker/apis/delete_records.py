"""DeleteRecords, key 21, v0-v2: move the log start (KIP-107, DL). v2 flexible; nothing else changes.

All replicas follow at once, so there is nothing to wait for and timeout_ms does nothing.
"""

from collections.abc import Iterable

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)

PARTITIONS_PER_STEP = 1_000  # whose logs may have to be made
_TO_HIGH_WATERMARK = -1


def handle(call: Call, request: DeleteRecordsRequest) -> DeleteRecordsResponse | None:
    """Delete in each partition for itself."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: DeleteRecordsRequest) -> Steps[DeleteRecordsResponse]:
    """A frame of 1 MB may name 77,000 partitions."""
    response, pace = DeleteRecordsResponse(), call.pace(PARTITIONS_PER_STEP)
    for topic in merged(request.topics):
        results: list[DeleteRecordsPartitionResult] = []
        for entry in topic.partitions:
            results.append(_result(call, topic.name, entry))
            if pace.is_over():
                yield
        response.topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
    return response


def merged(topics: Iterable[DeleteRecordsTopic]) -> list[DeleteRecordsTopic]:
    """One entry for each topic that names partitions; of a partition that comes twice the last one counts (DL-6)."""
    found: dict[str, dict[int, DeleteRecordsPartition]] = {}
    for topic in topics:
        if topic.partitions:
            found.setdefault(topic.name, {}).update((each.partition_index, each) for each in topic.partitions)
    return [DeleteRecordsTopic(name=name, partitions=list(entries.values())) for name, entries in found.items()]


def _result(call: Call, name: str, entry: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    partition = call.cluster.topics.partition(name, entry.partition_index)
    try:
        if partition is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        low_watermark = _delete(partition, call.node.id, entry.offset, call.now)
    except KafkaError as error:
        return DeleteRecordsPartitionResult(
            partition_index=entry.partition_index, low_watermark=-1, error_code=error.code
        )
    return DeleteRecordsPartitionResult(partition_index=entry.partition_index, low_watermark=low_watermark)


def _delete(partition: Partition, node_id: int, offset: int, now: Instant) -> int:
    """Move the log start; returns where it is now (DL-2, DL-5).

    Raises KafkaError: INVALID_TOPIC_EXCEPTION, NOT_LEADER_OR_FOLLOWER, POLICY_VIOLATION, OFFSET_OUT_OF_RANGE.
    """
    topic, log = partition.topic, partition.log
    if topic.is_internal:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic.name} is internal")
    code = partition.error_for_access(node_id)
    if code:
        raise KafkaError(code, f"the leader of {log.name} is broker {partition.leader}")
    if log.config.compact and not log.config.delete:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"the cleanup.policy of {topic.name} does not include delete")
    log.advance_log_start(log.high_watermark if offset == _TO_HIGH_WATERMARK else offset, now)
    return log.log_start_offset
