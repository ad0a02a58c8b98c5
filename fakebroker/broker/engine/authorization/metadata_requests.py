"""Checks of requests that show topics and the cluster: who may not describe a topic does not learn that it exists."""

from bisect import bisect_left
from collections.abc import Generator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from fakebroker.broker.apis import metadata
from fakebroker.broker.apis.describe_topic_partitions import names_in_order
from fakebroker.broker.core.security.acls import CLUSTER_NAME, Operation, ResourceType
from fakebroker.broker.engine.authorization.authorized_request import (
    AuthorizedRequest,
    show_operations,
)
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import listed
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.schema.message import with_fields
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from fakebroker.protocol.wire.messages.metadata import MetadataResponseTopic
from fakebroker.protocol.wire.registry import first_without_creation

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topics
    from fakebroker.broker.engine.authorization.access import Access
    from fakebroker.protocol.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
    from fakebroker.protocol.wire.messages.describe_topic_partitions import (
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
    )
    from fakebroker.protocol.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

    DescribeCluster = AuthorizedRequest[DescribeClusterRequest, DescribeClusterResponse]
    DescribeTopicPartitions = AuthorizedRequest[DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse]
    Metadata = AuthorizedRequest[MetadataRequest, MetadataResponse]

TOPIC, CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER
_NOT_ASKED = -2147483648
_REFUSED = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def show_allowed(authorized: "Metadata") -> Generator[None, None, None]:
    """Metadata: DESCRIBE on each topic, and CREATE on it or the cluster if it would be made (MD-2, AU-4)."""
    request, version, access = authorized.request, authorized.route.version, authorized.access
    asked = request.topics
    wants_all = asked is None or (version == 0 and not asked)
    if wants_all:
        # Before a topic's partitions are described: that takes time, which would tell of topics that are hidden.
        authorized.handle = partial(
            metadata.handle, is_shown=lambda name: access.may(Operation.DESCRIBE, TOPIC, name, noted=False)
        )
    else:
        # Asked once more where a topic is made: one that there was may be deleted while the request is answered.
        authorized.handle = partial(metadata.handle, may_create=partial(_may_create, access))
        yield from _refuse_named(authorized)
    authorized.finish_with(lambda response: _show_operations(authorized, response))


def _refuse_named(authorized: "Metadata") -> Generator[None, None, None]:
    """Take out of the request what its client may not see or make."""
    wanted, topics = authorized.request.topics or [], authorized.call.cluster.topics
    access = authorized.access
    if metadata.error_of(authorized.route.version, authorized.request) is not None:
        return  # refused as a whole by the handler
    by_id = any(entry.topic_id != ZERO_UUID for entry in wanted)
    # Names beside ids are not looked at: what is left by id never becomes a request by name (seen on 4.3.1).
    asked = [entry for entry in wanted if entry.topic_id != ZERO_UUID] if by_id else wanted

    rest, refused = list["MetadataRequestTopic"](), dict[str | bytes | None, MetadataResponseTopic]()
    for entry in asked:
        name = _name(entry, topics, by_id=by_id)
        if name is None or _may_be_shown(authorized, name):
            rest.append(entry)
        else:
            shown = None if by_id else name
            refused[shown or entry.topic_id] = MetadataResponseTopic(
                error_code=_REFUSED, name=shown, topic_id=entry.topic_id
            )
        if access.pace.is_over():
            yield
    if by_id:
        authorized.finish_with(lambda response: _hide_made_meanwhile(authorized, response))
    authorized.change(topics=rest)
    if not refused:
        return
    if not rest and authorized.route.version == 0:  # in v0 an empty list would mean all topics
        authorized.change(topics=None)
        authorized.handle = partial(metadata.handle, is_shown=lambda _name: False)
    authorized.finish_with(lambda response: _add(response, list(refused.values())))


def _hide_made_meanwhile(authorized: "Metadata", response: "MetadataResponse") -> Generator[None, None, None]:
    """An id that was unknown when it was judged stays so for this request, if the client may not describe its topic."""
    access = authorized.access
    topics = list(response.topics)
    for index, topic in enumerate(topics):
        if topic.name is not None and not access.may(Operation.DESCRIBE, TOPIC, topic.name):
            code = int(ErrorCode.UNKNOWN_TOPIC_ID)
            topics[index] = MetadataResponseTopic(error_code=code, name=None, topic_id=topic.topic_id)
        if access.pace.is_over():
            yield
    response.topics = topics


