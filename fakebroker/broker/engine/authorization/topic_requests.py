"""Checks of requests about topics: records, and making and deleting topics."""

from collections.abc import Generator
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, cast

from fakebroker.broker.apis import delete_records, delete_topics, describe_producers, fetch
from fakebroker.broker.apis.produce_transactions import is_transactional
from fakebroker.broker.core.security.acls import Operation, ResourceType
from fakebroker.broker.engine.authorization.authorized_request import (
    REPEATED_TOPIC,
    AuthorizedRequest,
    name_in,
    topic_name,
)
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace, finished
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.schema.entities import Entry
from fakebroker.protocol.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

if TYPE_CHECKING:
    from fakebroker.protocol.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
    from fakebroker.protocol.wire.messages.create_topics import (
        CreatableTopic,
        CreatableTopicResult,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )
    from fakebroker.protocol.wire.messages.delete_records import (
        DeleteRecordsRequest,
        DeleteRecordsResponse,
        DeleteRecordsTopicResult,
    )
    from fakebroker.protocol.wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
    from fakebroker.protocol.wire.messages.describe_producers import TopicResponse as DescribeProducersTopic
    from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchResponse
    from fakebroker.protocol.wire.messages.offset_for_leader_epoch import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderEpochResponse,
    )
    from fakebroker.protocol.wire.messages.produce import (
        PartitionProduceResponse,
        ProduceRequest,
        ProduceResponse,
        TopicProduceData,
        TopicProduceResponse,
    )

    CreatePartitions = AuthorizedRequest[CreatePartitionsRequest, CreatePartitionsResponse]
    CreateTopics = AuthorizedRequest[CreateTopicsRequest, CreateTopicsResponse]
    DeleteRecords = AuthorizedRequest[DeleteRecordsRequest, DeleteRecordsResponse]
    DeleteTopics = AuthorizedRequest[DeleteTopicsRequest, DeleteTopicsResponse]
    DescribeProducers = AuthorizedRequest[DescribeProducersRequest, DescribeProducersResponse]
    Fetch = AuthorizedRequest[FetchRequest, FetchResponse]
    OffsetForLeaderEpoch = AuthorizedRequest[OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse]
    Produce = AuthorizedRequest[ProduceRequest, ProduceResponse]

TOPIC = ResourceType.TOPIC
_REFUSED_TEXT = "Topic authorization failed."
_METADATA_LOG = "__cluster_metadata"
_NO_METADATA_LOG = "Creation of internal topic __cluster_metadata is prohibited."
_FIRST_WITH_IDS = 6  # of DeleteTopics


def write_allowed(authorized: "Produce") -> Generator[None, None, None]:
    """Produce: WRITE on each topic; transactional records also need it on the transactional id (PD-25)."""
    request, access = authorized.request, authorized.access
    if (yield from _has_transactional(request, access.pace)):
        name = request.transactional_id
        if name is None or not access.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, name):
            refusal = yield from authorized.refuse(ResourceType.TRANSACTIONAL_ID)
            yield from _without_offsets(refusal.responses, access.pace)
            return
    # What names no partition is not answered, whatever the client's rights are (seen on 4.3.1).
    authorized.change(topic_data=[each for each in request.topic_data if each.partition_data])
    topics = authorized.call.cluster.topics
    creation = topics.last_creation
    yield from _take_out_unwritable(authorized)
    if topics.last_creation != creation:  # once more, all at once: no step comes between this and the handler
        finished(_take_out_unwritable(authorized))


def _has_transactional(request: "ProduceRequest", pace: Pace) -> Generator[None, None, bool]:
    """Whether any of the batches is transactional; in steps."""
    for topic in request.topic_data:
        for each in topic.partition_data:
            if is_transactional(each.records):
                return True
            if pace.is_over():
                yield
    return False


