"""Checks of requests about topics: records, and making and deleting topics."""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import fetch
from fakebroker.apis.produce_transactions import is_transactional
from fakebroker.core.security.acls import Operation, ResourceType
from fakebroker.engine.authorization.authorized_request import AuthorizedRequest
from fakebroker.engine.faults.entries import with_session
from fakebroker.errors import ErrorCode
from fakebroker.schema import ZERO_UUID
from fakebroker.wire.messages.delete_topics import DeletableTopicResult

if TYPE_CHECKING:
    from fakebroker.core.topics import Topics

TOPIC = ResourceType.TOPIC
_REFUSED_TEXT = "Topic authorization failed."
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
    """Partitions of a Produce that were refused have no offset."""
    for topic in responses:
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
    access, request = authorized.access, authorized.request
    if not access.may_cluster(Operation.CREATE, noted=False):
        times = Counter(topic.name for topic in request.topics)

        def is_refused(topic: Any) -> bool:
            is_judged = times[topic.name] == 1 and topic.name != "__cluster_metadata"
            return is_judged and not access.may(Operation.CREATE, TOPIC, topic.name)

        for error in authorized.take_out("topics", TOPIC, is_refused):
            error.error_message = "Authorization failed."
            error.configs = None if authorized.route.version < 5 else []

    def hide_configs(response: Any) -> None:
        for place, topic in enumerate(response.topics):
            if topic.error_code or access.may(Operation.DESCRIBE_CONFIGS, TOPIC, topic.name, noted=False):
                continue
            hidden = type(topic)(name=topic.name, topic_id=topic.topic_id)
            hidden.topic_config_error_code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            response.topics[place] = hidden

    if authorized.route.version >= 5:
        authorized.finish_with(hide_configs)


def delete_allowed(authorized: AuthorizedRequest) -> None:
    """DeleteTopics: DELETE on the cluster or on each topic; whether a name exists is told with DESCRIBE alone."""
    access, request, call = authorized.access, authorized.request, authorized.call
    if not call.node.settings.get_bool("delete.topic.enable") or access.may_cluster(Operation.DELETE, noted=False):
        return
    field = "topics" if request.topics else "topic_names"
    entries = getattr(request, field)
    names = [name_in(entry, call.cluster.topics) for entry in entries]
    times = Counter(names)
    refused, rest = [], []
    for entry, name in zip(entries, names, strict=True):
        is_judged = bool(name) and times[name] == 1 and not _has_both(entry)
        refusal = _refusal(authorized, entry, name) if is_judged and name is not None else None
        if refusal is None:
            rest.append(entry)
        else:
            refused.append(refusal)
    if refused:
        authorized.change(**{field: rest})
        authorized.finish_with(lambda response: response.responses.extend(refused))
        if not rest:
            authorized.answer_at_once()


def _refusal(authorized: AuthorizedRequest, entry: Any, name: str) -> DeletableTopicResult | None:
    """What is answered for an entry that the client may not delete; None: it may, or may be told that it is not there.

    A name needs DESCRIBE, too, which a denial can take away; an id that the client may not describe stays nameless.
    """
    access, topic_id = authorized.access, getattr(entry, "topic_id", ZERO_UUID)
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


def _has_both(entry: Any) -> bool:
    return not isinstance(entry, str) and bool(entry.name) and entry.topic_id != ZERO_UUID
