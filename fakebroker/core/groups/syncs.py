"""What a group does with a SyncGroup that passed the common checks, and with its heartbeats (SG, HB)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fakebroker.core.groups import rebalance
from fakebroker.core.groups.members import Member
from fakebroker.core.groups.messages import AnswerSync, SyncAnswer, SyncRequest
from fakebroker.core.groups.states import State, Trigger
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.groups.classic_group import ClassicGroup


def reject_sync(
    _group: "ClassicGroup", _member: Member, _request: SyncRequest, answer: AnswerSync, _now: Instant
) -> None:
    """The member has to rejoin first."""
    answer(SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))


def park_sync(group: "ClassicGroup", member: Member, request: SyncRequest, answer: AnswerSync, now: Instant) -> None:
    """Everybody waits for the leader's assignment; an earlier SyncGroup of the member is replaced (SG-6, SG-11)."""
    member.answer_sync = answer
    rebalance.synced(group, member)
    if member.member_id == group.leader:
        _store_assignments(group, request, now)


def _store_assignments(group: "ClassicGroup", request: SyncRequest, now: Instant) -> None:
    sent = dict(request.assignments)  # of two entries for a member the last one counts
    assignments = {member_id: sent.get(member_id, b"") for member_id in group.members}
    generation = group.generation

    def stored(code: ErrorCode, now: Instant) -> None:
        if group.state is not State.COMPLETING or group.generation != generation:
            return  # a rebalance started while the append was under way (ST-7)
        if code is ErrorCode.NONE:
            _become_stable(group, assignments, now)
        else:  # ST-8
            rebalance.cancel_assignment(group, rebalance.storing_failed(code), now)
            rebalance.start(group, now, f"storing the assignment failed with {code.name}")

    group.host.write_group(group, group.to_value(assignments), now, stored)


def _become_stable(group: "ClassicGroup", assignments: Mapping[str, bytes], now: Instant) -> None:
    for member_id, member in group.members.items():
        member.assignment = assignments.get(member_id, b"")
    group.transition(Trigger.ASSIGNMENT_STORED, now, "the leader's assignment is stored")
    rebalance.answer_syncs(group, now)


def answer_sync(group: "ClassicGroup", member: Member, _request: SyncRequest, answer: AnswerSync, now: Instant) -> None:
    """Stable: the member gets its assignment again; what it or even the leader sends is ignored (SG-7)."""
    rebalance.synced(group, member)
    if group.host.behaviours.sync_in_stable_restarts_session:
        group.restart_session(member, now)
    answer(rebalance.assigned(group, member))


def heartbeat(group: "ClassicGroup", member: Member, now: Instant) -> ErrorCode:
    """HB-6."""
    group.mono.arm(member.session, now.mono_ms + member.session_timeout_ms)
    return ErrorCode.NONE


def heartbeat_rejoin(group: "ClassicGroup", member: Member, now: Instant) -> ErrorCode:
    """HB-5: alive, and has to rejoin."""
    group.restart_session(member, now)
    return ErrorCode.REBALANCE_IN_PROGRESS
