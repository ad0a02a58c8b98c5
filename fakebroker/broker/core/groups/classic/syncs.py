"""What a group does with a SyncGroup that passed the common checks, and with heartbeats, state by state (SG, HB)."""

from collections.abc import Mapping

from fakebroker.broker.core.groups.classic import rebalance
from fakebroker.broker.core.groups.classic.group_metadata import GroupMetadata
from fakebroker.broker.core.groups.classic.holds import Phase
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.groups.classic.messages import AnswerSync, SyncAnswer, SyncRequest
from fakebroker.broker.core.groups.classic.reasons import Reason
from fakebroker.broker.core.groups.classic.states import Trigger
from fakebroker.broker.core.groups.host import error_of_failed_write
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

_NONE = ErrorCode.NONE  # each heartbeat asks for it: read from the class it costs as much as a call


def reject_sync(
    _group: GroupMetadata, _member: Member, _request: SyncRequest, answer: AnswerSync, _now: Instant
) -> None:
    """PreparingRebalance: the member has to rejoin first, so answer REBALANCE_IN_PROGRESS (SG-5)."""
    answer(SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))


def park_sync(group: GroupMetadata, member: Member, request: SyncRequest, answer: AnswerSync, now: Instant) -> None:
    """CompletingRebalance: park until the leader's assignment is stored; the leader's own request brings it (SG-6).

    An earlier SyncGroup of the member is replaced and never answered (SG-11). While a test holds the sync phase the
    leader's is parked like the others.
    """
    member.parked_sync = answer
    rebalance.remove_pending_sync_member(group, member)
    leaders = request if member.member_id == group.leader else group.held_assignment
    if leaders is not None:
        _store_unless_held(group, leaders, now)


def on_sync_hold_released(group: GroupMetadata, now: Instant, _cause: str) -> None:
    """CompletingRebalance: a test released its hold; the leader's assignment is stored if it is here."""
    if group.held_assignment is not None:
        _store_unless_held(group, group.held_assignment, now)


def _store_unless_held(group: GroupMetadata, request: SyncRequest, now: Instant) -> None:
    if group.is_held(Phase.SYNC):
        group.held_assignment = request
    else:
        group.held_assignment = None
        _store_assignments(group, request, now)


def _store_assignments(group: GroupMetadata, request: SyncRequest, now: Instant) -> None:
    """Write the group with the leader's assignments, then become Stable; if that fails, rebalance again (ST-8)."""
    sent = dict(request.assignments)  # of two entries for a member the last one counts
    assignments = {member_id: sent.get(member_id, b"") for member_id in group.members}
    code = group.store(now, assignments)
    if code is ErrorCode.NONE:
        _become_stable(group, assignments, now)
    else:
        rebalance.cancel_assignment(group, error_of_failed_write(code), now)
        rebalance.start(group, now, Reason.NOT_STORED.of(code.name))


def _become_stable(group: GroupMetadata, assignments: Mapping[str, bytes], now: Instant) -> None:
    for member_id, member in group.members.items():
        member.assignment = assignments.get(member_id, b"")
    hold = group.take_hold(Phase.SYNC)
    held = "" if hold is None else ", which a test had held"
    group.transition(Trigger.ASSIGNMENT_STORED, now, f"the leader's assignment was stored{held}")
    rebalance.answer_syncs(group, now, hold=hold)


def answer_sync(group: GroupMetadata, member: Member, _request: SyncRequest, answer: AnswerSync, now: Instant) -> None:
    """Stable: answer with the member's assignment again; assignments in the request are ignored (SG-7)."""
    rebalance.remove_pending_sync_member(group, member)
    if group.host.behaviours.sync_in_stable_restarts_session:
        group.restart_session(member, now)
    answer(rebalance.assigned(group, member))


def heartbeat_completing(group: GroupMetadata, member: Member, now: Instant) -> ErrorCode:
    """CompletingRebalance: as in Stable, but in 2.1.1 it restarts nothing and the member has to rejoin (HB-6)."""
    if group.host.behaviours.heartbeat_in_completing_rejoins:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return heartbeat(group, member, now)


def heartbeat(group: GroupMetadata, member: Member, now: Instant) -> ErrorCode:
    """Stable: restart the member's session timer; the answer is NONE (HB-6).

    The body of `GroupMetadata.restart_session` without the call: nothing runs more often.
    """
    group.mono.arm(member.session, now.mono_ms + member.session_timeout_ms)
    return _NONE


def heartbeat_rejoin(group: GroupMetadata, member: Member, now: Instant) -> ErrorCode:
    """PreparingRebalance: restart the session timer; the answer makes the member rejoin (HB-5)."""
    group.restart_session(member, now)
    return ErrorCode.REBALANCE_IN_PROGRESS
