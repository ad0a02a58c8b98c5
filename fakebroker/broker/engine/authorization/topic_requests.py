"""Checks of requests about topics: records, and making and deleting topics."""

from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.broker.apis import delete_topics, fetch
from fakebroker.broker.apis.produce_transactions import is_transactional
from fakebroker.broker.core.security.acls import Operation, ResourceType
from fakebroker.broker.engine.authorization.authorized_request import REPEATED_TOPIC, AuthorizedRequest
from fakebroker.broker.engine.faults.entries import with_session
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicState

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topics

TOPIC = ResourceType.TOPIC
_REFUSED_TEXT = "Topic authorization failed."
_METADATA_LOG = "__cluster_metadata"
_NO_METADATA_LOG = "Creation of internal topic __cluster_metadata is prohibited."
_FIRST_WITH_IDS = 6  # of DeleteTopics
_NAMES = ("name", "topic", "group_id")


def name_in(entry: Any, topics: "Topics") -> str | None:
    """The resource that an entry of a request names: itself, a field, or the topic of an id; None for an unknown id."""
    if isinstance(entry, str):
        return entry
    for field in _NAMES:
        name = getattr(entry, field, None)
        if name:
            return str(name)
    topic_id = getattr(entry, "topic_id", ZERO_UUID)
    if topic_id == ZERO_UUID:
        return ""
    topic = topics.by_id(topic_id)
    return None if topic is None else topic.name


def write_allowed(authorized: AuthorizedRequest) -> None:
    """Produce: WRITE on each topic; transactional records also need it on the transactional id (PD-25)."""
    request, access, topics = authorized.request, authorized.access, authorized.call.cluster.topics
    if any(is_transactional(each.records) for topic in request.topic_data for each in topic.partition_data):
        name = request.transactional_id
        if name is None or not access.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, name):
            authorized.refuse(ResourceType.TRANSACTIONAL_ID)
            _without_offsets(authorized.answer.responses)
            return

    def is_refused(topic: Any) -> bool:
        name = name_in(topic, topics)
        return name is not None and not access.may(Operation.WRITE, TOPIC, name)

    _without_offsets(authorized.take_out("topic_data", TOPIC, is_refused))


def _without_offsets(responses: list[Any]) -> None:
    """Partitions of a Produce that were refused have no offset, and are answered once."""
    for topic in responses:
        topic.partition_responses = [*{each.index: each for each in topic.partition_responses}.values()]
        for each in topic.partition_responses:
            each.base_offset = -1


def read_allowed(authorized: AuthorizedRequest) -> None:
    """Fetch: READ on each topic, those of the session too; of a broker CLUSTER_ACTION."""
    call, request, access = authorized.call, authorized.request, authorized.access
    topics = with_session(call, request).topics
    replica_id = request.replica_state.replica_id if call.version >= 15 else request.replica_id
    if replica_id >= 0:
        is_allowed = access.may_cluster(Operation.CLUSTER_ACTION)
        denied = [] if is_allowed else [name_in(topic, call.cluster.topics) for topic in topics]
    else:
        names = dict.fromkeys(name_in(topic, call.cluster.topics) for topic in topics)
        denied = [name for name in names if name and not access.may(Operation.READ, TOPIC, name)]
    if denied:
        authorized.handle = partial(fetch.handle, denied=frozenset(name for name in denied if name))


def describe_epochs_allowed(authorized: AuthorizedRequest) -> None:
    """OffsetForLeaderEpoch: CLUSTER_ACTION, or else DESCRIBE on each topic."""
    access = authorized.access
    if not access.may_cluster(Operation.CLUSTER_ACTION, noted=False):
        authorized.take_out("topics", TOPIC, lambda topic: not access.may(Operation.DESCRIBE, TOPIC, topic.topic))


def create_allowed(authorized: AuthorizedRequest) -> None:
    """CreateTopics: CREATE on the cluster or on each topic; what it became is shown with DESCRIBE_CONFIGS."""
    access = authorized.access
    if not access.may_cluster(Operation.CREATE, noted=False):
        _refuse_creations(authorized)

    def hide_configs(response: Any) -> None:
        for place, topic in enumerate(response.topics):
            if topic.error_code or access.may(Operation.DESCRIBE_CONFIGS, TOPIC, topic.name, noted=False):
                continue
            hidden = type(topic)(name=topic.name, topic_id=topic.topic_id)
            hidden.topic_config_error_code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            response.topics[place] = hidden

    if authorized.route.version >= 5:
        authorized.finish_with(hide_configs)


def _refuse_creations(authorized: AuthorizedRequest) -> None:
    """Repeated names and the metadata log are refused first, as Kafka does, then names that the client may not make."""
    authorized.take_out_repeated("topics", lambda topic: topic.name, REPEATED_TOPIC, once=True)
    if authorized.answer is None:
        authorized.take_out_invalid("topics", lambda topic: topic.name == _METADATA_LOG, _NO_METADATA_LOG)
    errors = []
    if authorized.answer is None:
        access = authorized.access
        errors = authorized.take_out(
            "topics", TOPIC, lambda topic: not access.may(Operation.CREATE, TOPIC, topic.name), "Authorization failed."
        )
    for error in errors:
        error.configs = None if authorized.route.version < 5 else []


def create_partitions_allowed(authorized: AuthorizedRequest) -> None:
    """CreatePartitions: ALTER on each topic; repeated names are refused first, as Kafka does."""
    access = authorized.access
    authorized.take_out_repeated("topics", lambda topic: topic.name, REPEATED_TOPIC, once=True)
    if authorized.answer is None:
        authorized.take_out("topics", TOPIC, lambda topic: not access.may(Operation.ALTER, TOPIC, topic.name))


def delete_records_allowed(authorized: AuthorizedRequest) -> None:
    """DeleteRecords: DELETE on each topic."""
    access = authorized.access
    errors = authorized.take_out("topics", TOPIC, lambda topic: not access.may(Operation.DELETE, TOPIC, topic.name))
    for topic in errors:
        for each in topic.partitions:
            each.low_watermark = -1


def delete_allowed(authorized: AuthorizedRequest) -> None:
    """DeleteTopics: DELETE on the cluster or on each topic; whether a name exists is told with DESCRIBE alone."""
    access, request, call = authorized.access, authorized.request, authorized.call
    if not call.node.settings.get_bool("delete.topic.enable") or access.may_cluster(Operation.DELETE, noted=False):
        return
    by_state = call.version >= _FIRST_WITH_IDS
    entries = request.topics if by_state else [DeleteTopicState(name=name) for name in request.topic_names]
    refused, valid = delete_topics.parted(entries)
    allowed = []
    for entry in valid:
        refusal = _refusal(authorized, entry, name_in(entry, call.cluster.topics))
        if refusal is None:
            allowed.append(entry)
        else:
            refused.append(refusal)
    if refused:
        authorized.change(topics=allowed, topic_names=[] if by_state else [entry.name for entry in allowed])
        authorized.finish_with(lambda response: response.responses.extend(refused))
        if not allowed:
            authorized.answer_at_once()


def _refusal(authorized: AuthorizedRequest, entry: DeleteTopicState, name: str | None) -> DeletableTopicResult | None:
    """What is answered for an entry that the client may not delete; None: it may, or may be told that it is not there.

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