def _name(entry: "MetadataRequestTopic", topics: "Topics", *, by_id: bool) -> str | None:
    """The topic that an entry means; None for an unknown id, which is answered without looking at any topic."""
    if not by_id:
        return str(entry.name)
    topic = topics.by_id(entry.topic_id)
    return None if topic is None else topic.name


def _add(response: "MetadataResponse", topics: list[MetadataResponseTopic]) -> None:
    response.topics = [*response.topics, *topics]


def _may_be_shown(authorized: "Metadata", name: str) -> bool:
    access, call, request = authorized.access, authorized.call, authorized.request
    if not access.may(Operation.DESCRIBE, TOPIC, name):
        return False
    creates = call.version < first_without_creation(ApiKey.METADATA) or request.allow_auto_topic_creation
    if not creates or call.cluster.topics.get(name) is not None:
        return True
    if not call.node.settings.get_bool("auto.create.topics.enable"):
        return True
    return _may_create(access, name)


def _may_create(access: "Access", name: str) -> bool:
    return access.may_cluster(Operation.CREATE, noted=False) or access.may(Operation.CREATE, TOPIC, name)


def _show_operations(authorized: "Metadata", response: "MetadataResponse") -> Generator[None, None, None]:
    """Put what the client may do in the place of all that there is (AU-14)."""
    request, access = authorized.request, authorized.access
    if response.error_code:  # the whole request was invalid
        return
    if request.include_topic_authorized_operations:

        def operations_of(topic: MetadataResponseTopic) -> int:
            name = None if topic.error_code == _REFUSED else topic.name
            return _NOT_ASKED if name is None else access.operations(TOPIC, name)

        yield from show_operations(response.topics, operations_of, "topic_authorized_operations", access.pace)
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(authorized.access)


def cluster_operations(access: "Access") -> int:
    """What the client may do with the cluster, 0 if it may not describe it."""
    return access.operations(CLUSTER, CLUSTER_NAME) if access.may_cluster(Operation.DESCRIBE) else 0


def show_cluster_operations(authorized: "DescribeCluster") -> None:
    """DescribeCluster needs nothing; it shows what the client may do if it is asked."""

    def finish(response: "DescribeClusterResponse") -> None:
        if not response.error_code:
            response.cluster_authorized_operations = cluster_operations(authorized.access)

    if authorized.request.include_cluster_authorized_operations:
        authorized.finish_with(finish)


def describe_allowed(
    authorized: "DescribeTopicPartitions",
) -> Generator[None, None, None]:
    """DescribeTopicPartitions: DESCRIBE on each topic; in a list of all, others are left out (TP)."""
    request, access, topics = authorized.request, authorized.access, authorized.call.cluster.topics
    cursor = request.cursor
    wants_all = not request.topics
    names = topics.sorted_names() if wants_all else (yield from names_in_order(request.topics, access.pace))
    first = 0 if cursor is None else bisect_left(names, cursor.topic_name)
    if cursor is not None:
        is_unknown = not wants_all and names[first : first + 1] != [cursor.topic_name]
        if is_unknown or cursor.partition_index < 0:
            return
    refused, shown = list[DescribeTopicPartitionsResponseTopic](), list[str]()
    for name in islice(names, first, None):
        if access.may(Operation.DESCRIBE, TOPIC, name):
            shown.append(name)
        elif not wants_all:
            refused.append(DescribeTopicPartitionsResponseTopic(error_code=_REFUSED, name=name))
        if access.pace.is_over():
            yield
    if cursor is not None and shown[:1] != [cursor.topic_name]:
        request = with_fields(request, cursor=None)
    asked = yield from listed((TopicRequest(name=name) for name in shown), access.pace)
    authorized.request = with_fields(request, topics=asked)

    def finish(response: "DescribeTopicPartitionsResponse") -> Generator[None, None, None]:
        yield from show_operations(
            response.topics,
            lambda topic: access.operations(TOPIC, topic.name or ""),
            "topic_authorized_operations",
            access.pace,
        )
        response.topics = [*response.topics, *refused]

    authorized.finish_with(finish)
    if not shown:
        authorized.answer_at_once(next_cursor=None)
