"""The course of a rebalance: how the join phase starts, waits and completes, and how the sync phase ends.

    start -> (initial delay | join timer | all here) -> complete_join_phase -> the leader's sync -> Stable

Every function takes the group it works on; the timers live on the group.
"""

from typing import TYPE_CHECKING

from fakebroker.core.groups.messages import JoinAnswer, JoinedMember, SyncAnswer
from fakebroker.core.groups.states import State, Trigger
from fakebroker.core.java_hash import hash_map_order, hash_trie_order
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.groups.classic_group import ClassicGroup
    from fakebroker.core.groups.members import Member

# -- the join phase ----------------------------------------------------------------------------------------------------


def start(group: "ClassicGroup", now: Instant, reason: str) -> None:
    """Start a rebalance of a group that is Empty, CompletingRebalance or Stable (ST-10, ST-11)."""
    if group.state is State.COMPLETING:
        cancel_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS, now)
    stop_waiting_for_syncs(group)
    from_empty = group.state is State.EMPTY
    group.transition(Trigger.REBALANCE_STARTED, now, reason)
    if from_empty:
        _start_initial_delay(group, now)
    else:
        complete_or_wait(group, now)


def _start_initial_delay(group: "ClassicGroup", now: Instant) -> None:
    """The first members wait for others (JG-30)."""
    delay_ms = group.host.settings.int("group.initial.rebalance.delay.ms")
    if delay_ms <= 0:
        complete_join_phase(group, now)
        return
    group.delay_ms = delay_ms
    group.delay_left_ms = max(group.roster.rebalance_timeout_ms - delay_ms, 0)
    group.arm(group.join_timer, now, delay_ms)


def on_join_timeout(group: "ClassicGroup", now: Instant) -> None:
    """The initial delay or the time to rejoin is over: extend the delay (JG-31) or complete without the missing."""
    if group.in_initial_delay and group.member_added and group.delay_left_ms:
        group.member_added = False
        next_delay_ms = min(group.host.settings.int("group.initial.rebalance.delay.ms"), group.delay_left_ms)
        group.delay_left_ms = max(group.delay_left_ms - group.delay_ms, 0)
        group.delay_ms = next_delay_ms
        group.arm(group.join_timer, now, next_delay_ms)
    else:
        complete_join_phase(group, now)


def complete_unless_delayed(group: "ClassicGroup", now: Instant) -> None:
    """Somebody joined or left during the join phase; the initial delay is not shortened by that (JG-30, LG-11)."""
    if not group.in_initial_delay:
        complete_or_wait(group, now)


def on_member_left(group: "ClassicGroup", now: Instant, _cause: str) -> None:
    """The rebalance may have waited for just that member or id."""
    complete_unless_delayed(group, now)


def on_pending_left(group: "ClassicGroup", now: Instant, reason: str) -> None:
    """Kafka starts a rebalance although no member left (LG-4)."""
    if group.host.behaviours.pending_leave_rebalances:
        start(group, now, reason)


def on_pending_timeout(group: "ClassicGroup", now: Instant, _cause: str) -> None:
    """Unlike one that leaves, an id that times out may end the initial delay (JG-37)."""
    if group.host.behaviours.pending_timeout_ends_initial_delay:
        complete_or_wait(group, now)
    else:
        complete_unless_delayed(group, now)


def ignore(_group: "ClassicGroup", _now: Instant, _cause: str) -> None:
    """Nobody waits for a pending id outside of the join phase."""


def complete_or_wait(group: "ClassicGroup", now: Instant) -> None:
    """Complete if nobody is missing (ST-9), else make sure that the join timer runs (TM-5)."""
    if group.all_joined:
        complete_join_phase(group, now)
    elif group.join_timer.due_ms is None:
        group.arm(group.join_timer, now, group.roster.rebalance_timeout_ms)


def complete_join_phase(group: "ClassicGroup", now: Instant) -> None:
    """Go on with those who are here: a new generation, or an Empty group if there is nobody (ST-5, ST-6)."""
    group.join_timer.disarm()
    _drop_dynamic_members_that_stayed_away(group)
    if not group.members:
        _become_empty(group, now)
    elif not _find_leader_among_joined(group):  # only static members, and none of them is back (JG-34)
        group.arm(group.join_timer, now, group.roster.rebalance_timeout_ms)
    else:
        _begin_generation(group, now)


def _drop_dynamic_members_that_stayed_away(group: "ClassicGroup") -> None:
    """JG-33: static members may stay; only their session or sync timer removes them."""
    if group.roster.joined_count == len(group.members):
        return
    for member in list(group.members.values()):
        if member.answer_join is None and member.instance_id is None:
            group.remove(member)


def _find_leader_among_joined(group: "ClassicGroup") -> bool:
    """A leader that has not rejoined is replaced by the longest-standing member that has (ST-12)."""
    assert group.leader is not None
    if group.members[group.leader].answer_join is not None:
        return True
    for member in group.members.values():
        if member.answer_join is not None:
            group.leader = member.member_id
            return True
    return False


