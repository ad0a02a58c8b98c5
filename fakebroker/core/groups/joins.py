"""What a group does with a JoinGroup that passed the common checks, state by state (JG-14..JG-21, JG-26)."""

from typing import TYPE_CHECKING

from fakebroker.core.groups import rebalance
from fakebroker.core.groups.members import Member
from fakebroker.core.groups.messages import AnswerJoin, JoinAnswer, JoinRequest
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.groups.classic_group import ClassicGroup

NEW_MEMBER_TIMEOUT_MS = 300_000  # TM-3; not configurable in Kafka

# -- members to be -----------------------------------------------------------------------------------------------------


def require_member_id(group: "ClassicGroup", request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """The client must join again with the id it gets here (JG-16)."""
    member_id = group.host.new_member_id(request.client_id)
    group.pending_join_members.add(member_id, request.session_timeout_ms, group, now)
    answer(JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, member_id))


def add(group: "ClassicGroup", request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """A member joins the running rebalance (JG-26)."""
    if group.in_initial_delay and (group.generation == 0 or group.host.behaviours.every_initial_delay_is_extended):
        group.member_added = True  # JG-32
    _add(group, request, answer, now)
    rebalance.complete_unless_delayed(group, now)


def add_and_start(group: "ClassicGroup", request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """A member joins, and a rebalance starts for it (JG-26)."""
    member = _add(group, request, answer, now)
    rebalance.start(group, now, with_reason(f"member {member.member_id} joined", request))


def _add(group: "ClassicGroup", request: JoinRequest, answer: AnswerJoin, now: Instant) -> Member:
    member_id = request.member_id or group.host.new_member_id(request.instance_id or request.client_id)
    group.pending_join_members.discard(member_id)
    member = Member(member_id, request, group.session_timer_fired)
    if not group.members:
        group.protocol_type = request.protocol_type  # ST-3
    group.roster.add(member)
    group.roster.park_join(member, answer)
    if group.leader is None:
        group.leader = member_id
    group.arm(member.session, now, NEW_MEMBER_TIMEOUT_MS)
    return member


# -- members -----------------------------------------------------------------------------------------------------------


def rejoin(group: "ClassicGroup", member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """A member rejoins in the running rebalance."""
    _update(group, member, request, answer)
    rebalance.complete_unless_delayed(group, now)


def rejoin_completing(
    group: "ClassicGroup", member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """Nothing new: it probably missed the answer, and gets it again. Else a rebalance."""
    if _says_the_same(member, request):
        answer(rebalance.current_generation(group, member))
    else:
        _rejoin_and_rebalance(group, member, request, answer, now)


def rejoin_stable(
    group: "ClassicGroup", member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """The leader may always ask for a rebalance this way; a follower needs something new to say."""
    if member.member_id != group.leader and _says_the_same(member, request):
        answer(rebalance.current_generation(group, member))
    else:
        _rejoin_and_rebalance(group, member, request, answer, now)


def _rejoin_and_rebalance(
    group: "ClassicGroup", member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    what = "rejoined" if _says_the_same(member, request) else "changed its metadata"
    who = "the leader" if member.member_id == group.leader else f"member {member.member_id}"
    _update(group, member, request, answer)
    rebalance.start(group, now, with_reason(f"{who} {what}", request))


def _says_the_same(member: Member, request: JoinRequest) -> bool:
    """Names, order and bytes of the protocols; timeouts alone are no change."""
    return member.protocols == request.protocols


def _update(group: "ClassicGroup", member: Member, request: JoinRequest, answer: AnswerJoin) -> None:
    group.roster.update(member, request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    group.roster.park_join(member, answer)


def with_reason(what: str, request: JoinRequest) -> str:
    """The reason of a transition, with what the client itself gave as its reason (v8+)."""
    return f"{what} ({request.reason})" if request.reason else what
