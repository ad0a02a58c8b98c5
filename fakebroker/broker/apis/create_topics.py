"""CreateTopics, key 19, v0-v7 (KIP-4, NT).

v1 error message, validate_only; v2 throttle time; v4 counts of -1 mean the broker's defaults (KIP-464); v5 flexible,
the answer shows counts and configs (KIP-525); v7 topic id (KIP-516). Kafka 4 serves v2 on.

Left out: policies (NT-10), NOT_CONTROLLER of brokers that are none (AD-4). MOCK: done at once (AD-1).
"""

from collections.abc import Generator, Mapping
from typing import NamedTuple

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.topic_config import TopicConfig, check_config
from fakebroker.broker.core.topic_rules import LARGEST_CHANGE, check_counts, check_total, too_large_change
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode, ErrorContent, KafkaError
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

ENTRIES_PER_STEP = 10_000
_PLAN_COSTS_ENTRIES = 20  # and each partition, each config of its own, half as much
_PART_COSTS_ENTRIES = 10


class _Asked(NamedTuple):
    """What a request says of one name: its last entry. With more than one the name is refused."""

    topic: CreatableTopic
    times: int


class _Plan(NamedTuple):
    """A topic that can be made and does not exist yet, or None; and the answer."""

    topic: Topic | None
    answer: CreatableTopicResult


