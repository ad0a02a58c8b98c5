"""StreamsGroupHeartbeat, key 88, v0: a member of a streams group joins, reconciles and leaves (KIP-1071, STH).

Internal topics that the application needs and that do not exist are created by the broker (STT-5).

MOCK: they are created at once; in Kafka they come to exist a little later.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import cast

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.groups.host import error_of_failed_write
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.groups.streams.endpoints import EndpointPartitions, TopicPartitions
from fakebroker.broker.core.groups.streams.group_step import MOST_TASKS
from fakebroker.broker.core.groups.streams.heartbeat import heartbeat
from fakebroker.broker.core.groups.streams.internal_topics import InternalTopic, Status
from fakebroker.broker.core.groups.streams.member import Endpoint
from fakebroker.broker.core.groups.streams.messages import HeartbeatAnswer, HeartbeatRequest
from fakebroker.broker.core.groups.streams.states import StatusCode
from fakebroker.broker.core.groups.streams.tasks import Task, Tasks, each_task, partitions_by_subtopology, tasks_of
from fakebroker.broker.core.groups.streams.topology import Topology, in_hash_order
from fakebroker.broker.core.topic_rules import check_name, check_total
from fakebroker.broker.core.topics import INTERNAL_TOPICS
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import AT_ONCE, Pace, finished, kept
from fakebroker.protocol.records import streams_group_schema as stored
from fakebroker.protocol.wire.messages import streams_group_heartbeat as wire
from fakebroker.protocol.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

MOST_PARTS = 20_000
"""How many subtopologies, topics, their configs and their places in copartition groups a topology may have. All of them
are looked at while others wait; applications have some hundreds.
"""

_JOIN_EPOCH = 0
_STATIC_LEAVE_EPOCH = -2


def handle(
    call: Call,
    request: StreamsGroupHeartbeatRequest,
    refused: Callable[[Sequence[str]], Sequence[str]] = lambda _names: (),
) -> StreamsGroupHeartbeatResponse | None:
    """Check the fields, let the group answer, create the internal topics that it misses (STH-1 to STH-4).

    `refused` says which of these the client may not create: if there is one, none is created.
    The assignment of a member that joins may be long: while others wait it is made in its own turn.
    """
    answer = partial(_answer, call, request, refused)
    return answer() if request.member_epoch > 0 else call.in_own_turn(answer)


def _answer(
    call: Call, request: StreamsGroupHeartbeatRequest, refused: Callable[[Sequence[str]], Sequence[str]]
) -> StreamsGroupHeartbeatResponse | None:
    try:
        _check_is_served(call)
        _check_size(request.topology)
        _check_tasks(request)
        if request.topology is not None:
            finished(_check_topic_names(request.topology, AT_ONCE))
        _check_supported(request)
        _check_fields(request)
        shard = call.shard(request.group_id)
        answer = heartbeat(shard, _to_core(call, request), call.now)
    except KafkaError as error:
        return _error_response(error.code, error.message)
    response = _response(_with_topics_created(call, answer, refused))
    return response if shard.is_replicated else when_replicated(call, shard, response, _error_response)


# -- checks of the fields ----------------------------------------------------------------------------------------------


def _check_is_served(call: Call) -> None:
    """Raises KafkaError UNSUPPORTED_VERSION unless the broker serves streams groups."""
    if GroupKind.STREAMS not in call.node.settings.get_list("group.coordinator.rebalance.protocols"):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def _check_size(topology: wire.Topology | None) -> None:
    """Raises KafkaError for a topology of too many parts, as for one whose record is too long."""
    if topology is None:
        return
    parts = sum(map(_parts_of, topology.subtopologies))
    if parts > MOST_PARTS:
        code = error_of_failed_write(ErrorCode.MESSAGE_TOO_LARGE)
        raise KafkaError(code, f"the topology has {parts} parts, and at most {MOST_PARTS} are taken")


def _check_tasks(request: StreamsGroupHeartbeatRequest) -> None:
    """Raises KafkaError INVALID_REQUEST for more tasks than a group may have: the member cannot own them."""
    count = 0
    for entries in (request.active_tasks, request.standby_tasks, request.warmup_tasks):
        if entries:
            count += sum([len(entry.partitions) for entry in entries])
    if count > MOST_TASKS:
        raise _invalid(f"the member has {count} tasks, and a group has at most {MOST_TASKS}")


def _parts_of(subtopology: wire.Subtopology) -> int:
    """The subtopology itself, its topics, their configs, and what its copartition groups list."""
    infos = (*subtopology.state_changelog_topics, *subtopology.repartition_source_topics)
    listed = [subtopology.source_topics, subtopology.source_topic_regex, subtopology.repartition_sink_topics, infos]
    listed += [topic.topic_configs for topic in infos]
    for group in subtopology.copartition_groups:
        listed += (group.source_topics, group.source_topic_regex, group.repartition_source_topics)
    return 1 + len(subtopology.copartition_groups) + sum(map(len, listed))


def check_before_rights(call: Call, request: StreamsGroupHeartbeatRequest, pace: Pace) -> Generator[None, None, None]:
    """What Kafka finds wrong with a request before it looks at rights on topics; in steps. Raises KafkaError."""
    _check_is_served(call)
    if request.topology is not None:
        yield from _check_topic_names(request.topology, pace)


def _check_topic_names(topology: wire.Topology, pace: Pace) -> Generator[None, None, None]:
    """Raises KafkaError STREAMS_INVALID_TOPOLOGY for topics that no application can have (STH-1); in steps."""
    names = dict.fromkeys(_names_in(topology))
    internal = [name for name in names if name in INTERNAL_TOPICS]
    if internal:
        raise _invalid_topology(f"an application cannot use Kafka's internal topics: {', '.join(internal)}")
    invalid = yield from kept(names, lambda name: not _is_valid(name), pace)
    if invalid:
        raise _invalid_topology(f"invalid topic names: {', '.join(invalid)}")


def _names_in(topology: wire.Topology) -> Iterable[str]:
    for subtopology in topology.subtopologies:
        yield from subtopology.source_topics
        yield from subtopology.repartition_sink_topics
        yield from (topic.name for topic in subtopology.repartition_source_topics)
        yield from (topic.name for topic in subtopology.state_changelog_topics)


def _is_valid(name: str) -> bool:
    try:
        check_name(name)
    except KafkaError:
        return False
    return True


def _check_supported(request: StreamsGroupHeartbeatRequest) -> None:
    """Raises KafkaError INVALID_REQUEST for what the protocol has room for and Kafka 4.3 refuses (STH-2)."""
    if request.instance_id is not None:
        raise _invalid("static members are not supported yet")
    if request.task_offsets is not None:
        raise _invalid("task offsets are not supported yet")
    if request.task_end_offsets is not None:
        raise _invalid("task end offsets are not supported yet")
    if request.warmup_tasks:
        raise _invalid("warm-up tasks are not supported yet")
    if request.topology is not None and any(each.source_topic_regex for each in request.topology.subtopologies):
        raise _invalid("patterns of source topics are not supported yet")


def _check_fields(request: StreamsGroupHeartbeatRequest) -> None:
    """Raises KafkaError for the first field that is wrong (STH-3)."""
    _check_not_blank("member id", request.member_id)
    _check_not_blank("group id", request.group_id)
    _check_not_blank("rack id", request.rack_id)
    epoch = request.member_epoch
    if epoch == _JOIN_EPOCH:
        _check_join(request)
    elif epoch == _STATIC_LEAVE_EPOCH:
        raise _invalid("the instance id is missing")
    elif epoch < _STATIC_LEAVE_EPOCH:
        raise _invalid(f"the member epoch is {epoch}, below {_STATIC_LEAVE_EPOCH}")
    given = [tasks is not None for tasks in (request.active_tasks, request.standby_tasks, request.warmup_tasks)]
    if any(given) and not all(given):
        raise _invalid("active, standby and warm-up tasks must be all set or all null")
    if epoch != _JOIN_EPOCH and request.topology is not None:
        raise _invalid("only a joining member may send the topology")


def _check_not_blank(what: str, value: str | None) -> None:
    """Null is fine. As Java's `trim` has it, all characters up to the space are blank."""
    if value is not None and all(character <= " " for character in value):
        raise _invalid(f"the {what} is empty")


