"""AlterPartitionReassignments, key 45, v0-v1: move partitions to other brokers (KIP-455, RA).

v1 the client may forbid another replication factor.

MOCK: all brokers' logs are one, so a move is done before the answer and none is ever running; hence no cancelling:
NO_REASSIGNMENT_IN_PROGRESS. Moving the leader is a new leader epoch, and so is taking replicas away (CLU-24).
"""

from typing import NamedTuple

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.elections import MOVES_PER_STEP, cost_of_move, reassign
from fakebroker.broker.core.topic_rules import check_assignments
from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.errors import ErrorCode, KafkaError, cut
from fakebroker.protocol.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

SEGMENTS_PER_STEP = 50  # that are copied into the data directory of another broker


class _Move(NamedTuple):
    """Where a partition is to be: at `replicas`, without those that it leaves."""

    replicas: list[int]
    left: list[int]

    @property
    def target(self) -> list[int]:
        """The replicas in the end."""
        return [node_id for node_id in self.replicas if node_id not in self.left] or self.replicas


def handle(call: Call, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse | None:
    """Each partition on its own; the top-level code is always NONE (RA-1).

    A partition that comes several times moves once, to what Kafka makes of its entries (`_Move`).
    """
    if request.topics and request.timeout_ms <= 0:  # AD-5
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: AlterPartitionReassignmentsRequest) -> Steps[AlterPartitionReassignmentsResponse]:
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change, error_message=None
    )
    keep_length, pace = not request.allow_replication_factor_change, call.pace(MOVES_PER_STEP)
    moves: dict[Partition, _Move] = {}
    for topic in request.topics:
        answers: list[ReassignablePartitionResponse] = []
        response.responses.append(ReassignableTopicResponse(name=topic.name, partitions=answers))
        for entry in topic.partitions:
            answers.append(_planned(call, topic.name, entry, keep_length, moves))
            if pace.is_over():
                yield
    of_segments = call.pace(SEGMENTS_PER_STEP)
    for partition, move in moves.items():
        if call.cluster.storage is not None:
            yield from call.cluster.storage.copied_ahead(partition, move.target, of_segments)
        if call.cluster.topics.by_id(partition.topic.id) is not None:  # not deleted meanwhile
            reassign(partition, move.target, call.now)
        if pace.is_over(cost_of_move(partition)):
            yield
    return response


def _planned(
    call: Call, name: str, entry: ReassignablePartition, keep_length: bool, moves: dict[Partition, _Move]
) -> ReassignablePartitionResponse:
    """The answer for one entry, whose move is noted."""
    answer = ReassignablePartitionResponse(partition_index=entry.partition_index, error_message=None)
    try:
        partition, replicas = _checked(call, name, entry, keep_length)
        moves[partition] = _after(moves.get(partition), partition, replicas)
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, error.message
    return answer


def _after(before: _Move | None, partition: Partition, replicas: list[int]) -> _Move:
    """The move of a partition that an earlier entry may move already.

    As on 4.3.1 each entry is compared with the partition as it is, and what differs replaces what the earlier ones have
    changed: the brokers that it leaves count until an entry names others. One that changes nothing counts for nothing.
    """
    left = [node_id for node_id in partition.replicas if node_id not in replicas]
    if before is None:
        return _Move(replicas, left)
    return before if replicas == partition.replicas else _Move(replicas, left or before.left)


def _checked(call: Call, name: str, entry: ReassignablePartition, keep_length: bool) -> tuple[Partition, list[int]]:
    """The partition, and where it is to be. Raises KafkaError."""
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
    return partition, entry.replicas


def _unknown(call: Call, name: str, index: int) -> str:
    """Kafka's text about a partition that does not exist."""
    if call.cluster.topics.get(name) is None:
        return f"Unable to find a topic named {cut(name)}."
    return f"Unable to find partition {name}:{index}."
