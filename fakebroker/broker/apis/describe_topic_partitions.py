"""DescribeTopicPartitions, key 75, v0: topics and their partitions, page by page (KIP-966, TP)."""

from bisect import bisect_left
from collections.abc import Iterable

from fakebroker.broker.apis import operations
from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.topic_rules import check_name
from fakebroker.broker.core.topics import Partition, Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import in_parts
from fakebroker.protocol.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

PARTITIONS_PER_STEP = 2_000  # and topics, which cost about as much


def handle(call: Call, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse | None:
    """Topics by name from the cursor on, until the limit of partitions is reached (TP-2)."""
    asked = [topic.name for topic in request.topics]
    cursor = request.cursor
    names = sorted(set(asked)) if asked else call.cluster.topics.sorted_names()
    if cursor is not None:
        if cursor.partition_index < 0 or (asked and cursor.topic_name not in names):
            return _error_response(asked, ErrorCode.INVALID_REQUEST)
        names = names[bisect_left(names, cursor.topic_name) :]
    if "" in names[:1]:  # Kafka fails (TP-1)
        return _error_response(asked, ErrorCode.UNKNOWN_SERVER_ERROR)
    left = max(1, min(request.response_partition_limit, call.node.settings.get_int("max.request.partition.size.limit")))
    return call.work(_in_steps(call, names, cursor, left))


def _in_steps(
    call: Call, names: Iterable[str], cursor: Cursor | None, left: int
) -> Steps[DescribeTopicPartitionsResponse]:
    response, pace = DescribeTopicPartitionsResponse(next_cursor=None), call.pace(PARTITIONS_PER_STEP)
    for name in names:
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if left <= 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=first)
            break
        entry, topic = _topic(call, name)
        response.topics.append(entry)
        page = [] if topic is None else topic.partitions[first : first + left]
        for partitions in in_parts(page):
            entry.partitions += [_partition(each) for each in partitions]
            if pace.is_over(len(partitions)):
                yield
        left -= len(page)
        end = first + len(page)
        if topic is not None and end < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
        if pace.is_over():
            yield
    return response


def _error_response(names: Iterable[str], code: ErrorCode) -> DescribeTopicPartitionsResponse:
    """The code for every topic: the cursor cannot be (TP-3), or a name is empty."""
    return DescribeTopicPartitionsResponse(
        topics=[DescribeTopicPartitionsResponseTopic(error_code=code, name=name) for name in names], next_cursor=None
    )


def _topic(call: Call, name: str) -> tuple[DescribeTopicPartitionsResponseTopic, Topic | None]:
    """The answer for a topic, still without partitions, and the topic if there is one."""
    entry = DescribeTopicPartitionsResponseTopic(name=name, topic_authorized_operations=operations.TOPIC)
    try:
        check_name(name)
    except KafkaError as error:
        entry.error_code = error.code
        return entry, None
    topic = call.cluster.topics.get(name)
    if topic is None:
        entry.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return entry, None
    entry.topic_id, entry.is_internal, entry.partitions = topic.id, topic.is_internal, []
    return entry, topic


def _partition(partition: Partition) -> DescribeTopicPartitionsResponsePartition:
    live = partition.live_replicas
    return DescribeTopicPartitionsResponsePartition(
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=[node_id for node_id in partition.replicas if node_id not in live],
    )