def _check_join(request: StreamsGroupHeartbeatRequest) -> None:
    """A member that joins says how long it may take to give up tasks, that it owns none, and what it is made of."""
    if request.rebalance_timeout_ms == -1:
        raise _invalid("a joining member must send its rebalance timeout")
    for tasks in (request.active_tasks, request.standby_tasks, request.warmup_tasks):
        if tasks is None or tasks:
            raise _invalid("a joining member must send empty task lists")
    if request.topology is None:
        raise _invalid("a joining member must send the topology")
    for subtopology in request.topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions:
                raise _invalid_topology(
                    f"changelog topic {topic.name} must not set a partition count, but has {topic.partitions}"
                )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def _invalid_topology(message: str) -> KafkaError:
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)


# -- internal topics ---------------------------------------------------------------------------------------------------


def _with_topics_created(
    call: Call, answer: HeartbeatAnswer, refused: Callable[[Sequence[str]], Sequence[str]]
) -> HeartbeatAnswer:
    """Create the topics that are missing, and tell the member which could not be (STT-5)."""
    if not answer.missing_topics:
        return answer
    forbidden = refused([topic.name for topic in answer.missing_topics])
    if forbidden:
        return _with_detail(answer, f"; Unauthorized to CREATE on topics {', '.join(forbidden)}.")
    try:  # Kafka creates them by one CreateTopics, which has this bound
        check_total(sum(topic.partitions for topic in answer.missing_topics))
    except KafkaError as error:
        return _with_detail(answer, f"; could not be created: {error.message}")
    failures = [failure for topic in answer.missing_topics if (failure := _create(call, topic)) is not None]
    if not failures:
        return answer
    return _with_detail(answer, f"; could not be created: {', '.join(failures)}")


