"""CreatePartitions, key 37, v0-v3: more partitions for topics (KIP-195, NP).

v1, v3 no change of layout; v2 flexible. MOCK: done at once (AD-1).
"""

from collections import Counter
from collections.abc import Mapping

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.topic_rules import LARGEST_CHANGE, check_folders
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

PARTITIONS_PER_STEP = 2_000  # and topics


def handle(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse | None:
    """Each topic on its own; a name that comes twice gets one INVALID_REQUEST (NP-1).

    The partitions of all topics together may be `LARGEST_CHANGE`. From the topic on with which they are more, Kafka
    answers UNKNOWN_SERVER_ERROR.
    """
    times = Counter(topic.name for topic in request.topics)
    if request.timeout_ms <= 0 and 1 in times.values():  # AD-5
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    return call.work(_in_steps(call, request, times), must_finish=True)


def _in_steps(
    call: Call, request: CreatePartitionsRequest, times: Mapping[str, int]
) -> Steps[CreatePartitionsResponse]:
    response, pace = CreatePartitionsResponse(), call.pace(PARTITIONS_PER_STEP)
    room = LARGEST_CHANGE
    for entry in {topic.name: topic for topic in request.topics}.values():
        result = CreatePartitionsTopicResult(name=entry.name)
        new = 0
        try:
            if times[entry.name] > 1:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"{entry.name!r} is in the request {times[entry.name]} times"
                )
            topic, new = _topic_to_grow(call, entry)
            room -= new
            if room < 0:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            replicas = _replicas(call, entry, topic, new)
            if call.quota is not None:
                call.quota.mutated(new)
            if not request.validate_only:
                topic.add_partitions(replicas)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        response.results.append(result)
        if pace.is_over(1 + new):
            yield
    return response


def _topic_to_grow(call: Call, entry: CreatePartitionsTopic) -> tuple[Topic, int]:
    """The topic, and how many partitions it is to get. Raises KafkaError."""
    topic = call.cluster.topics.get(entry.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    present = len(topic.partitions)
    if entry.count <= present:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, f"{entry.count} partitions are not more than the present {present}"
        )
    check_folders(topic.name, entry.count)
    new = entry.count - present
    if entry.assignments is not None and len(entry.assignments) != new:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{new} new partitions need {new} assignments, not {len(entry.assignments)}",
        )
    return topic, new


def _replicas(call: Call, entry: CreatePartitionsTopic, topic: Topic, new: int) -> list[list[int]]:
    """Where the new partitions will be. Raises KafkaError."""
    if entry.assignments is None:
        return call.cluster.assign_replicas(len(topic.partitions), new, topic.replication_factor)
    assignments = [each.broker_ids for each in entry.assignments]
    call.cluster.check_new_partitions(assignments, topic.replication_factor)
    return assignments
