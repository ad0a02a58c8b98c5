"""The course of a rebalance: how the join phase starts, waits and completes, and how the sync phase ends.

    start -> (initial delay | join timer | all joined) -> complete_join_phase -> the leader's SyncGroup -> Stable

Every function takes the group it works on; the timers live on the group. Kafka: prepareRebalance,
DelayedJoin/InitialDelayedJoin, completeClassicGroupJoin, DelayedSync in `GroupMetadataManager` (`GroupCoordinator`).
"""

from fakebroker.broker.core.groups.classic.group_metadata import GroupMetadata
from fakebroker.broker.core.groups.classic.holds import Hold, Phase, find_member, waiting_members
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.groups.classic.messages import JoinAnswer, JoinedMember, SyncAnswer
from fakebroker.broker.core.groups.classic.reasons import Reason, RebalanceReason, describe
from fakebroker.broker.core.groups.classic.states import State, Trigger
from fakebroker.broker.core.java_hash import hash_map_order, hash_trie_order
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

# -- the join phase ----------------------------------------------------------------------------------------------------


def start(group: GroupMetadata, now: Instant, reason: RebalanceReason) -> None:
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


def _start_initial_delay(group: GroupMetadata, now: Instant) -> None:
    """Let the first members of an Empty group wait for others (KIP-134, JG-30)."""
    delay_ms = group.host.settings.get_int("group.initial.rebalance.delay.ms")
    if delay_ms <= 0:
        complete_join_phase(group, now)
        return
    group.initial_delay_ms = delay_ms
    group.initial_delay_left_ms = max(group.members.rebalance_timeout_ms - delay_ms, 0)
    group.arm(group.join_timer, now, delay_ms)


def on_join_timeout(group: GroupMetadata, now: Instant) -> None:
    """The join timer fired: add a part to the initial delay (JG-31), or complete without the missing members."""
    if group.in_initial_delay and group.new_member_added and group.initial_delay_left_ms:
        group.new_member_added = False
        next_delay_ms = min(
            group.host.settings.get_int("group.initial.rebalance.delay.ms"), group.initial_delay_left_ms
        )
        group.initial_delay_left_ms = max(group.initial_delay_left_ms - group.initial_delay_ms, 0)
        group.initial_delay_ms = next_delay_ms
        group.arm(group.join_timer, now, next_delay_ms)
    else:
        complete_join_phase(group, now)


def complete_unless_delayed(group: GroupMetadata, now: Instant) -> None:
    """Complete if all have joined, but not during the initial delay, which nothing shortens (JG-30, LG-11)."""
    if not group.in_initial_delay:
        complete_or_wait(group, now)


def on_member_left(group: GroupMetadata, now: Instant, _cause: str) -> None:
    """PreparingRebalance: the rebalance may have waited for just that member or pending member id."""
    complete_unless_delayed(group, now)


def on_pending_left(group: GroupMetadata, now: Instant, reason: RebalanceReason) -> None:
    """CompletingRebalance, Stable: since 4.0 start a rebalance, although no member left (LG-4)."""
    if group.host.behaviours.pending_leave_rebalances:
        start(group, now, reason)


def on_pending_timeout(group: GroupMetadata, now: Instant, _cause: str) -> None:
    """PreparingRebalance: unlike one that leaves, a pending id that times out may end the initial delay (JG-37)."""
    if group.host.behaviours.pending_timeout_ends_initial_delay:
        complete_or_wait(group, now)
    else:
        complete_unless_delayed(group, now)


def ignore(_group: GroupMetadata, _now: Instant, _cause: str) -> None:
    """Do nothing: outside of the join phase nothing waits for a pending member id."""


def complete_or_wait(group: GroupMetadata, now: Instant) -> None:
    """Complete if all have joined (ST-9), else make sure that the join timer runs (TM-5)."""
    if group.all_joined or group.is_join_phase_overdue:
        complete_join_phase(group, now)
    elif group.join_timer.due_ms is None:
        group.arm(group.join_timer, now, group.members.rebalance_timeout_ms)


def complete_join_phase(group: GroupMetadata, now: Instant) -> None:
    """End the join phase with the members that have joined: a new generation, or an Empty group (ST-5, ST-6).

    Static members need not have joined (JG-33). If none of the members has, there is no member that could lead the new
    generation: the join timer runs once more, until one joins or the session timers have removed all (JG-34).

    While a test holds the join phase it goes on, without a timer: every JoinGroup comes here again.
    """
    group.join_timer.disarm()
    if group.is_held(Phase.JOIN):
        group.in_initial_delay, group.is_join_phase_overdue = False, True
        return
    group.is_join_phase_overdue = False
    _remove_absent_dynamic_members(group)
    if not group.members:
        _become_empty(group, now)
    elif not _elect_leader(group):
        group.arm(group.join_timer, now, group.members.rebalance_timeout_ms)
    else:
        _begin_generation(group, now, group.take_hold(Phase.JOIN))


def on_join_hold_released(group: GroupMetadata, now: Instant, _cause: str) -> None:
    """PreparingRebalance: a test released its hold, so end the join phase if it would have ended by now."""
    complete_unless_delayed(group, now)


def _remove_absent_dynamic_members(group: GroupMetadata) -> None:
    """Remove the dynamic members that have not joined; a static one is removed only by a timer (JG-33)."""
    if group.members.awaiting_join_count == len(group.members):
        return
    for member in list(group.members.values()):
        if member.parked_join is None and member.instance_id is None:
            group.remove(member)


