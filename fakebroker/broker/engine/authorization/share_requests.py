"""Checks of requests of and about share groups, beside the right on the group."""

from functools import partial
from typing import Any

from fakebroker.broker.apis import handlers
from fakebroker.broker.core.security.acls import Operation, ResourceType
from fakebroker.broker.engine.authorization.authorized_request import AuthorizedRequest, parted, with_fields
from fakebroker.broker.engine.error_response import ENTRIES, Mirror, error_entries
from fakebroker.protocol.errors import ErrorCode

TOPIC = ResourceType.TOPIC
_REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def read_allowed(authorized: AuthorizedRequest) -> None:
    """ShareFetch and ShareAcknowledge: READ on each topic, those of the session too."""
    handler: Any = handlers.handler(authorized.route.api_key)  # the route's may also ask for the feature, as was done
    authorized.handle = partial(
        handler.handle, may_read=lambda name: authorized.access.may(Operation.READ, TOPIC, name)
    )


def describe_allowed_offsets(authorized: AuthorizedRequest) -> None:
    """DescribeShareGroupOffsets: DESCRIBE on each topic; topics that were not named are left out."""
    access = authorized.access
    mirror = ENTRIES[authorized.route.api_key][0]
    assert mirror.inner is not None
    groups, refused = [], list[list[Any]]()  # topics of each of the groups: one may be there twice
    for group in authorized.request.groups:
        denied, rest = parted(
            group.topics or (), lambda each: not access.may(Operation.DESCRIBE, TOPIC, each.topic_name)
        )
        refused.append([])
        if denied:
            chosen = with_fields(authorized.request, groups=[with_fields(group, topics=denied)])
            entries = error_entries(mirror, authorized.route.response, chosen, authorized.route.version, _REFUSED)
            refused[-1] = entries[0].topics
            group = with_fields(group, topics=rest)
        groups.append(group)
    authorized.change(groups=groups)

    def finish(response: Any) -> None:
        # Groups that are refused themselves stand behind these.
        for asked, group, topics in zip(groups, response.groups, refused, strict=False):
            if group.error_code:
                continue
            if asked.topics is None:
                group.topics = [each for each in group.topics if access.may(Operation.DESCRIBE, TOPIC, each.topic_name)]
            group.topics = [*group.topics, *topics]

    if any(refused) or any(group.topics is None for group in groups):
        authorized.finish_with(finish)


_ALTERED = Mirror(
    "responses", "topics", {"topic_name": "topic_name"},
    Mirror("partitions", "partitions", {"partition_index": "partition_index"}),
)  # fmt: skip
_DELETED = Mirror("responses", "topics", {"topic_name": "topic_name"})


def alter_allowed_offsets(authorized: AuthorizedRequest) -> None:
    """AlterShareGroupOffsets: READ on each topic."""
    _take_out(authorized, _ALTERED)


def delete_allowed_offsets(authorized: AuthorizedRequest) -> None:
    """DeleteShareGroupOffsets: READ on each topic."""
    _take_out(authorized, _DELETED)


def _take_out(authorized: AuthorizedRequest, mirror: Mirror) -> None:
    request, route, access = authorized.request, authorized.route, authorized.access
    denied, rest = parted(request.topics, lambda each: not access.may(Operation.READ, TOPIC, each.topic_name))
    if not denied:
        return
    chosen = with_fields(request, topics=denied)
    entries = error_entries(mirror, route.response, chosen, route.version, _REFUSED)
    authorized.change(topics=rest)
    authorized.finish_with(lambda response: _add(response, entries))  # also of nothing: the group may not exist


def _add(response: Any, entries: list[Any]) -> None:
    if not response.error_code:
        response.responses = [*response.responses, *entries]