def _take_out_unwritable(authorized: "Produce") -> Generator[None, None, None]:
    """Refuse the topics that the client may not write."""
    access, topics = authorized.access, authorized.call.cluster.topics

    def is_denied(entry: "TopicProduceData") -> bool:
        name = name_in(entry, topics, authorized.is_by_id)
        return name is not None and not access.may(Operation.WRITE, TOPIC, name)

    denied = yield from authorized.take_out("topic_data", TOPIC, is_denied)
    yield from _without_offsets(cast("list[TopicProduceResponse]", denied), access.pace)


def _without_offsets(responses: "list[TopicProduceResponse]", pace: Pace) -> Generator[None, None, None]:
    """Partitions of a Produce that were refused have no offset, and are answered once; in steps."""
    for topic in responses:
        once: dict[int, PartitionProduceResponse] = {}
        for each in topic.partition_responses:
            each.base_offset = -1
            once[each.index] = each
            if pace.is_over():
                yield
        topic.partition_responses = [*once.values()]


def read_allowed(authorized: "Fetch") -> None:
    """Fetch: READ on each topic, those of the session too; of a broker CLUSTER_ACTION.

    The handler asks, when it looks a partition up: the session may be another then, and there may be other topics.
    """
    call, request, access = authorized.call, authorized.request, authorized.access
    replica_id = request.replica_state.replica_id if call.version >= 15 else request.replica_id
    is_replica_allowed = replica_id < 0 or access.may_cluster(Operation.CLUSTER_ACTION)

    def may_read(name: str | None) -> bool:
        if replica_id >= 0:
            return is_replica_allowed
        return name is None or access.may(Operation.READ, TOPIC, name)

    authorized.handle = partial(fetch.handle, may_read=may_read)


def describe_producers_allowed(authorized: "DescribeProducers") -> Generator[None, None, None]:
    """DescribeProducers: READ on each topic. A name that no topic can have is answered as such, whatever the rights."""
    errors = yield from authorized.take_out_denied("topics", Operation.READ, TOPIC, _REFUSED_TEXT)

    def finish(_response: "DescribeProducersResponse") -> Generator[None, None, None]:
        for topic in cast("list[DescribeProducersTopic]", errors):
            fault = _fault_of(topic.name)
            for each in topic.partitions if fault is not None else ():
                each.error_code, each.error_message = int(ErrorCode.INVALID_TOPIC_EXCEPTION), fault
                if authorized.access.pace.is_over():
                    yield

    if errors:
        authorized.finish_with(finish)  # afterwards: no step may come between the question and the handler


def _fault_of(name: str) -> str | None:
    """What is wrong with a topic's name; None: nothing."""
    try:
        describe_producers.check_topic(name)
    except KafkaError as error:
        return error.message
    return None


def describe_epochs_allowed(
    authorized: "OffsetForLeaderEpoch",
) -> Generator[None, None, None]:
    """OffsetForLeaderEpoch: CLUSTER_ACTION, or else DESCRIBE on each topic."""
    access = authorized.access
    if not access.may_cluster(Operation.CLUSTER_ACTION, noted=False):
        yield from authorized.take_out_denied("topics", Operation.DESCRIBE, TOPIC)


def create_allowed(authorized: "CreateTopics") -> Generator[None, None, None]:
    """CreateTopics: CREATE on the cluster or on each topic; what it became is shown with DESCRIBE_CONFIGS."""
    access = authorized.access
    if not access.may_cluster(Operation.CREATE, noted=False):
        yield from _refuse_creations(authorized)

    def hide_configs(response: "CreateTopicsResponse") -> Generator[None, None, None]:
        for index, topic in enumerate(response.topics):
            if not topic.error_code and not access.may(Operation.DESCRIBE_CONFIGS, TOPIC, topic.name, noted=False):
                hidden = type(topic)(name=topic.name, topic_id=topic.topic_id)
                hidden.topic_config_error_code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                response.topics[index] = hidden
            if access.pace.is_over():
                yield

    if authorized.route.version >= 5:
        authorized.finish_with(hide_configs)


