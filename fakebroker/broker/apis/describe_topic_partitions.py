"""DescribeTopicPartitions, key 75, v0: topics and their partitions, page by page (KIP-966, TP)."""

from bisect import bisect_left
from collections.abc import Generator, Iterable, Sequence
from heapq import merge

from fakebroker.broker.apis import operations
from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.topic_rules import check_name
from fakebroker.broker.core.topics import Partition, Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace, in_parts, listed
from fakebroker.protocol.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)

PARTITIONS_PER_STEP = 2_000  # and topics, which cost about as much
NAMES_PER_RUN = 10_000  # that are sorted at once


def handle(call: Call, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse | None:
    """Topics by name from the cursor on, until the limit of partitions is reached (TP-2)."""
    return call.work(_in_steps(call, request))


def _in_steps(call: Call, request: DescribeTopicPartitionsRequest) -> Steps[DescribeTopicPartitionsResponse]:
    cursor, pace = request.cursor, call.pace(PARTITIONS_PER_STEP)
    if request.topics:
        names = yield from names_in_order(request.topics, pace)
    else:
        names = call.cluster.topics.sorted_names()
    if cursor is not None:
        first_at = bisect_left(names, cursor.topic_name)
        if cursor.partition_index < 0 or (request.topics and names[first_at : first_at + 1] != [cursor.topic_name]):
            return (yield from _error_in_steps(request, ErrorCode.INVALID_REQUEST, pace))
        names = names[first_at:]
    if "" in names[:1]:  # Kafka fails (TP-1)
        return (yield from _error_in_steps(request, ErrorCode.UNKNOWN_SERVER_ERROR, pace))
    left = max(1, min(request.response_partition_limit, call.node.settings.get_int("max.request.partition.size.limit")))
    return (yield from _described_in_steps(call, names, cursor, left, pace))


def names_in_order(topics: Sequence[TopicRequest], pace: Pace) -> Generator[None, None, list[str]]:
    """The names of topics in their order, each once; in steps: to sort half a million takes a second."""
    known, runs = set[str](), list[list[str]]()
    for at in range(0, len(topics), NAMES_PER_RUN):
        new = {topic.name for topic in topics[at : at + NAMES_PER_RUN]} - known
        known |= new
        runs.append(sorted(new))
        if len(topics) > NAMES_PER_RUN and pace.is_over(NAMES_PER_RUN):
            yield
    if len(runs) <= 1:
        return runs[0] if runs else []
    return (yield from listed(merge(*runs), pace))


def _described_in_steps(
    call: Call, names: Iterable[str], cursor: Cursor | None, left: int, pace: Pace
) -> Steps[DescribeTopicPartitionsResponse]:
    response = DescribeTopicPartitionsResponse(next_cursor=None)
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


def _error_in_steps(
    request: DescribeTopicPartitionsRequest, code: ErrorCode, pace: Pace
) -> Steps[DescribeTopicPartitionsResponse]:
    """The code for every topic: the cursor cannot be (TP-3), or a name is empty."""
    refused = (DescribeTopicPartitionsResponseTopic(error_code=code, name=topic.name) for topic in request.topics)
    return DescribeTopicPartitionsResponse(topics=(yield from listed(refused, pace)), next_cursor=None)


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
