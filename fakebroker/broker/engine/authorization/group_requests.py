"""Checks of requests about groups: their members, their offsets, what is shown of them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from fakebroker.broker.apis import consumer_group_heartbeat, streams_group_heartbeat
from fakebroker.broker.apis.find_coordinator import GROUP as GROUP_KEY
from fakebroker.broker.apis.find_coordinator import SHARE as SHARE_KEY
from fakebroker.broker.apis.find_coordinator import TRANSACTION as TRANSACTION_KEY
from fakebroker.broker.core.security.acls import Operation, ResourceType
from fakebroker.broker.engine.authorization.authorized_request import (
    CODES,
    REFUSED_TEXTS,
    AuthorizedRequest,
    with_fields,
)
from fakebroker.broker.engine.authorization.topic_requests import name_in
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from fakebroker.protocol.wire.registry import newest_for_one

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
_NOT_ASKED = -2147483648
_REFUSED_TOPIC = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_KEYS = {GROUP_KEY: GROUP, TRANSACTION_KEY: ResourceType.TRANSACTIONAL_ID}
_FIRST_WITH_CODE, _FIRST_WITH_GROUPS = 2, 8  # of OffsetFetch


def show_operations(authorized: AuthorizedRequest) -> None:
    """Describes of groups show what the client may do with them, if they are asked (AU-14)."""
    access, among = authorized.access, authorized.call.cluster.behaviours.group_authorized_operations

    def finish(response: Any) -> None:
        for group in response.groups:
            if group.authorized_operations != _NOT_ASKED:
                group.authorized_operations = access.operations(GROUP, group.group_id) & among

    if getattr(authorized.request, "include_authorized_operations", False):
        authorized.finish_with(finish)


def hide_groups_with_topics(authorized: AuthorizedRequest) -> None:
    """A group one of whose topics the client may not describe is shown with TOPIC_AUTHORIZATION_FAILED alone."""
    access = authorized.access

    def finish(response: Any) -> None:
        for place, group in enumerate(response.groups):
            names = dict.fromkeys(_topics_of(group))
            if not all(access.may(Operation.DESCRIBE, TOPIC, name) for name in names):
                text = "The group has described topic(s) that the client is not authorized to describe."
                response.groups[place] = type(group)(
                    group_id=group.group_id, error_code=_REFUSED_TOPIC, error_message=text
                )

    authorized.finish_with(finish)


def _topics_of(group: Any) -> list[str]:
    """The topics that a described group has: assigned to its members, or of its topology; not what is subscribed to."""
    names = []
    for member in group.members:
        for assignment in (getattr(member, "assignment", None), getattr(member, "target_assignment", None)):
            names += [each.topic_name for each in getattr(assignment, "topic_partitions", ())]
    names += _topics_in(getattr(group, "topology", None))
    return names


def list_allowed(authorized: AuthorizedRequest) -> None:
    """ListGroups: DESCRIBE on the cluster shows all groups, else DESCRIBE on each shows it."""
    access = authorized.access

    def finish(response: Any) -> None:
        response.groups = [
            group for group in response.groups if access.may(Operation.DESCRIBE, GROUP, group.group_id, noted=False)
        ]

    if not access.may_cluster(Operation.DESCRIBE, noted=False):
        authorized.finish_with(finish)


def find_allowed(authorized: AuthorizedRequest) -> None:
    """FindCoordinator: DESCRIBE on the group or transactional id; CLUSTER_ACTION for share partitions."""
    request, access = authorized.request, authorized.access
    if request.key_type == SHARE_KEY:
        if authorized.route.version >= 6 and not access.may_cluster(Operation.CLUSTER_ACTION):
            authorized.refuse(ResourceType.CLUSTER, REFUSED_TEXTS[ResourceType.CLUSTER])
            _without_address(authorized.answer.coordinators)
        return
    resource_type = _KEYS.get(request.key_type)
    if resource_type is None:
        return
    if authorized.route.version <= newest_for_one(ApiKey.FIND_COORDINATOR):
        if not access.may(Operation.DESCRIBE, resource_type, request.key):
            code, text = CODES[resource_type], REFUSED_TEXTS[resource_type]
            authorized.answer_at_once(error_code=code, error_message=text, node_id=-1, port=-1)
        return
    refused = authorized.take_out(
        "coordinator_keys", resource_type, lambda key: not access.may(Operation.DESCRIBE, resource_type, key)
    )
    _without_address(refused)


def _without_address(coordinators: list[Any]) -> None:
    for each in coordinators:
        each.node_id = each.port = -1


def fetch_allowed_offsets(authorized: AuthorizedRequest) -> None:
    """OffsetFetch: DESCRIBE on each group and on each topic; topics that were not named are left out."""
    if authorized.route.version < _FIRST_WITH_GROUPS:
        _fetch_of_one_group(authorized)
        return
    access, groups, refused = authorized.access, list[Any](), list[Any]()
    topics_refused: list[list[OffsetFetchResponseTopics]] = []  # of each of the groups: one may be there twice
    for group in authorized.request.groups:
        if not access.may(Operation.DESCRIBE, GROUP, group.group_id):
            refused.append(OffsetFetchResponseGroup(group_id=group.group_id, error_code=int(CODES[GROUP])))
            continue
        rest, errors = _parted(authorized, group.topics, OffsetFetchResponseTopics)
        topics_refused.append(errors)
        groups.append(with_fields(group, topics=rest) if errors else group)
    hides = any(group.topics is None for group in groups)
    if not refused and not any(topics_refused) and not hides:
        return
    authorized.change(groups=groups)

    def finish(response: Any) -> None:
        for asked, group, errors in zip(groups, response.groups, topics_refused, strict=True):
            if group.error_code:
                continue
            if asked.topics is None:
                _keep_describable(authorized, group)
            else:
                group.topics = [*group.topics, *errors]
        response.groups = [*response.groups, *refused]

    authorized.finish_with(finish)
    if not groups:
        authorized.answer_at_once()


def _fetch_of_one_group(authorized: AuthorizedRequest) -> None:
    """Before v8 a request names one group."""
    request = authorized.request
    if not authorized.access.may(Operation.DESCRIBE, GROUP, request.group_id):
        _refuse_group(authorized)
        return
    if request.topics is None:
        authorized.finish_with(partial(_keep_describable, authorized))
        return
    rest, errors = _parted(authorized, request.topics, OffsetFetchResponseTopic)

    def finish(response: Any) -> None:
        if not response.error_code:
            response.topics = [*response.topics, *errors]

    if errors:
        authorized.change(topics=rest)
        authorized.finish_with(finish)


def _refuse_group(authorized: AuthorizedRequest) -> None:
    """Before v2 there is no error code at the top: each partition has it, with no offset."""
    authorized.refuse(GROUP)
    if authorized.route.version < _FIRST_WITH_CODE:
        code = int(CODES[GROUP])
        authorized.answer.topics = [
            OffsetFetchResponseTopic(
                name=topic.name, partitions=[(index, -1, -1, "", code) for index in topic.partition_indexes]
            )
            for topic in authorized.request.topics
        ]


def _parted(authorized: AuthorizedRequest, topics: Any, answered: Any) -> tuple[Any, list[Any]]:
    """The topics that the client may describe, and entries with errors for the others."""
    if topics is None:
        return None, []
    rest, errors = [], []
    for topic in topics:
        if _may_describe(authorized, topic):
            rest.append(topic)
            continue
        rows = [(index, -1, -1, "", _REFUSED_TOPIC) for index in topic.partition_indexes]
        entry = answered(name=topic.name, partitions=rows)
        if hasattr(topic, "topic_id"):
            entry.topic_id = topic.topic_id
        errors.append(entry)
    return rest, errors


def _keep_describable(authorized: AuthorizedRequest, answered: Any) -> None:
    answered.topics = [each for each in answered.topics if _may_describe(authorized, each)]


def _may_describe(authorized: AuthorizedRequest, topic: Any) -> bool:
    name = name_in(topic, authorized.call.cluster.topics)
    return name is None or authorized.access.may(Operation.DESCRIBE, TOPIC, name)


def heartbeat_allowed(authorized: AuthorizedRequest) -> None:
    """ConsumerGroupHeartbeat: as `subscribe_allowed`; patterns match topics that the client may describe."""
    subscribe_allowed(authorized)
    access = authorized.access
    authorized.handle = partial(
        consumer_group_heartbeat.handle,
        may_describe=lambda name: access.may(Operation.DESCRIBE, TOPIC, name, noted=False),
    )


def subscribe_allowed(authorized: AuthorizedRequest) -> None:
    """Heartbeats of consumer and share groups: DESCRIBE on each topic that the member subscribes to by name."""
    names = dict.fromkeys(authorized.request.subscribed_topic_names or ())
    if not all(authorized.access.may(Operation.DESCRIBE, TOPIC, name) for name in names):
        authorized.refuse(TOPIC)


def run_allowed_topology(authorized: AuthorizedRequest) -> None:
    """Heartbeats of streams groups: DESCRIBE on each topic of the topology; internal topics are made with CREATE."""
    names = dict.fromkeys(_topics_in(authorized.request.topology))
    if not all(authorized.access.may(Operation.DESCRIBE, TOPIC, name) for name in names):
        authorized.refuse(TOPIC)
        return
    access = authorized.access

    def refused(missing: Sequence[str]) -> list[str]:
        if access.may_cluster(Operation.CREATE, noted=False):
            return []
        return [name for name in missing if not access.may(Operation.CREATE, TOPIC, name)]

    authorized.handle = partial(streams_group_heartbeat.handle, refused=refused)


def _topics_in(topology: Any) -> list[str]:
    """All topics that a topology names; None is no topology."""
    names = list[str]()
    for subtopology in topology.subtopologies if topology is not None else ():
        names += [*subtopology.source_topics, *subtopology.repartition_sink_topics]
        names += [each.name for each in subtopology.repartition_source_topics]
        names += [each.name for each in subtopology.state_changelog_topics]
    return names
