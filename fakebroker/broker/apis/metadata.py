"""Metadata, key 3, v0-v13: brokers, topics, partitions and their leaders (KIP-4, MD, CLU-20..CLU-26).

v1 rack, controller, internal topics; v2 cluster id (KIP-78); v3 throttle time; v4 the client may forbid auto-creation;
v5 offline replicas (KIP-112); v6 no change; v7 leader epochs (KIP-320); v8 authorized operations (KIP-430; of the
cluster up to v10); v9 flexible; v10 topic ids, v12 topics by id (KIP-516); v13 top-level error code (KIP-1102).

A topic that auto-creation makes exists at once, yet this answer says UNKNOWN_TOPIC_OR_PARTITION as KRaft's does, or
LEADER_NOT_AVAILABLE as those before (MD-2).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from fakebroker.broker.apis import operations
from fakebroker.broker.apis.call import Call, Repeat, Steps
from fakebroker.broker.core.topic_rules import LARGEST_CHANGE, check_name
from fakebroker.broker.core.topics import INTERNAL_TOPICS, Partition, Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import in_parts
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

_Described = tuple[MetadataResponseTopic, Topic | None]
"""An answer for a topic, and the topic if its partitions are still to be described."""

PARTITIONS_PER_STEP = 2_000  # and topics, which cost about as much
_CREATION_COSTS_PARTITIONS = 10
_MAX_REPEATED_PARTITIONS = 250  # each takes some 0.2 KB of the connection's memory


def _anybody_may(_name: str) -> bool:
    return True


def _nobody_may(_name: str) -> bool:
    return False


def handle(
    call: Call,
    request: MetadataRequest,
    may_create: Callable[[str], bool] = _anybody_may,
    is_shown: Callable[[str], bool] = _anybody_may,
) -> MetadataResponse | None:
    """Brokers, and the topics that were asked for.

    `may_create` says which of them the client may make, `is_shown` which it sees when it asks for all (AU-4).
    """
    code = error_of(call.version, request)
    if code is not None:
        return call.work(_refused_in_steps(call, request, code))
    return call.work(_in_steps(call, request, may_create, is_shown))


def _in_steps(
    call: Call, request: MetadataRequest, may_create: Callable[[str], bool], is_shown: Callable[[str], bool]
) -> Steps[MetadataResponse]:
    """As many topics in one step as have `PARTITIONS_PER_STEP`, of a large one some of its partitions."""
    topics: list[MetadataResponseTopic] = []
    pace, cluster = call.pace(PARTITIONS_PER_STEP), call.cluster
    known = len(cluster.topics)
    asks_for_all = _asks_for_all(call.version, request)
    for entry, topic in _all_topics(call) if asks_for_all else _topics(call, request, may_create):
        if asks_for_all and not is_shown(entry.name or ""):
            if pace.is_over():
                yield
            continue
        topics.append(entry)
        made, known = len(cluster.topics) != known, len(cluster.topics)
        if pace.is_over(1 + _CREATION_COSTS_PARTITIONS * made):
            yield
        for partitions in () if topic is None else in_parts(list(topic.partitions)):  # deletion empties it
            entry.partitions += [_partition(call, each) for each in partitions]
            if pace.is_over(len(partitions)):
                yield
    response = MetadataResponse(
        brokers=_brokers(call),
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = operations.CLUSTER
    if request.include_topic_authorized_operations:
        for entry in topics:
            if entry.name is not None:  # else its id is unknown
                entry.topic_authorized_operations = operations.TOPIC
    return response


def repeat(call: Call, _request: MetadataRequest, response: MetadataResponse) -> Repeat | None:
    """The same again, while brokers and partitions are what they were. A topic with an error is looked for anew."""
    entries = response.topics
    if response.error_code or any(entry.error_code for entry in entries):
        return None
    if sum(len(entry.partitions) for entry in entries) > _MAX_REPEATED_PARTITIONS:
        return None
    found = [call.cluster.topics.get(entry.name or "") for entry in entries]
    partitions = [partition for topic in found if topic is not None for partition in topic.partitions]
    shown, said = _shown(call, partitions), response.encode(call.version)

    def answer(call: Call, _values: tuple[Any, ...]) -> bytes | None:
        return said if _shown(call, partitions) == shown else None

    return answer


def _shown(call: Call, partitions: Sequence[Partition]) -> tuple[object, ...]:
    """What an answer depends on that may change. While `Topics.changes` is the same, so are topics and partitions."""
    cluster, node_id = call.cluster, call.node.id
    brokers = [(node.id, node.is_fenced, node.rack, call.address_of(node.id)) for node in cluster.nodes.values()]
    leaders = [
        (seen.leader, seen.leader_epoch, tuple(seen.isr), tuple(partition.replicas))
        for partition in partitions
        for seen in (partition.seen_by(node_id),)
    ]
    return cluster.topics.changes, cluster.cluster_id, cluster.controller_id, brokers, leaders


def error_of(version: int, request: MetadataRequest) -> ErrorCode | None:
    """Why a request fails as a whole, if it does (MD-3).

    INVALID_REQUEST for ids before v12, UNKNOWN_SERVER_ERROR for an entry without a name where no entry has an id.
    """
    topics = request.topics or []
    if version < 12 and any(topic.topic_id != ZERO_UUID or topic.name is None for topic in topics):
        return ErrorCode.INVALID_REQUEST
    if any(topic.name is None for topic in topics) and all(topic.topic_id == ZERO_UUID for topic in topics):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return None


def _refused_in_steps(call: Call, request: MetadataRequest, code: ErrorCode) -> Steps[MetadataResponse]:
    response, pace = MetadataResponse(error_code=code), call.pace(PARTITIONS_PER_STEP)
    for topic in request.topics or ():
        refused = MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id)
        response.topics.append(refused)
        if pace.is_over():
            yield
    return response


def _brokers(call: Call) -> list[MetadataResponseBroker]:
    """The live brokers that have a listener of the kind the client came in on."""
    brokers = []
    for node in call.cluster.nodes.values():
        address = call.address_of(node.id) if not node.is_fenced else None
        if address is not None:
            brokers.append(
                MetadataResponseBroker(node_id=node.id, host=address.host, port=address.port, rack=node.rack)
            )
    return brokers


def _asks_for_all(version: int, request: MetadataRequest) -> bool:
    return request.topics is None or (version == 0 and not request.topics)


def _all_topics(call: Call) -> Iterator[_Described]:
    """Those that there are now, without those that are deleted until their turn comes."""
    return (_described(topic) for topic in list(call.cluster.topics) if topic.partitions)


def _topics(call: Call, request: MetadataRequest, may_create: Callable[[str], bool]) -> Iterator[_Described]:
    """The answers for the topics asked for, each made when it is taken."""
    asked = request.topics or []
    by_id = [entry.topic_id for entry in asked if entry.topic_id != ZERO_UUID]
    if by_id:
        return (_by_id(call, topic_id) for topic_id in dict.fromkeys(by_id))
    wants_creation = call.version < 4 or request.allow_auto_topic_creation
    names = dict.fromkeys(_name(entry) for entry in asked)
    is_too_much = wants_creation and _partitions_to_make(call, names) > LARGEST_CHANGE
    return (_by_name(call, name, may_create if wants_creation else _nobody_may, is_too_much) for name in names)


def _partitions_to_make(call: Call, names: Iterable[str]) -> int:
    """How many partitions the topics would have that there are not yet; Kafka makes them by one CreateTopics."""
    new = sum(1 for name in names if name not in call.cluster.topics)
    return new * call.cluster.settings.get_int("num.partitions")


def _name(entry: MetadataRequestTopic) -> str:
    return entry.name or ""


def _by_id(call: Call, topic_id: bytes) -> _Described:
    topic = call.cluster.topics.by_id(topic_id)
    if topic is None:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id), None
    return _described(topic)


def _by_name(call: Call, name: str, may_create: Callable[[str], bool], is_too_much: bool) -> _Described:
    """One topic; one that there is not is made, unless all of them together are too much (NT-11)."""
    topic = call.cluster.topics.get(name)
    if topic is not None:
        return _described(topic)
    behaviours = call.cluster.behaviours
    creates = call.node.settings.get_bool("auto.create.topics.enable") and may_create(name)
    try:
        if creates or behaviours.metadata_checks_names:
            check_name(name)
    except KafkaError as error:
        return MetadataResponseTopic(error_code=error.code, name=name), None
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if creates:
        if not is_too_much:
            _auto_create(call, name)
        code = behaviours.auto_creation_error
    return MetadataResponseTopic(error_code=code, name=name, is_internal=name in INTERNAL_TOPICS), None


def _auto_create(call: Call, name: str) -> None:
    """Make the topic with the broker's defaults; if that fails, the client keeps getting
    UNKNOWN_TOPIC_OR_PARTITION (NT-11). What it owes to its quota is not said either (QU-11)."""
    topics, quota = call.cluster.topics, call.quota
    ask = None if quota is None else quota.made
    try:
        if name in INTERNAL_TOPICS:
            topics.internal(name, ask)
        else:
            topics.create(name, ask=ask)
    except KafkaError:
        pass


def _described(topic: Topic) -> _Described:
    """One topic, still without its partitions."""
    entry = MetadataResponseTopic(name=topic.name, topic_id=topic.id, is_internal=topic.is_internal, partitions=[])
    return entry, topic


def _partition(call: Call, partition: Partition) -> MetadataResponsePartition:
    """One partition. v0 omits dead replicas and answers REPLICA_NOT_AVAILABLE, v5+ names them as offline (MD-5)."""
    replicas, seen = partition.replicas, partition.seen_by(call.node.id)
    is_whole = seen.leader >= 0 and len(seen.isr) == len(replicas)
    offline = [] if is_whole else _offline(partition)
    code = ErrorCode.NONE
    if seen.leader < 0:
        code = ErrorCode.LEADER_NOT_AVAILABLE
    elif call.version == 0 and offline:
        code = ErrorCode.REPLICA_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=code,
        partition_index=partition.index,
        leader_id=seen.leader,
        leader_epoch=seen.leader_epoch,
        replica_nodes=partition.live_replicas if call.version == 0 else list(replicas),
        isr_nodes=list(seen.isr),
        offline_replicas=offline,
    )


def _offline(partition: Partition) -> list[int]:
    live = partition.live_replicas
    return [node_id for node_id in partition.replicas if node_id not in live]