def _refuse_creations(authorized: "CreateTopics") -> Generator[None, None, None]:
    """Repeated names and the metadata log are refused first, as Kafka does, then names that the client may not make."""
    yield from authorized.take_out_repeated("topics", attrgetter("name"), REPEATED_TOPIC, once=True)
    if authorized.answer is None:
        yield from authorized.take_out_invalid("topics", _is_metadata_log, _NO_METADATA_LOG)
    errors = list[Entry]()
    if authorized.answer is None:
        errors = yield from authorized.take_out_denied("topics", Operation.CREATE, TOPIC, "Authorization failed.")
    for error in cast("list[CreatableTopicResult]", errors):
        error.configs = None if authorized.route.version < 5 else []


def _is_metadata_log(topic: "CreatableTopic") -> bool:
    return topic.name == _METADATA_LOG


def create_partitions_allowed(
    authorized: "CreatePartitions",
) -> Generator[None, None, None]:
    """CreatePartitions: ALTER on each topic; repeated names are refused first, as Kafka does."""
    yield from authorized.take_out_repeated("topics", attrgetter("name"), REPEATED_TOPIC, once=True)
    if authorized.answer is None:
        yield from authorized.take_out_denied("topics", Operation.ALTER, TOPIC)


def delete_records_allowed(authorized: "DeleteRecords") -> Generator[None, None, None]:
    """DeleteRecords: DELETE on each topic."""
    authorized.change(topics=delete_records.merged(authorized.request.topics))
    errors = yield from authorized.take_out_denied("topics", Operation.DELETE, TOPIC)
    for topic in cast("list[DeleteRecordsTopicResult]", errors):
        for each in topic.partitions:
            each.low_watermark = -1


def delete_allowed(authorized: "DeleteTopics") -> Generator[None, None, None]:
    """DeleteTopics: DELETE on the cluster or on each topic; DESCRIBE alone shows whether a name exists."""
    access, request, call = authorized.access, authorized.request, authorized.call
    if not call.node.settings.get_bool("delete.topic.enable") or access.may_cluster(Operation.DELETE, noted=False):
        return
    by_state = call.version >= _FIRST_WITH_IDS
    entries = request.topics if by_state else [DeleteTopicState(name=name) for name in request.topic_names]
    refused, valid = yield from delete_topics.parted(call, entries, access.pace)
    if request.timeout_ms <= 0 and any(each.topic_id != ZERO_UUID for each in valid):
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)  # Kafka looks ids up before it asks about rights (AD-5)
    # Asked once more where a topic is deleted: it may have been made after it was asked about here.
    authorized.handle = partial(
        delete_topics.handle, may_delete=lambda topic: access.may(Operation.DELETE, TOPIC, topic.name)
    )
    allowed = list[DeleteTopicState]()
    for entry in valid:
        refusal = _refusal(authorized, entry, topic_name(entry.name or "", entry.topic_id, call.cluster.topics))
        if refusal is None:
            allowed.append(entry)
        else:
            refused.append(refusal)
        if access.pace.is_over():
            yield
    if refused:
        authorized.change(topics=allowed, topic_names=[] if by_state else [entry.name for entry in allowed])
        authorized.finish_with(lambda response: response.responses.extend(refused))
        if not allowed:
            authorized.answer_at_once()


def _refusal(
    authorized: "DeleteTopics",
    entry: DeleteTopicState,
    name: str | None,
) -> DeletableTopicResult | None:
    """What is answered for an entry that the client may not delete; None: it may do that, or see that it is not there.

    A name needs DESCRIBE, too, which a denial can take away; an id that the client may not describe stays nameless.
    """
    access, topic_id = authorized.access, entry.topic_id
    if name is None:  # an unknown id is answered as such
        return None
    is_by_name = topic_id == ZERO_UUID
    may_describe = access.may(Operation.DESCRIBE, TOPIC, name)
    if is_by_name and may_describe and authorized.call.cluster.topics.get(name) is None:
        return None
    if (may_describe or not is_by_name) and access.may(Operation.DELETE, TOPIC, name):
        return None
    return DeletableTopicResult(
        name=name if is_by_name or may_describe else None,
        topic_id=topic_id,
        error_code=int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        error_message=_REFUSED_TEXT,
    )
