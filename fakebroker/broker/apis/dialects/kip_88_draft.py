"""DescribeGroups v1 as the early KIP-88 proposed it: as the released v0, and the group's committed offsets (DR-10).

Kafka shipped OffsetFetch v2 with null topics instead.
"""

from fakebroker.broker.apis import describe_groups
from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.offset_fetch import offsets_of
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import CommittedOffset
from fakebroker.protocol.wire.drafts import (
    Kip88DescribeGroupsRequest,
    Kip88DescribeGroupsResponse,
    Kip88Group,
    Kip88Member,
)
from fakebroker.protocol.wire.messages.describe_groups import DescribedGroup


def handle(call: Call, request: Kip88DescribeGroupsRequest) -> Kip88DescribeGroupsResponse:
    """Describe the groups as the released v0 does, and add their committed offsets."""
    described = (describe_groups.describe(call, group_id) for group_id in request.groups)
    return Kip88DescribeGroupsResponse(groups=[_with_offsets(call, group) for group in described])


def _with_offsets(call: Call, group: DescribedGroup) -> Kip88Group:
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
        offsets=_offsets(call, group.group_id) if group.error_code == ErrorCode.NONE else [],
    )


def _offsets(call: Call, group_id: str) -> list[tuple[str, int, int, str]]:
    """Everything stored, by topic and partition."""
    committed = map(CommittedOffset._make, offsets_of(call, group_id))
    return sorted((each.topic, each.partition, each.offset, each.metadata) for each in committed)
