"""DescribeGroups, key 15, v0-v6: a group's state and members (DS).

v3 authorized operations, on request (KIP-430); v4 static members (KIP-345); v5 flexible; v6 error messages, and
GROUP_ID_NOT_FOUND for a group that does not exist (KIP-1043). Only classic groups are shown.

MOCK: groups are answered in request order, members in the order in which they joined (GEN-9).
"""

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.written_entries import WrittenEntries
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

_FIRST_NOT_FOUND = 6

MEMBERS_PER_STEP = 2_000  # and groups, which cost about as much


def handle(call: Call, request: DescribeGroupsRequest) -> DescribeGroupsResponse | None:
    """Describe each group by itself."""
    return call.work(_in_steps(call, request), may_begin_later=True)


def _in_steps(call: Call, request: DescribeGroupsRequest) -> Steps[DescribeGroupsResponse]:
    """A group that is asked for again has the same entry, up to 2.3 none (DS-9)."""
    response, pace = DescribeGroupsResponse(), call.pace(MEMBERS_PER_STEP)
    known, written = dict[str, DescribedGroup](), WrittenEntries(call)
    has_duplicates = call.cluster.behaviours.describe_answers_duplicates
    for group_id in request.groups if has_duplicates else dict.fromkeys(request.groups):
        group, members = known.get(group_id), 0
        if group is None:
            group = known[group_id] = describe(call, group_id)
            members = len(group.members)
        if written.is_over(group):
            yield
        if request.include_authorized_operations and group.error_code == ErrorCode.NONE:
            group.authorized_operations = call.cluster.behaviours.group_authorized_operations  # DS-8
        response.groups.append(group)
        if pace.is_over(1 + members):
            yield
    return response


def describe(call: Call, group_id: str) -> DescribedGroup:
    """One group as this version shows it, or why it is not shown."""
    try:
        group = call.shard(group_id).seen_group(group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    if isinstance(group, ClassicGroup):
        return _described(call, group)
    return _not_shown(call, group_id, "not found" if group is None else "is not a classic group")


def _not_shown(call: Call, group_id: str, why: str) -> DescribedGroup:
    """A group that does not exist, or is of another kind: "Dead" without an error, since v6 with GROUP_ID_NOT_FOUND.

    `why` is what the text then says of it (DS-1, CGL-3).
    """
    if call.version < _FIRST_NOT_FOUND:
        return DescribedGroup(group_id=group_id, group_state=State.DEAD)
    return DescribedGroup(
        group_id=group_id,
        group_state=State.DEAD,
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message=f"Group {group_id} {why}.",
    )


def _described(call: Call, group: ClassicGroup) -> DescribedGroup:
    """A group that exists; only in Stable it has a protocol, metadata and, up to 3.9.1, assignments (DS-3, DS-4)."""
    stable = group.state is State.STABLE
    assigned = stable or call.cluster.behaviours.describe_shows_assignments_in_rebalance
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol) if stable else b"",
                member_assignment=member.assignment if assigned else b"",
            )
            for member in group.members.values()
        ],
    )