def _with_detail(answer: HeartbeatAnswer, more: str) -> HeartbeatAnswer:
    """The answer with more said of the topics that are missing."""
    status = (
        Status(code, detail + more) if code is StatusCode.MISSING_INTERNAL_TOPICS else Status(code, detail)
        for code, detail in answer.status
    )
    return answer._replace(status=tuple(status))


def _create(call: Call, topic: InternalTopic) -> str | None:
    """Create one topic; returns why that is impossible, None if it exists now."""
    ask, factor = None if call.quota is None else call.quota.made, topic.replication_factor or None
    try:
        call.cluster.topics.create(topic.name, topic.partitions, factor, topic.configs, ask=ask)
    except KafkaError as error:
        return f"{topic.name} ({error.message})"
    return None


# -- in and out --------------------------------------------------------------------------------------------------------


def _to_core(call: Call, request: StreamsGroupHeartbeatRequest) -> HeartbeatRequest:
    endpoint, tags = request.user_endpoint, request.client_tags
    return HeartbeatRequest(
        request.group_id,
        request.member_id,
        request.member_epoch,
        request.endpoint_information_epoch,
        request.rack_id,
        request.rebalance_timeout_ms,
        None if request.topology is None else Topology(_stored_topology(request.topology)),
        _owned(request),
        request.process_id,
        None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        None if tags is None else {tag.key: tag.value for tag in tags},
        request.shutdown_application,
        call.client_id or "",
        call.client_host,
    )


def _owned(request: StreamsGroupHeartbeatRequest) -> Tasks | None:
    """What the member says it owns; it counts only when all roles are given (STR-2)."""
    if request.active_tasks is None or request.standby_tasks is None or request.warmup_tasks is None:
        return None
    return tasks_of(_tasks_in(request.active_tasks), _tasks_in(request.standby_tasks), _tasks_in(request.warmup_tasks))


def _tasks_in(entries: Iterable[wire.TaskIds]) -> Iterable[Task]:
    return (task for entry in entries for task in each_task(entry.subtopology_id, entry.partitions))


def _stored_topology(topology: wire.Topology) -> stored.StreamsGroupTopologyValue:
    """The topology as the group keeps it."""
    return stored.StreamsGroupTopologyValue(
        epoch=topology.epoch, subtopologies=[_stored_subtopology(each) for each in topology.subtopologies]
    )


def _stored_subtopology(subtopology: wire.Subtopology) -> stored.Subtopology:
    return stored.Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=list(subtopology.source_topics),
        source_topic_regex=list(subtopology.source_topic_regex),
        state_changelog_topics=[_stored_topic(topic) for topic in subtopology.state_changelog_topics],
        repartition_sink_topics=list(subtopology.repartition_sink_topics),
        repartition_source_topics=[_stored_topic(topic) for topic in subtopology.repartition_source_topics],
        copartition_groups=[
            stored.CopartitionGroup(
                source_topics=list(group.source_topics),
                source_topic_regex=list(group.source_topic_regex),
                repartition_source_topics=list(group.repartition_source_topics),
            )
            for group in subtopology.copartition_groups
        ],
    )


def _stored_topic(topic: wire.TopicInfo) -> stored.InternalTopic:
    return stored.InternalTopic(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        topic_configs=[stored.TopicConfig(key=config.key, value=config.value) for config in topic.topic_configs],
    )


def _error_response(code: ErrorCode, message: str | None = None) -> StreamsGroupHeartbeatResponse:
    """The answer of a heartbeat that failed: no member id, epoch 0 (STH-4)."""
    return StreamsGroupHeartbeatResponse(error_code=code, error_message=message or None)


def _response(answer: HeartbeatAnswer) -> StreamsGroupHeartbeatResponse:
    """The answer on the wire (STH-30)."""
    tasks, endpoints = answer.tasks, answer.endpoints
    return StreamsGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        status=[wire.Status(status_code=code, status_detail=detail) for code, detail in answer.status],
        active_tasks=None if tasks is None else _task_ids(tasks.active),
        standby_tasks=None if tasks is None else _task_ids(tasks.standby),
        warmup_tasks=None if tasks is None else _task_ids(tasks.warmup),
        endpoint_information_epoch=answer.endpoint_epoch,
        partitions_by_user_endpoint=None if endpoints is None else [_endpoint(each) for each in endpoints],
    )


def _task_ids(tasks: Iterable[Task]) -> list[wire.TaskIds]:
    by_subtopology = partitions_by_subtopology(tasks)
    return [
        wire.TaskIds(subtopology_id=subtopology_id, partitions=by_subtopology[subtopology_id])
        for subtopology_id in in_hash_order(by_subtopology)
    ]


def _endpoint(entry: EndpointPartitions) -> wire.EndpointToPartitions:
    return wire.EndpointToPartitions(
        user_endpoint=wire.Endpoint(host=entry.endpoint.host, port=entry.endpoint.port),
        active_partitions=_rows(entry.active),
        standby_partitions=_rows(entry.standby),
    )


def _rows(partitions: TopicPartitions) -> list[tuple[str, list[int]]]:
    """They are written as they are: there may be 100,000, and most share what they list."""
    return cast("list[tuple[str, list[int]]]", partitions)
