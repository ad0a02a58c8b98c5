"""DescribeProducers, key 61, v0: what partitions know of the producers that wrote to them (KIP-664, DP)."""

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.written_entries import WrittenEntries
from fakebroker.broker.core.topic_rules import check_name
from fakebroker.protocol.errors import MAX_TOPIC_CHARS, ErrorCode, KafkaError, shown
from fakebroker.protocol.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

PRODUCERS_PER_STEP = 5_000  # and partitions, which cost about as much


def handle(call: Call, request: DescribeProducersRequest) -> DescribeProducersResponse | None:
    """Answer each partition for itself."""
    return call.work(_in_steps(call, request), may_begin_later=True)


def _in_steps(call: Call, request: DescribeProducersRequest) -> Steps[DescribeProducersResponse]:
    """A frame of 1 MB may name 240,000 partitions."""
    response, pace = DescribeProducersResponse(), call.pace(PRODUCERS_PER_STEP)
    known: dict[tuple[str, int], PartitionResponse] = {}  # what is asked for again is answered by the same
    written = WrittenEntries(call)
    for topic in request.topics:
        answered = TopicResponse(name=topic.name)
        response.topics.append(answered)
        if pace.is_over():
            yield
        for index in topic.partition_indexes:
            described, producers = known.get((topic.name, index)), 0
            if described is None:
                described = known[topic.name, index] = _partition(call, topic.name, index)
                producers = len(described.active_producers)
            elif written.is_over(described):
                yield
            answered.partitions.append(described)
            if pace.is_over(1 + producers):
                yield
    return response


def _partition(call: Call, name: str, index: int) -> PartitionResponse:
    """The producers of one partition, or its error (DP-2)."""
    try:
        return PartitionResponse(partition_index=index, active_producers=_producers(call, name, index))
    except KafkaError as error:
        return PartitionResponse(partition_index=index, error_code=error.code, error_message=error.message)


def _producers(call: Call, name: str, index: int) -> list[ProducerState]:
    """Every producer that the partition knows (DP-1).

    Raises KafkaError: INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER.
    """
    check_topic(name)
    topic = call.cluster.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")
    partition = topic.partition(index)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = partition.error_for_access(call.node.id)
    if code:
        raise KafkaError(code, f"broker {call.node.id} does not lead {name}-{index}")
    return [
        ProducerState(
            producer_id=state.producer_id,
            producer_epoch=state.epoch,
            last_sequence=state.last_sequence,
            last_timestamp=state.last_timestamp_ms,
            coordinator_epoch=state.coordinator_epoch,
            current_txn_start_offset=_or_none(state.current_transaction_offset),
        )
        for state in (partition.log.producers if partition.has_log else ())
    ]


def check_topic(name: str) -> None:
    """Raises KafkaError for a name that no topic can have."""
    if len(name) > MAX_TOPIC_CHARS:  # each partition gets the text
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{shown(name)} has {len(name)} characters")
    check_name(name)


def _or_none(offset: int | None) -> int:
    """An offset on the wire, where -1 stands for none."""
    return -1 if offset is None else offset
