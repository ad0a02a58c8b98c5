"""DescribeGroups v1 as the early KIP-88 proposed it: as the released v0, and the group's committed offsets (DR-10).

Kafka shipped OffsetFetch v2 with null topics instead.
"""

from collections.abc import Callable

from fakebroker.broker.apis import describe_groups
from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.offset_fetch import offsets_of
from fakebroker.broker.apis.written_entries import WrittenEntries
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import CommittedOffset
from fakebroker.protocol.wire.drafts import (
    Kip88DescribeGroupsRequest,
    Kip88DescribeGroupsResponse,
    Kip88Group,
    Kip88Member,
)
from fakebroker.protocol.wire.messages.describe_groups import DescribedGroup

MayDescribe = Callable[[str], bool]
"""Whether the client may describe a topic."""

ENTRIES_PER_STEP = 2_000  # groups, members and offsets


def handle(
    call: Call, request: Kip88DescribeGroupsRequest, *, may_describe: MayDescribe = lambda _topic: True
) -> Kip88DescribeGroupsResponse | None:
    """Describe the groups as the released v0 does, and add their committed offsets in topics that `may_describe`."""
    return call.work(steps(call, request, may_describe))


def steps(
    call: Call, request: Kip88DescribeGroupsRequest, may_describe: MayDescribe
) -> Steps[Kip88DescribeGroupsResponse]:
    """The steps of `handle`. A group that is asked for again has the same entry."""
    response, pace = Kip88DescribeGroupsResponse(), call.pace(ENTRIES_PER_STEP)
    known, written = dict[str, Kip88Group](), WrittenEntries(call)
    for group_id in request.groups:
        group, parts = known.get(group_id), 0
        if group is None:
            group = known[group_id] = _with_offsets(call, describe_groups.describe(call, group_id), may_describe)
            parts = len(group.members) + len(group.offsets)
        if written.is_over(group):
            yield
        response.groups.append(group)
        if pace.is_over(1 + parts):
            yield
    return response


def _with_offsets(call: Call, group: DescribedGroup, may_describe: MayDescribe) -> Kip88Group:
    return Kip88Group(
        error_code=group.error_code,
        group_id=group.group_id,
        group_state=group.group_state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol_data,
        members=[
            Kip88Member(
                member_id=member.member_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.member_metadata,
                member_assignment=member.member_assignment,
            )
            for member in group.members
        ],
        offsets=_offsets(call, group.group_id, may_describe) if group.error_code == ErrorCode.NONE else [],
    )


def _offsets(call: Call, group_id: str, may_describe: MayDescribe) -> list[tuple[str, int, int, str]]:
    """Everything stored in those topics, by topic and partition."""
    offsets = offsets_of(call, group_id)
    shown = set(filter(may_describe, offsets.topics))
    committed = map(CommittedOffset._make, offsets)
    return sorted((each.topic, each.partition, each.offset, each.metadata) for each in committed if each.topic in shown)
