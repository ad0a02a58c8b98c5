"""CreateTopics, key 19, v0-v7 (KIP-4, NT).

v1 error message, validate_only; v2 throttle time; v4 counts of -1 mean the broker's defaults (KIP-464); v5 flexible,
the answer shows counts and configs (KIP-525); v7 topic id (KIP-516). Kafka 4 serves v2 on.

Left out: policies (NT-10), NOT_CONTROLLER of brokers that are none (AD-4). MOCK: done at once (AD-1).
"""

from collections import Counter

from fakebroker.apis.call import Call
from fakebroker.core.topic_rules import LARGEST_CHANGE, check_total, too_large_change
from fakebroker.core.topics import Topic
from fakebroker.errors import ErrorCode, ErrorContent, KafkaError
from fakebroker.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


def handle(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Each topic on its own, unless all together are too many; a name that comes twice is refused once (NT-3)."""
    try:
        return _handle(call, request)
    except KafkaError as error:
        return CreateTopicsResponse(topics=[_error_result(topic.name, error.content) for topic in request.topics])


def _handle(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Raises KafkaError for a request that is refused as a whole."""
    times = Counter(topic.name for topic in request.topics)
    asked = {topic.name: topic for topic in request.topics}
    default = call.cluster.settings.get_int("num.partitions")
    check_total(sum(_partitions_asked(topic, default) for name, topic in asked.items() if times[name] == 1))
    planned = [_plan(call, topic, times[topic.name]) for topic in asked.values()]
    if sum(topic.records_count for topic in planned if isinstance(topic, Topic)) > LARGEST_CHANGE:
        raise too_large_change()
    if not request.validate_only:
        for topic in planned:
            if isinstance(topic, Topic):
                call.cluster.topics.add(topic)
    results = [
        _created(topic) if isinstance(topic, Topic) else _error_result(name, topic)
        for name, topic in zip(asked, planned, strict=True)
    ]
    if request.validate_only:
        for topic in planned:
            if isinstance(topic, Topic):
                topic.end()
    return CreateTopicsResponse(topics=results)


def _partitions_asked(asked: CreatableTopic, default: int) -> int:
    """How many partitions a topic would have; a count that cannot be adds nothing and takes nothing away."""
    if asked.assignments:
        return len(asked.assignments)
    return default if asked.num_partitions == -1 else max(asked.num_partitions, 0)


def _plan(call: Call, asked: CreatableTopic, times: int) -> Topic | ErrorContent:
    """The topic as it will be, all checks done against the topics that were there before the request.

    Raises KafkaError(POLICY_VIOLATION) for a topic so large that it fails the whole request.
    """
    topics = call.cluster.topics
    try:
        if times > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{asked.name!r} is in the request {times} times")
        topics.check_new(asked.name)
        return topics.plan(
            asked.name,
            None if asked.num_partitions == -1 else asked.num_partitions,
            None if asked.replication_factor == -1 else asked.replication_factor,
            _config(asked),
            _assignments(asked),
        )
    except KafkaError as error:
        if error.code == ErrorCode.POLICY_VIOLATION:
            raise too_large_change() from None
        return error.content


def _config(asked: CreatableTopic) -> dict[str, str]:
    config: dict[str, str] = {}
    for entry in asked.configs:
        if entry.value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{entry.name} has no value")
        config[entry.name] = entry.value
    return config


def _assignments(asked: CreatableTopic) -> list[list[int]] | None:
    """The brokers of each partition in order of the partitions, or None if the broker may choose (NT-7)."""
    if not asked.assignments:
        return None
    if asked.num_partitions != -1 or asked.replication_factor != -1:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "with an assignment both counts must be -1")
    by_index = {entry.partition_index: entry.broker_ids for entry in asked.assignments}
    if sorted(by_index) != list(range(len(asked.assignments))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"partitions must be 0 to {len(asked.assignments) - 1}, each once, not {sorted(by_index)}",
        )
    return [by_index[index] for index in range(len(by_index))]


def _created(topic: Topic) -> CreatableTopicResult:
    """The answer for a topic that is, or could be, made, with all its configs (NT-2)."""
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.id,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=topic.replication_factor,
        configs=[_shown(topic, name) for name in sorted(topic.config.table)],
    )


def _error_result(name: str, error: ErrorContent) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message, configs=[])


def _shown(topic: Topic, name: str) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=name,
        value=topic.config.text(name),
        read_only=False,
        config_source=topic.config.source(name),
        is_sensitive=False,
    )