def _become_empty(group: "ClassicGroup", now: Instant) -> None:
    group.generation += 1
    group.protocol = None
    group.update_subscribed_topics()
    group.transition(Trigger.NO_MEMBERS_LEFT, now, f"{group.state_reason}; nobody is there")
    group.store(now)


def _begin_generation(group: "ClassicGroup", now: Instant) -> None:
    """Answer everybody's JoinGroup and wait for their SyncGroup (JG-28, JG-35)."""
    group.generation += 1
    group.protocol = choose_protocol(group)
    group.update_subscribed_topics()
    group.transition(Trigger.ALL_MEMBERS_JOINED, now, "the join phase is over")
    group.pending_sync_members = dict.fromkeys(group.members)
    group.arm(group.sync_timer, now, group.roster.rebalance_timeout_ms)
    everybody = list(group.members.values())
    for member in everybody:
        member.is_new = False
        group.restart_session(member, now)
    for member in everybody:
        group.answer_join(member, current_generation(group, member))


def current_generation(group: "ClassicGroup", member: "Member", *, with_members: bool | None = None) -> JoinAnswer:
    """The successful answer to a JoinGroup of `member`; the leader also learns who the members are (JG-28)."""
    if with_members is None:
        with_members = member.member_id == group.leader
    return JoinAnswer(
        ErrorCode.NONE,
        member.member_id,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader or "",
        joined_members(group) if with_members else (),
    )


def joined_members(group: "ClassicGroup") -> list[JoinedMember]:
    """All members with their metadata for the chosen protocol, those that did not rejoin too."""
    return [
        JoinedMember(member.member_id, member.instance_id, member.metadata(group.protocol))
        for member in group.members.values()
    ]


def choose_protocol(group: "ClassicGroup") -> str:
    """Each member votes for what it likes best of what all support; ties go by the order of a hash map (JG-27)."""
    candidates = group.roster.candidates()
    votes: dict[str, int] = {}
    for member in group.members.values():
        name = member.vote(candidates)
        votes[name] = votes.get(name, 0) + 1
    order = hash_trie_order if group.host.behaviours.protocol_ties_in_scala_order else hash_map_order
    return max(order(votes), key=votes.__getitem__)


# -- the sync phase ----------------------------------------------------------------------------------------------------


def stop_waiting_for_syncs(group: "ClassicGroup") -> None:
    """Forget which members have not synced and disarm the sync timer: the sync phase is over."""
    group.pending_sync_members.clear()
    group.sync_timer.disarm()


def synced(group: "ClassicGroup", member: "Member") -> None:
    """A valid SyncGroup of `member` arrived (SG-9); after the last one the sync timer has nothing to do (TM-6)."""
    group.pending_sync_members.pop(member.member_id, None)
    if not group.pending_sync_members:
        group.sync_timer.disarm()


def on_sync_timeout(group: "ClassicGroup", now: Instant) -> None:
    """Remove the members that sent no SyncGroup in time, static ones too, and start a rebalance (TM-6).

    A static member that was replaced meanwhile is still listed under its old id, because replacing a member does not
    touch `pending_sync_members` (Kafka's replaceStaticMember does not either). No request can remove that id from the
    list, so the timer fires, removes nobody for it, and starts a rebalance all the same.
    """
    pending = list(group.pending_sync_members)
    for member_id in pending:
        if member_id in group.members:
            group.remove(group.members[member_id])
    start(group, now, f"{describe(pending)} sent no SyncGroup in time")


def cancel_assignment(group: "ClassicGroup", code: ErrorCode, now: Instant) -> None:
    """Nobody has an assignment any more; parked SyncGroups are answered with `code` (ST-8, ST-10)."""
    for member in group.members.values():
        member.assignment = b""
    answer_syncs(group, now, code)


def answer_syncs(group: "ClassicGroup", now: Instant, code: ErrorCode = ErrorCode.NONE) -> None:
    """Answer every parked SyncGroup; the sessions of those members begin anew (TM-1)."""
    for member in list(group.members.values()):
        if member.answer_sync is not None:
            group.restart_session(member, now)
            group.answer_sync(member, assigned(group, member) if code is ErrorCode.NONE else SyncAnswer(code))


def assigned(group: "ClassicGroup", member: "Member") -> SyncAnswer:
    """The successful answer to a SyncGroup (SG-8)."""
    return SyncAnswer(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment)


def storing_failed(code: ErrorCode) -> ErrorCode:
    """What members are told when appending the group's record failed with `code` (ST-8)."""
    return _STORING_FAILED.get(code, code)


_STORING_FAILED = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def describe(member_ids: "list[str]") -> str:
    """Members for the reason of a transition."""
    if len(member_ids) == 1:
        return f"member {member_ids[0]}"
    return f"members {', '.join(member_ids[:3])}{' and others' if len(member_ids) > 3 else ''}"
