"""An Empty group of a new protocol that a classic member joins: it becomes a classic group (CGM-2, STL-1)."""

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.messages import AnswerJoin, JoinAnswer, JoinRequest
from fakebroker.broker.core.groups.host import GroupsHost, error_of_failed_write
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import GroupEntry


def replace_with_classic_group(
    group: ModernGroup, host: GroupsHost, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """Let an Empty group become a new classic one of generation 0, which answers the JoinGroup.

    Its committed offsets stay. A member id that was not given by it is unknown there, and nothing changes.
    """
    if request.member_id:
        answer(JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
        return
    value = ClassicGroup(group.group_id, host, now).to_value()
    code = host.write_records(group.group_id, [*group.tombstones(), GroupEntry(group.group_id, value)], now)
    classic = host.group(group.group_id)
    if code or classic is None:
        answer(JoinAnswer(error_of_failed_write(code) or ErrorCode.COORDINATOR_NOT_AVAILABLE, request.member_id))
        return
    classic.join(request, answer, now)
