"""AlterPartitionReassignments, key 45, v0-v1: move partitions to other brokers (KIP-455, RA).

v1 the client may forbid another replication factor.

MOCK: all brokers' logs are one, so a move is done before the answer and none is ever running; hence no cancelling:
NO_REASSIGNMENT_IN_PROGRESS. Moving the leader is a new leader epoch, and so is taking replicas away (CLU-24).
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.elections import reassign
from fakebroker.broker.core.topic_rules import check_assignments
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def handle(call: Call, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
    """Each partition on its own; the top-level code is always NONE (RA-1)."""
    if request.topics and request.timeout_ms <= 0:  # AD-5
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    keep_length = not request.allow_replication_factor_change
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[_partition(call, topic.name, entry, keep_length) for entry in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _partition(call: Call, name: str, entry: ReassignablePartition, keep_length: bool) -> ReassignablePartitionResponse:
    answer = ReassignablePartitionResponse(partition_index=entry.partition_index, error_message=None)
    try:
        _reassign(call, name, entry, keep_length)
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, error.message
    return answer


def _reassign(call: Call, name: str, entry: ReassignablePartition, keep_length: bool) -> None:
    partition = call.cluster.topics.partition(name, entry.partition_index)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _unknown(call, name, entry.partition_index))
    if entry.replicas is None:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    check_assignments([entry.replicas], list(call.cluster.nodes), len(entry.replicas))
    if keep_length and len(entry.replicas) != len(partition.replicas):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{len(entry.replicas)} replicas would change the replication factor {len(partition.replicas)}",
        )
    reassign(partition, entry.replicas, call.now)


def _unknown(call: Call, name: str, index: int) -> str:
    """Kafka's text about a partition that does not exist."""
    if call.cluster.topics.get(name) is None:
        return f"Unable to find a topic named {name}."
    return f"Unable to find partition {name}:{index}."
