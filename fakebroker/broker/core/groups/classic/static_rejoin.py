"""What a group does with a static member that joins without its member id, state by state (KIP-345, JG-22..JG-25).

The instance id is known, so the member is replaced: it gets a new member id and keeps its position and its assignment;
requests under the old member id are fenced. Kafka: `ClassicGroup.replaceStaticMember`.
"""

from typing import NamedTuple

from fakebroker.broker.core.groups.classic import rebalance
from fakebroker.broker.core.groups.classic.group_metadata import GroupMetadata
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.groups.classic.messages import AnswerJoin, JoinAnswer, JoinRequest, Protocols, SyncAnswer
from fakebroker.broker.core.groups.classic.reasons import Reason
from fakebroker.broker.core.groups.host import error_of_failed_write
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant


class _Snapshot(NamedTuple):
    """What the member and the group were before the replacement."""

    member_id: str
    leader: str | None
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int


def replace_static_member(
    group: GroupMetadata, member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """PreparingRebalance: the member takes part in the running rebalance under its new id (JG-24)."""
    _replace(group, member, request, answer, now)
    rebalance.complete_unless_delayed(group, now)


def replace_and_rebalance(
    group: GroupMetadata, member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """CompletingRebalance: start a rebalance, all members have to rejoin (JG-24)."""
    _replace(group, member, request, answer, now)
    rebalance.start(group, now, Reason.STATIC_RETURNED.of(f"static member {request.instance_id}", request.reason))


def replace_in_stable(
    group: GroupMetadata, member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """Stable: store the new member id, then answer with the current generation; no rebalance (JG-23).

    Only if the members would now choose another protocol a rebalance starts. If the write fails, the replacement is
    undone and the answer is the error (JG-25).
    """
    before = _replace(group, member, request, answer, now)
    if rebalance.choose_protocol(group) != group.protocol:
        rebalance.start(group, now, Reason.STATIC_RETURNED.of(f"static member {request.instance_id}", request.reason))
        return
    code = group.store(now)
    if code is ErrorCode.NONE:
        group.answer_join(member, _join_answer(group, member, request, before))
    else:
        group.answer_join(member, _undo(group, member, before, code, now))


def _replace(group: GroupMetadata, member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant) -> _Snapshot:
    """Give the member a new id and what the request says, and park the request (JG-22).

    What is parked under the old id is answered with FENCED_INSTANCE_ID. `pending_sync_members` keeps the old id, as in
    Kafka (see `rebalance.on_sync_timeout`). Returns what `_undo` needs.
    """
    before = _Snapshot(
        member.member_id, group.leader, member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms
    )
    fenced = ErrorCode.FENCED_INSTANCE_ID
    if member.parked_join is not None:
        group.answer_join(member, JoinAnswer(fenced, member.member_id))
    if member.parked_sync is not None:
        group.answer_sync(member, SyncAnswer(fenced))
    _rename(group, member, group.host.new_member_id(request.instance_id or ""))
    group.restart_session(member, now)  # before the update: the first session still has the old timeout, as in Kafka
    group.members.update_member(member, request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    group.members.park_join(member, answer)
    return before


def _rename(group: GroupMetadata, member: Member, member_id: str) -> None:
    if group.leader == member.member_id:
        group.leader = member_id
    group.members.rename(member, member_id)


def _join_answer(group: GroupMetadata, member: Member, request: JoinRequest, before: _Snapshot) -> JoinAnswer:
    """The answer after a replacement without rebalance: no member has to compute an assignment.

    A client that knows SkipAssignment (v9+, KIP-814) learns that it leads and may skip the assignment. Older ones get
    the leader's former member id, so that a leader does not recognise itself and does not assign.
    """
    leads = group.leader == member.member_id and request.may_skip_assignment
    answer = rebalance.current_generation(group, member, with_members=leads)
    if request.may_skip_assignment:
        return answer._replace(skip_assignment=leads)
    return answer._replace(leader=before.leader or "")


def _undo(group: GroupMetadata, member: Member, before: _Snapshot, code: ErrorCode, now: Instant) -> JoinAnswer:
    """Undo the replacement because writing the group failed with `code`; returns the answer to the request (JG-25)."""
    group.members.update_member(member, before.protocols, before.session_timeout_ms, before.rebalance_timeout_ms)
    _rename(group, member, before.member_id)
    group.restart_session(member, now)
    answer = rebalance.current_generation(group, member, with_members=False)
    return answer._replace(code=error_of_failed_write(code), member_id="", leader=before.leader or "")