def handle(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse | None:
    """Each topic on its own, unless all together are too many; a name that comes twice is refused once (NT-3)."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: CreateTopicsRequest) -> Steps[CreateTopicsResponse]:
    """What is cheap is judged first. Topics are planned in many steps, and come into being together, in one."""
    pace = call.pace(ENTRIES_PER_STEP)
    plans: list[_Plan] = []
    try:
        asked = yield from _counted(call, request, pace)
        if request.timeout_ms <= 0 and any(each.times == 1 for each in asked.values()):  # AD-5
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        yield from _plan(call, asked, plans, pace)
        if not request.validate_only:
            plans = _create(call, plans)
        return CreateTopicsResponse(topics=[plan.answer for plan in plans])
    except KafkaError as error:
        content = error.content
    finally:
        for topic, _ in plans:
            if topic is not None and call.cluster.topics.by_id(topic.id) is not topic:
                topic.end()
    response = CreateTopicsResponse()
    for entry in request.topics:
        response.topics.append(_error_result(entry.name, content))
        if pace.is_over():
            yield
    return response


def _counted(call: Call, request: CreateTopicsRequest, pace: Pace) -> Generator[None, None, dict[str, _Asked]]:
    """What is asked for, by name. Raises KafkaError(POLICY_VIOLATION) for more partitions than one request may make."""
    asked: dict[str, _Asked] = {}
    for topic in request.topics:
        before = asked.get(topic.name)
        asked[topic.name] = _Asked(topic, 1 if before is None else before.times + 1)
        if pace.is_over():
            yield
    default, partitions = call.cluster.settings.get_int("num.partitions"), 0
    for topic, times in asked.values():
        if times == 1:
            partitions += _partitions_asked(topic, default)
        if pace.is_over():
            yield
    check_total(partitions)
    return asked


def _plan(call: Call, asked: Mapping[str, _Asked], plans: list[_Plan], pace: Pace) -> Generator[None, None, None]:
    """Append a plan for each name. Raises KafkaError(POLICY_VIOLATION) for too large a change."""
    blank = TopicConfig(call.cluster.settings)
    common = {name: _shown(blank, name) for name in sorted(blank.table)} if call.version >= 5 else {}
    records = 0
    for name, (entry, times) in asked.items():
        topic = _planned(call, entry, times)
        if isinstance(topic, Topic):
            plans.append(_Plan(topic, _created(topic, common)))
            parts = topic.records_count
            records += parts
        else:
            plans.append(_Plan(None, _error_result(name, topic)))
            parts = 0
        if pace.is_over(_PLAN_COSTS_ENTRIES + _PART_COSTS_ENTRIES * parts):
            yield
    if records > LARGEST_CHANGE:
        raise too_large_change()


def _create(call: Call, plans: list[_Plan]) -> list[_Plan]:
    """Let the planned topics exist, all in one step, as Kafka's controller writes them in one batch of records.

    What another client has made meanwhile is refused, as if its request had come first.
    """
    topics = call.cluster.topics
    settled = [_checked_again(call, plan) for plan in plans]
    for topic, _ in settled:
        if topic is not None:
            topics.add(topic)
    return settled


def _checked_again(call: Call, plan: _Plan) -> _Plan:
    if plan.topic is None:
        return plan
    try:
        call.cluster.topics.check_new(plan.topic.name)
    except KafkaError as error:
        name = plan.topic.name
        plan.topic.end()
        return _Plan(None, _error_result(name, error.content))
    return plan


def _partitions_asked(asked: CreatableTopic, default: int) -> int:
    """How many partitions a topic would have; a count that cannot be adds nothing and takes nothing away."""
    if asked.assignments:
        return len(asked.assignments)
    return default if asked.num_partitions == -1 else max(asked.num_partitions, 0)


def _planned(call: Call, asked: CreatableTopic, times: int) -> Topic | ErrorContent:
    """The topic as it will be, all checks done against the topics that were there before the request.

    Raises KafkaError(POLICY_VIOLATION) for a topic so large that it fails the whole request.
    """
    topics = call.cluster.topics
    try:
        if times > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{asked.name!r} is in the request {times} times")
        if not call.cluster.behaviours.topic_counts_have_defaults:
            _check_without_defaults(call, asked)
        topics.check_new(asked.name)
        topic = topics.plan(
            asked.name,
            None if asked.num_partitions == -1 else asked.num_partitions,
            None if asked.replication_factor == -1 else asked.replication_factor,
            _config(asked),
            _assignments(asked),
        )
        if call.quota is not None:
            topic.ask(call.quota.mutated)  # also if it is only validated (QU-7)
        return topic
    except KafkaError as error:
        if error.code == ErrorCode.POLICY_VIOLATION:
            raise too_large_change() from None
        return error.content


def _check_without_defaults(call: Call, asked: CreatableTopic) -> None:
    """Raises KafkaError as 2.1.1 does, before it looks at the name (NT-3): of the configs, then of the counts."""
    if any(entry.value is None for entry in asked.configs):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "a config has no value")
    check_config(call.cluster.settings, _config(asked))
    if asked.assignments:
        _check_no_counts(asked)
    else:
        for code, count, what in (
            (ErrorCode.INVALID_PARTITIONS, asked.num_partitions, "number of partitions"),
            (ErrorCode.INVALID_REPLICATION_FACTOR, asked.replication_factor, "replication factor"),
        ):
            if count < 1:
                raise KafkaError(code, f"the {what} has to be 1 or more, not {count}: this release has no default")
        check_counts(asked.num_partitions, asked.replication_factor, len(call.cluster.nodes))


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
    _check_no_counts(asked)
    by_index = {entry.partition_index: entry.broker_ids for entry in asked.assignments}
    if sorted(by_index) != list(range(len(asked.assignments))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"partitions must be 0 to {len(asked.assignments) - 1}, each once",
        )
    return [by_index[index] for index in range(len(by_index))]


def _check_no_counts(asked: CreatableTopic) -> None:
    """Raise KafkaError(INVALID_REQUEST) if there are counts beside manual assignments (NT-7)."""
    if asked.num_partitions != -1 or asked.replication_factor != -1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "the partition count and replication factor must be -1 with manual assignments"
        )


def _created(topic: Topic, common: Mapping[str, CreatableTopicConfigs]) -> CreatableTopicResult:
    """The answer for a topic that is, or could be, made, with all its configs (NT-2).

    `common` is what a topic without configs of its own shows. All answers share it: working it out for each topic would
    cost a hundred times what its creation does.
    """
    own = topic.config.own
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.id,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=topic.replication_factor,
        configs=[_shown(topic.config, name) if name in own else shown for name, shown in common.items()],
    )


def _error_result(name: str, error: ErrorContent) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message, configs=[])


def _shown(config: TopicConfig, name: str) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=name,
        value=config.text(name),
        read_only=False,
        config_source=config.source(name),
        is_sensitive=False,
    )
