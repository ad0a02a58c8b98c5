"""Checks of requests about groups: their members, their offsets, what is shown of them."""

from collections.abc import Generator, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from fakebroker.broker.apis import (
    consumer_group_heartbeat,
    list_groups,
    offset_delete,
    offset_fetch,
    share_group_heartbeat,
    streams_group_heartbeat,
    sync_group,
)
from fakebroker.broker.apis.dialects import kip_88_draft
from fakebroker.broker.apis.find_coordinator import GROUP as GROUP_KEY
from fakebroker.broker.apis.find_coordinator import SHARE as SHARE_KEY
from fakebroker.broker.apis.find_coordinator import TRANSACTION as TRANSACTION_KEY
from fakebroker.broker.core.security.acls import Operation, ResourceType
from fakebroker.broker.engine.authorization import authorized_request as in_steps
from fakebroker.broker.engine.authorization.authorized_request import (
    CODES,
    REFUSED_TEXTS,
    AuthorizedRequest,
    name_in,
)
from fakebroker.broker.engine.error_response import element_of, has_code
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import in_parts, kept
from fakebroker.protocol.schema.message import made, with_fields
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.drafts import Kip88DescribeGroupsResponse
from fakebroker.protocol.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopics,
)
from fakebroker.protocol.wire.registry import newest_for_one

if TYPE_CHECKING:
    from fakebroker.broker.engine.authorization.access import Access
    from fakebroker.protocol.wire.messages import consumer_group_describe as consumer
    from fakebroker.protocol.wire.messages import share_group_describe as share
    from fakebroker.protocol.wire.messages import streams_group_describe as streams
    from fakebroker.protocol.wire.messages.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )
    from fakebroker.protocol.wire.messages.describe_groups import (
        DescribedGroup,
        DescribeGroupsRequest,
        DescribeGroupsResponse,
    )
    from fakebroker.protocol.wire.messages.find_coordinator import (
        Coordinator,
        FindCoordinatorRequest,
        FindCoordinatorResponse,
    )
    from fakebroker.protocol.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
    from fakebroker.protocol.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
    from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchResponseTopic
    from fakebroker.protocol.wire.messages.share_group_heartbeat import (
        ShareGroupHeartbeatRequest,
        ShareGroupHeartbeatResponse,
    )
    from fakebroker.protocol.wire.messages.streams_group_heartbeat import (
        StreamsGroupHeartbeatRequest,
        StreamsGroupHeartbeatResponse,
        Topology,
    )
    from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

    ModernRequest = (
        consumer.ConsumerGroupDescribeRequest | share.ShareGroupDescribeRequest | streams.StreamsGroupDescribeRequest
    )
    ModernResponse = (
        consumer.ConsumerGroupDescribeResponse | share.ShareGroupDescribeResponse | streams.StreamsGroupDescribeResponse
    )
    ModernGroup = consumer.DescribedGroup | share.DescribedGroup | streams.DescribedGroup
    DescribeModern = AuthorizedRequest[ModernRequest, ModernResponse]
    Describe = AuthorizedRequest[DescribeGroupsRequest | ModernRequest, DescribeGroupsResponse | ModernResponse]

    ConsumerGroupHeartbeat = AuthorizedRequest[ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse]
    FindCoordinator = AuthorizedRequest[FindCoordinatorRequest, FindCoordinatorResponse]
    ListGroups = AuthorizedRequest[ListGroupsRequest, ListGroupsResponse]
    OffsetDelete = AuthorizedRequest[OffsetDeleteRequest, OffsetDeleteResponse]
    OffsetFetch = AuthorizedRequest[OffsetFetchRequest, OffsetFetchResponse]
    ShareGroupHeartbeat = AuthorizedRequest[ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse]
    StreamsGroupHeartbeat = AuthorizedRequest[StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse]
    SyncGroup = AuthorizedRequest[SyncGroupRequest, SyncGroupResponse]

Topic = TypeVar("Topic", "OffsetFetchRequestTopic", "OffsetFetchRequestTopics")
Part = TypeVar("Part")
AnsweredTopic = TypeVar("AnsweredTopic", "OffsetFetchResponseTopic", "OffsetFetchResponseTopics")
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
_NOT_ASKED = -2147483648
_REFUSED_TOPIC = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_KEYS = {GROUP_KEY: GROUP, TRANSACTION_KEY: ResourceType.TRANSACTIONAL_ID}
_REFUSED_ROW = (-1, -1, "", _REFUSED_TOPIC)  # of a partition in OffsetFetch, behind its index
_FIRST_WITH_GROUPS = 8  # of OffsetFetch


