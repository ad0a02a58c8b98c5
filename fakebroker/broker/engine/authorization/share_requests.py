"""Checks of requests of and about share groups, beside the right on the group."""

from collections.abc import Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from fakebroker.broker.apis import handlers
from fakebroker.broker.core.security.acls import Operation, ResourceType
from fakebroker.broker.core.share_state.states import NO_OFFSET
from fakebroker.broker.engine.authorization.authorized_request import (
    REFUSED_TEXTS,
    AuthorizedRequest,
    add_entries,
    parted,
)
from fakebroker.broker.engine.error_response import ENTRIES, error_entries_in_steps, mirrors_between
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import kept
from fakebroker.protocol.schema.message import with_fields

if TYPE_CHECKING:
    from fakebroker.protocol.schema import Message
    from fakebroker.protocol.wire.messages.alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest,
        AlterShareGroupOffsetsResponse,
    )
    from fakebroker.protocol.wire.messages.delete_share_group_offsets import (
        DeleteShareGroupOffsetsRequest,
        DeleteShareGroupOffsetsResponse,
    )
    from fakebroker.protocol.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsRequestGroup,
        DescribeShareGroupOffsetsResponse,
        DescribeShareGroupOffsetsResponseGroup,
        DescribeShareGroupOffsetsResponseTopic,
    )
    from fakebroker.protocol.wire.messages.share_acknowledge import ShareAcknowledgeRequest
    from fakebroker.protocol.wire.messages.share_fetch import ShareFetchRequest

    AlterShareGroupOffsets = AuthorizedRequest[AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse]
    DeleteShareGroupOffsets = AuthorizedRequest[DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse]
    DescribeShareGroupOffsets = AuthorizedRequest[DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse]

TOPIC = ResourceType.TOPIC
GROUP_COSTS_NAMES = 10  # one with topics that are refused
_REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def check_group_id(authorized: "AuthorizedRequest[ShareFetchRequest | ShareAcknowledgeRequest, Message]") -> None:
    """ShareFetch and ShareAcknowledge: Kafka asks for the group before it asks for rights."""
    if authorized.request.group_id is None:
        authorized.answer_at_once(error_code=ErrorCode.INVALID_REQUEST)


def read_allowed(authorized: "AuthorizedRequest[Message, Message]") -> None:
    """ShareFetch and ShareAcknowledge: READ on each topic, those of the session too."""
    handler = handlers.handler(authorized.route.api_key)  # the route's may also ask for the feature, as was done
    authorized.handle = partial(
        handler.handle, may_read=lambda name: authorized.access.may(Operation.READ, TOPIC, name)
    )


def describe_allowed_offsets(authorized: "DescribeShareGroupOffsets") -> Generator[None, None, None]:
    """DescribeShareGroupOffsets: DESCRIBE on each topic; topics that were not named are left out."""
    access, route = authorized.access, authorized.route
    mirror = ENTRIES[route.api_key][0]
    assert mirror.inner is not None
    groups: list[DescribeShareGroupOffsetsRequestGroup] = []
    refused: list[
        list[DescribeShareGroupOffsetsResponseTopic]
    ] = []  # topics of each of the groups: one may be there twice
    for group in authorized.request.groups:
        if access.pace.is_over(1 if group.topics is None else GROUP_COSTS_NAMES):
            yield
        denied, rest = yield from parted(
            group.topics or (), lambda each: not access.may(Operation.DESCRIBE, TOPIC, each.topic_name), access.pace
        )
        refused.append([])
        if denied:
            chosen = with_fields(authorized.request, groups=[with_fields(group, topics=denied)])
            entries = yield from error_entries_in_steps(mirror, route.response, chosen, route.version, _REFUSED)
            refused[-1] = cast("list[DescribeShareGroupOffsetsResponseGroup]", entries)[0].topics
            for partition in (partition for topic in refused[-1] for partition in topic.partitions):
                partition.start_offset, partition.error_message = NO_OFFSET, REFUSED_TEXTS[TOPIC]
                if access.pace.is_over():
                    yield
            group = with_fields(group, topics=rest)
        groups.append(group)
    authorized.change(groups=groups)

    def is_shown(topic: "DescribeShareGroupOffsetsResponseTopic") -> bool:
        return access.may(Operation.DESCRIBE, TOPIC, topic.topic_name)

    def finish(response: "DescribeShareGroupOffsetsResponse") -> Generator[None, None, None]:
        whole: dict[int, DescribeShareGroupOffsetsResponseGroup] = {}  # one that comes again is the same object
        # Groups that are refused themselves stand behind these.
        for asked, group, topics in zip(groups, response.groups, refused, strict=False):
            if group.error_code:
                continue
            if asked.topics is None:
                whole[id(group)] = group
            else:
                group.topics = [*group.topics, *topics]
        for group in whole.values():
            group.topics = yield from kept(group.topics, is_shown, access.pace)

    if any(refused) or any(group.topics is None for group in groups):
        authorized.finish_with(finish)


def alter_allowed_offsets(authorized: "AlterShareGroupOffsets") -> Generator[None, None, None]:
    """AlterShareGroupOffsets: READ on each topic."""
    return _take_out(authorized)


def delete_allowed_offsets(authorized: "DeleteShareGroupOffsets") -> Generator[None, None, None]:
    """DeleteShareGroupOffsets: READ on each topic."""
    return _take_out(authorized)


def _take_out(authorized: "AlterShareGroupOffsets | DeleteShareGroupOffsets") -> Generator[None, None, None]:
    request, route, access = authorized.request, authorized.route, authorized.access
    topics: Iterable[_Topic] = request.topics
    denied, rest = yield from parted(
        topics, lambda each: not access.may(Operation.READ, TOPIC, each.topic_name), access.pace
    )
    if not denied:
        return
    mirror = next(mirrors_between(route.response, route.request, outermost=False))
    asked = with_fields(request, topics=denied)
    entries = yield from error_entries_in_steps(mirror, route.response, asked, route.version, _REFUSED)

    def finish(response: "AlterShareGroupOffsetsResponse | DeleteShareGroupOffsetsResponse") -> None:
        if not response.error_code:
            add_entries(response, mirror.answered, entries)

    authorized.change(topics=rest)
    authorized.finish_with(finish)  # also if none is left: the group may not exist


class _Topic(Protocol):
    topic_name: str