def _elect_leader(group: GroupMetadata) -> bool:
    """Make sure that the leader has joined; else the first member that has leads (ST-12). False if none has joined.

    Kafka: `ClassicGroup.maybeElectNewJoinedLeader`.
    """
    assert group.leader is not None
    if group.members[group.leader].parked_join is not None:
        return True
    for member in group.members.values():
        if member.parked_join is not None:
            group.leader = member.member_id
            return True
    return False


def _become_empty(group: GroupMetadata, now: Instant) -> None:
    """A hold that was not released stays for the members that come next."""
    if group.holds is not None and (hold := group.holds.get(Phase.JOIN)) is not None and hold.is_released:
        group.take_hold(Phase.JOIN)
    group.generation += 1
    group.protocol = None
    group.update_subscribed_topics()
    group.transition(Trigger.NO_MEMBERS_LEFT, now, f"{group.state_reason}; no members are left")
    group.store(now)


def _begin_generation(group: GroupMetadata, now: Instant, hold: Hold | None) -> None:
    """Answer the JoinGroup of all members and wait for their SyncGroup (JG-28, JG-35).

    `hold` is that of a test, which may have chosen the leader and the order of the answers; None without one. All
    sessions restart before the first answer: an answer may run the client's next request (in-process clients).
    """
    group.generation += 1
    group.protocol = choose_protocol(group)
    group.update_subscribed_topics()
    held = "" if hold is None else ", which a test had held"
    group.transition(Trigger.ALL_MEMBERS_JOINED, now, f"the join phase ended{held}")
    group.pending_sync_members = dict.fromkeys(group.members)
    group.arm(group.sync_timer, now, group.members.rebalance_timeout_ms)
    everybody = list(group.members.values())
    if hold is not None:
        _choose_leader(group, hold)
        everybody = hold.in_order(everybody)
    for member in everybody:
        member.is_new = False
        group.restart_session(member, now)
    for member in everybody:
        group.answer_join(member, current_generation(group, member))


def _choose_leader(group: GroupMetadata, hold: Hold) -> None:
    """The leader that a test chose leads; if it has not joined, or left meanwhile, the choice is Kafka's."""
    chosen = find_member(waiting_members(group.members.values(), Phase.JOIN), hold.leader) if hold.leader else None
    if chosen is not None:
        group.leader = chosen.member_id


def current_generation(group: GroupMetadata, member: Member, *, with_members: bool | None = None) -> JoinAnswer:
    """The successful answer to a JoinGroup of `member` (JG-28).

    `with_members`: list the members and their metadata, so that the client computes the assignment; None: if it leads.
    """
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


def joined_members(group: GroupMetadata) -> list[JoinedMember]:
    """All members with their metadata for the chosen protocol, also static ones that did not rejoin."""
    return [
        JoinedMember(member.member_id, member.instance_id, member.metadata(group.protocol))
        for member in group.members.values()
    ]


def choose_protocol(group: GroupMetadata) -> str:
    """The protocol with the most votes (JG-27). Each member votes for its first protocol that all members support.

    On a tie Kafka takes the first in the iteration order of its map of votes: Java's HashMap, up to 3.9.1 Scala's trie.
    """
    candidates = group.members.candidates()
    votes: dict[str, int] = {}
    for member in group.members.values():
        name = member.vote(candidates)
        votes[name] = votes.get(name, 0) + 1
    order = hash_trie_order if group.host.behaviours.protocol_ties_in_scala_order else hash_map_order
    return max(order(votes), key=votes.__getitem__)


# -- the sync phase ----------------------------------------------------------------------------------------------------


def stop_waiting_for_syncs(group: GroupMetadata) -> None:
    """Forget which members have not synced and disarm the sync timer: the sync phase is over."""
    group.held_assignment = None
    group.pending_sync_members.clear()
    group.sync_timer.disarm()


def remove_pending_sync_member(group: GroupMetadata, member: Member) -> None:
    """A valid SyncGroup of `member` arrived (SG-9); after the last one the sync timer is disarmed (TM-6)."""
    group.pending_sync_members.pop(member.member_id, None)
    if not group.pending_sync_members:
        group.sync_timer.disarm()


def on_sync_timeout(group: GroupMetadata, now: Instant) -> None:
    """Remove the members that sent no SyncGroup in time, static ones too, and start a rebalance (TM-6).

    A static member that was replaced meanwhile is still listed under its old id, because replacing a member does not
    touch `pending_sync_members` (Kafka's replaceStaticMember does not either). No request can remove that id from the
    list, so the timer fires, removes no member for it, and starts a rebalance all the same.
    """
    pending = list(group.pending_sync_members)
    for member_id in pending:
        if member_id in group.members:
            group.remove(group.members[member_id])
    start(group, now, Reason.NO_SYNC.of(describe(pending)))


def cancel_assignment(group: GroupMetadata, code: ErrorCode, now: Instant) -> None:
    """Clear all assignments and answer parked SyncGroups with `code` (ST-8, ST-10)."""
    for member in group.members.values():
        member.assignment = b""
    answer_syncs(group, now, code)


def answer_syncs(
    group: GroupMetadata, now: Instant, code: ErrorCode = ErrorCode.NONE, hold: Hold | None = None
) -> None:
    """Answer every parked SyncGroup, with the assignment or with `code`; those members' sessions restart (TM-1).

    `hold` is that of a test, which may have chosen the order; None without one.
    """
    members = list(group.members.values())
    for member in members if hold is None else hold.in_order(members):
        if member.parked_sync is not None:
            group.restart_session(member, now)
            group.answer_sync(member, assigned(group, member) if code is ErrorCode.NONE else SyncAnswer(code))


def assigned(group: GroupMetadata, member: Member) -> SyncAnswer:
    """The successful answer to a SyncGroup (SG-8)."""
    return SyncAnswer(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment)