def check_protocol(authorized: "SyncGroup") -> None:
    """SyncGroup: Kafka asks for the protocol first (SG-1)."""
    if not sync_group.has_protocol(authorized.request, authorized.route.version):
        authorized.answer_at_once(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def delete_offsets_of_group(authorized: "OffsetDelete") -> None:
    """OffsetDelete: an error of the group is the whole answer, whichever topics are refused (OD-2)."""

    def finish(response: "OffsetDeleteResponse") -> None:
        if response.error_code:
            response.topics = []

    try:
        offset_delete.group_of(authorized.call, authorized.request.group_id)
    except KafkaError as error:
        authorized.answer_at_once(error_code=error.code)
    else:
        authorized.finish_with(finish)  # it may be another in the handler, some steps later


def show_operations(authorized: "Describe") -> None:
    """Describes of groups show what the client may do with them, if they are asked (AU-14)."""
    access, among = authorized.access, authorized.call.cluster.behaviours.group_authorized_operations

    def operations_of(group: "DescribedGroup | ModernGroup") -> int:
        if group.authorized_operations == _NOT_ASKED:
            return _NOT_ASKED
        return access.operations(GROUP, group.group_id) & among

    def finish(response: "DescribeGroupsResponse | ModernResponse") -> Generator[None, None, None]:
        groups = cast("list[DescribedGroup | ModernGroup]", response.groups)
        return in_steps.show_operations(groups, operations_of, "authorized_operations", access.pace)

    if getattr(authorized.request, "include_authorized_operations", False):
        authorized.finish_with(finish)


def show_allowed_offsets(authorized: "Describe") -> None:
    """DescribeGroups of the early KIP-88: offsets of topics that the client may not describe are left out (AU-6)."""
    if authorized.route.response is not Kip88DescribeGroupsResponse:
        return
    access = authorized.access
    authorized.handle = partial(
        kip_88_draft.handle, may_describe=lambda name: access.may(Operation.DESCRIBE, TOPIC, name, noted=False)
    )


def hide_groups_with_topics(authorized: "DescribeModern") -> None:
    """A group one of whose topics the client may not describe is shown with TOPIC_AUTHORIZATION_FAILED alone."""
    access = authorized.access

    def finish(response: "ModernResponse") -> Generator[None, None, None]:
        groups, shown = cast("list[ModernGroup]", response.groups), dict[int, "ModernGroup"]()
        for index, group in enumerate(groups):
            if id(group) not in shown:  # one that is asked for again is the same
                may_be_shown = yield from _may_describe_all(access, _topics_of(group))
                shown[id(group)] = group if may_be_shown else _without_topics(group)
            groups[index] = shown[id(group)]
            if access.pace.is_over():
                yield

    authorized.finish_with(finish)


def _without_topics(group: "ModernGroup") -> "ModernGroup":
    text = "The group has described topic(s) that the client is not authorized to describe."
    refusal = {"group_id": group.group_id, "error_code": _REFUSED_TOPIC, "error_message": text}
    return cast("ModernGroup", made(type(group), refusal))


def _topics_of(group: "ModernGroup") -> list[str]:
    """The topics that a described group has: assigned to its members, or of its topology; not what is subscribed to."""
    names = []
    for member in group.members:
        for assignment in (getattr(member, "assignment", None), getattr(member, "target_assignment", None)):
            names += [each.topic_name for each in getattr(assignment, "topic_partitions", ())]
    names += _topics_in(getattr(group, "topology", None))
    return names


def list_allowed(authorized: "ListGroups") -> None:
    """ListGroups: DESCRIBE on the cluster shows all groups, else DESCRIBE on each shows it.

    Before its entry is made: that takes time, which would tell of groups that are hidden.
    """
    access = authorized.access
    if not access.may_cluster(Operation.DESCRIBE, noted=False):
        authorized.handle = partial(
            list_groups.handle,
            is_shown=lambda group_id: access.may(Operation.DESCRIBE, GROUP, group_id, noted=False),
        )


def find_allowed(authorized: "FindCoordinator") -> Generator[None, None, None]:
    """FindCoordinator: DESCRIBE on the group or transactional id; CLUSTER_ACTION for share partitions."""
    request, access = authorized.request, authorized.access
    if request.key_type == SHARE_KEY:
        if authorized.route.version >= 6 and not access.may_cluster(Operation.CLUSTER_ACTION):
            refusal = yield from authorized.refuse(ResourceType.CLUSTER, REFUSED_TEXTS[ResourceType.CLUSTER])
            _without_address(refusal.coordinators)
        return
    resource_type = _KEYS.get(request.key_type)
    if resource_type is None:
        return
    if authorized.route.version <= newest_for_one(ApiKey.FIND_COORDINATOR):
        if not access.may(Operation.DESCRIBE, resource_type, request.key):
            code, text = CODES[resource_type], REFUSED_TEXTS[resource_type]
            authorized.answer_at_once(error_code=code, error_message=text, node_id=-1, port=-1)
        return
    refused = yield from authorized.take_out_denied("coordinator_keys", Operation.DESCRIBE, resource_type)
    _without_address(cast("list[Coordinator]", refused))


def _without_address(coordinators: "list[Coordinator]") -> None:
    for each in coordinators:
        each.node_id = each.port = -1


def fetch_allowed_offsets(authorized: "OffsetFetch") -> Generator[None, None, None]:
    """OffsetFetch: DESCRIBE on each group and on each topic; topics that were not named are left out."""
    if authorized.route.version < _FIRST_WITH_GROUPS:
        yield from _fetch_of_one_group(authorized)
        return
    access = authorized.access
    if authorized.is_by_id:
        authorized.handle = partial(
            offset_fetch.handle, may_describe=lambda topic: access.may(Operation.DESCRIBE, TOPIC, topic.name)
        )
    groups: list[OffsetFetchRequestGroup] = []
    refused: list[OffsetFetchResponseGroup] = []
    topics_refused: list[list[OffsetFetchResponseTopics]] = []  # of each of the groups: one may be there twice
    for group in authorized.request.groups:
        if access.pace.is_over():
            yield
        if not access.may(Operation.DESCRIBE, GROUP, group.group_id):
            refused.append(OffsetFetchResponseGroup(group_id=group.group_id, error_code=int(CODES[GROUP])))
            continue
        rest, errors = yield from _parted(authorized, group.topics, OffsetFetchResponseTopics, _REFUSED_ROW)
        topics_refused.append(errors)
        groups.append(with_fields(group, topics=rest) if errors else group)
    hides = any(group.topics is None for group in groups)
    if not refused and not any(topics_refused) and not hides:
        return
    authorized.change(groups=groups)

    def finish(response: "OffsetFetchResponse") -> Generator[None, None, None]:
        shown: dict[int, list[OffsetFetchResponseTopics]] = {}  # groups that are there twice have the same list
        for asked, group, errors in zip(groups, response.groups, topics_refused, strict=True):
            if group.error_code:
                continue
            if asked.topics is None:
                all_topics = group.topics
                if id(all_topics) not in shown:
                    shown[id(all_topics)] = yield from _describable(authorized, all_topics)
                group.topics = shown[id(all_topics)]
            else:
                group.topics = [*group.topics, *errors]
        response.groups = [*response.groups, *refused]

    authorized.finish_with(finish)
    if not groups:
        authorized.answer_at_once()


def _fetch_of_one_group(authorized: "OffsetFetch") -> Generator[None, None, None]:
    """Before v8 a request names one group."""
    request = authorized.request
    if not authorized.access.may(Operation.DESCRIBE, GROUP, request.group_id):
        yield from _refuse_group(authorized)
        return
    answered, row = _topic_of_one_group(authorized, CODES[TOPIC])
    rest, errors = yield from _parted(authorized, request.topics, answered, row)

    def finish(response: "OffsetFetchResponse") -> Generator[None, None, None]:
        if request.topics is None:
            response.topics = yield from _describable(authorized, response.topics)
        elif not getattr(response, "error_code", 0):
            response.topics = [*response.topics, *errors]

    if errors:
        authorized.change(topics=rest)
    if errors or request.topics is None:
        authorized.finish_with(finish)


def _refuse_group(authorized: "OffsetFetch") -> Generator[None, None, None]:
    """Where there is no error code at the top, as before v2, each partition has it, with no offset."""
    refusal = yield from authorized.refuse(GROUP)
    if not has_code(authorized.route.response, authorized.route.version):
        answered, row = _topic_of_one_group(authorized, CODES[GROUP])
        refusal.topics = []
        for topic in authorized.request.topics or ():
            rows = [(index, *row) for index in topic.partition_indexes]
            refusal.topics.append(made(answered, {"name": topic.name, "partitions": rows}))
            if authorized.access.pace.is_over(1 + len(rows)):
                yield


def _topic_of_one_group(
    authorized: "OffsetFetch", code: ErrorCode
) -> tuple[type["OffsetFetchResponseTopic"], tuple[object, ...]]:
    """What the answer has for a topic, and what a partition's row has behind its index if it has no offset but a code.

    Dialects have a class of their own.
    """
    topic = element_of(authorized.route.response, "topics")
    _, *row = made(
        element_of(topic, "partitions"),
        {"committed_offset": -1, "committed_leader_epoch": -1, "metadata": "", "error_code": int(code)},
    )
    return cast("type[OffsetFetchResponseTopic]", topic), tuple(row)


def _parted(
    authorized: "OffsetFetch",
    topics: "Sequence[Topic] | None",
    answered: type[AnsweredTopic],
    refused_row: tuple[object, ...],
) -> "Generator[None, None, tuple[list[Topic] | None, list[AnsweredTopic]]]":
    """The topics that the client may describe, and entries with errors for the others; in steps.

    `refused_row` is what their partitions have behind the index.
    """
    if topics is None:
        return None, []
    refused, rest = yield from in_steps.parted(
        topics, lambda topic: not _may_describe(authorized, topic), authorized.access.pace
    )
    errors: list[AnsweredTopic] = []
    for topic in refused:
        rows = list[tuple[object, ...]]()
        for part in in_parts(topic.partition_indexes):
            rows += [(index, *refused_row) for index in part]
            if authorized.access.pace.is_over(len(part)):
                yield
        topic_id = {"topic_id": topic.topic_id} if isinstance(topic, OffsetFetchRequestTopics) else {}
        errors.append(made(answered, {"name": topic.name, "partitions": rows, **topic_id}))
    return rest, errors


def _describable(authorized: "OffsetFetch", topics: Iterable[Part]) -> Generator[None, None, list[Part]]:
    return kept(topics, lambda topic: _may_describe(authorized, topic), authorized.access.pace)


def _may_describe(authorized: "OffsetFetch", topic: object) -> bool:
    name = name_in(topic, authorized.call.cluster.topics, authorized.is_by_id)
    return name is None or authorized.access.may(Operation.DESCRIBE, TOPIC, name)


def heartbeat_allowed(authorized: "ConsumerGroupHeartbeat") -> Generator[None, None, None]:
    """ConsumerGroupHeartbeat: DESCRIBE on each topic that the member subscribes to by name.

    Patterns match topics that the client may describe.
    """
    access = authorized.access
    if not (yield from _may_describe_all(access, authorized.request.subscribed_topic_names or ())):
        yield from authorized.refuse(TOPIC)
    authorized.handle = partial(
        consumer_group_heartbeat.handle,
        may_describe=lambda name: access.may(Operation.DESCRIBE, TOPIC, name, noted=False),
    )


def subscribe_allowed(authorized: "ShareGroupHeartbeat") -> Generator[None, None, None]:
    """ShareGroupHeartbeat: DESCRIBE on each topic that the member subscribes to by name; first its id is looked at."""
    if not share_group_heartbeat.has_member_id(authorized.request):
        authorized.answer_at_once(error_code=ErrorCode.INVALID_REQUEST)
        return
    if not (yield from _may_describe_all(authorized.access, authorized.request.subscribed_topic_names or ())):
        yield from authorized.refuse(TOPIC)


def run_allowed_topology(authorized: "StreamsGroupHeartbeat") -> Generator[None, None, None]:
    """Heartbeats of streams groups: DESCRIBE on each topic of the topology; internal topics are made with CREATE."""
    access = authorized.access
    try:
        yield from streams_group_heartbeat.check_before_rights(authorized.call, authorized.request, access.pace)
    except KafkaError as error:
        authorized.answer_at_once(error_code=error.code, error_message=error.message)
        return
    if not (yield from _may_describe_all(access, _topics_in(authorized.request.topology))):
        yield from authorized.refuse(TOPIC)
        return

    def refused(missing: Sequence[str]) -> list[str]:
        if access.may_cluster(Operation.CREATE, noted=False):
            return []
        return [name for name in missing if not access.may(Operation.CREATE, TOPIC, name)]

    authorized.handle = partial(streams_group_heartbeat.handle, refused=refused)


def _may_describe_all(access: "Access", names: Iterable[str]) -> Generator[None, None, bool]:
    """Whether the client may describe every one of these topics, in steps up to the first that it may not."""
    for name in dict.fromkeys(names):
        if not access.may(Operation.DESCRIBE, TOPIC, name):
            return False
        if access.pace.is_over():
            yield
    return True


def _topics_in(topology: "Topology | streams.Topology | None") -> list[str]:
    """All topics that a topology names; None is no topology."""
    names = list[str]()
    for subtopology in (topology.subtopologies if topology is not None else None) or ():
        names += [*subtopology.source_topics, *subtopology.repartition_sink_topics]
        names += [each.name for each in subtopology.repartition_source_topics]
        names += [each.name for each in subtopology.state_changelog_topics]
    return names
