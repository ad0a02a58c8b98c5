"""What a group does with a static member that comes back without its member id, state by state (JG-22..JG-25)."""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.core.groups import rebalance
from fakebroker.core.groups.joins import with_reason
from fakebroker.core.groups.members import Member
from fakebroker.core.groups.messages import AnswerJoin, JoinAnswer, JoinRequest, Protocols, SyncAnswer
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.groups.classic_group import ClassicGroup


class _Snapshot(NamedTuple):
    """What the member and the group were before the return."""

    member_id: str
    leader: str | None
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int


def replace_static_member(
    group: "ClassicGroup", member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """PreparingRebalance: the new id is parked in the place of the old one (JG-24)."""
    _replace_member(group, member, request, answer, now)
    rebalance.complete_unless_delayed(group, now)


def replace_and_rebalance(
    group: "ClassicGroup", member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """CompletingRebalance: everybody has to rejoin (JG-24)."""
    _replace_member(group, member, request, answer, now)
    rebalance.start(group, now, with_reason(f"static member {request.instance_id} returned", request))


def replace_in_stable(
    group: "ClassicGroup", member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """Nobody else has to rejoin unless another protocol would be chosen; the new id is stored, then told (JG-23)."""
    before = _replace_member(group, member, request, answer, now)
    if rebalance.choose_protocol(group) != group.protocol:
        rebalance.start(group, now, with_reason(f"static member {request.instance_id} returned", request))
        return

    def stored(code: ErrorCode, now: Instant) -> None:
        if member.answer_join is not answer:
            return  # it was answered or replaced while the append was under way
        if code is ErrorCode.NONE:
            told = _told(group, member, request, before)
        else:
            told = _undo(group, member, before, code, now)
        group.answer_join(member, told)

    group.host.write_group(group, group.to_value(), now, stored)


def _replace_member(
    group: "ClassicGroup", member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> _Snapshot:
    """The member gets a new id and says everything anew; what is parked under the old id is fenced (JG-22)."""
    before = _Snapshot(
        member.member_id, group.leader, member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms
    )
    fenced = ErrorCode.FENCED_INSTANCE_ID
    if member.answer_join is not None:
        group.answer_join(member, JoinAnswer(fenced, member.member_id))
    if member.answer_sync is not None:
        group.answer_sync(member, SyncAnswer(fenced))
    _rename(group, member, group.host.new_member_id(request.instance_id or ""))
    group.restart_session(member, now)  # before the new timeout is known: the old one still counts
    group.roster.update(member, request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    group.roster.park_join(member, answer)
    return before


def _rename(group: "ClassicGroup", member: Member, member_id: str) -> None:
    if group.leader == member.member_id:
        group.leader = member_id
    group.roster.rename(member, member_id)


def _told(group: "ClassicGroup", member: Member, request: JoinRequest, before: _Snapshot) -> JoinAnswer:
    """Clients that cannot skip an assignment are told the leader's former id, so that none thinks it has to assign."""
    leads = group.leader == member.member_id and request.may_skip_assignment
    told = rebalance.current_generation(group, member, with_members=leads)
    if request.may_skip_assignment:
        return told._replace(skip_assignment=leads)
    return told._replace(leader=before.leader or "")


def _undo(group: "ClassicGroup", member: Member, before: _Snapshot, code: ErrorCode, now: Instant) -> JoinAnswer:
    """The new id could not be stored: all is as before, and the answer says why (JG-25)."""
    group.roster.update(member, before.protocols, before.session_timeout_ms, before.rebalance_timeout_ms)
    _rename(group, member, before.member_id)
    group.restart_session(member, now)
    told = rebalance.current_generation(group, member, with_members=False)
    return told._replace(code=rebalance.storing_failed(code), member_id="", leader=before.leader or "")
