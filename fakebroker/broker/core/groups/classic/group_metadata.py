"""The data of a classic group, and the steps that change it: members, timers, state, the stored record.

What the group does with a request is in `classic_group.py` (checks) and `table.py` (by state). The modules `joins`,
`static_rejoin`, `syncs` and `rebalance` work on the class here and know nothing of those two, so imports go one way:

    group_metadata <- rebalance <- joins, static_rejoin, syncs <- table <- classic_group

Kafka: `GroupMetadata`, later `ClassicGroup`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.events import Transition
from fakebroker.broker.core.groups.classic.holds import GroupHolds, Hold, Phase, waiting_members
from fakebroker.broker.core.groups.classic.members import Member, Members
from fakebroker.broker.core.groups.classic.messages import JoinAnswer, SyncAnswer, SyncRequest
from fakebroker.broker.core.groups.classic.pending_join_members import PendingJoinMembers
from fakebroker.broker.core.groups.classic.reasons import Reason
from fakebroker.broker.core.groups.classic.states import TRANSITIONS, GroupInput, State, Trigger
from fakebroker.broker.core.groups.group import Group
from fakebroker.broker.core.groups.host import GroupHost, may_be_stored
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.consumer_protocol import subscribed_topics
from fakebroker.protocol.records.offsets_topic import GroupValue, MemberValue

PROTOCOL_TYPE_CONSUMER = "consumer"


class GroupMetadata(Group):
    """One group. `subscribed_topics` None means unknown (EX-7).

    Timers and pending members are made when they are first needed: simple groups, of which there may be many, never
    need them.
    """

    kind = GroupKind.CLASSIC
    state: State
    subscribed_topics: frozenset[str] | None = None

    # What a test holds (`holds.py`); in the class, because nearly every group has none.
    holds: GroupHolds | None = None
    is_join_phase_overdue = False  # without the hold it would have ended
    held_assignment: SyncRequest | None = None  # the leader's, which the hold keeps from being stored

    def __init__(self, group_id: str, host: GroupHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.mono = host.timers.mono
        self.members = Members()
        self._pending_join_members: PendingJoinMembers | None = None
        self.pending_sync_members: dict[str, None] = {}  # have not sent SyncGroup in this generation; a dict for order
        self._join_timer: Deadline | None = None
        self._sync_timer: Deadline | None = None
        # The initial delay (KIP-134) runs on the join timer, in parts: each time a member joined meanwhile another part
        # of at most group.initial.rebalance.delay.ms is added, until the longest rebalance timeout is used up.
        self.in_initial_delay = False  # the group was Empty before this rebalance (JG-30)
        self.initial_delay_ms = 0  # length of the running part (JG-31)
        self.initial_delay_left_ms = 0  # what may still be added
        self.new_member_added = False  # since the running part began (JG-32)
        if host.holds:
            self.holds = host.holds.get(group_id)
        self._set_state(State.EMPTY)

    def __repr__(self) -> str:
        return f"<group {self.group_id!r} {self.state} generation {self.generation}, {len(self.members)} members>"

    def handler_of(self, group_input: GroupInput) -> Any:
        """The function that deals with an input in the present state; ClassicGroup looks it up in the table."""
        raise NotImplementedError

    # -- state ---------------------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether the group is in the state Empty: no members, no rebalance."""
        return self.state is State.EMPTY

    @property
    def is_dead(self) -> bool:
        """Whether the state is Dead."""
        return self.state is State.DEAD

    @property
    def epoch(self) -> int:
        """The generation."""
        return self.generation

    def member_ids(self) -> Iterable[str]:
        """The ids of its members, in the order in which they were added."""
        return self.members

    def transition(self, trigger: Trigger, now: Instant, reason: str) -> None:
        """Change the state; every change goes through here (ST-4). `reason` is one English clause for the journal."""
        before = self.state
        self._set_state(TRANSITIONS[before, trigger])
        self.in_initial_delay = trigger is Trigger.REBALANCE_STARTED and before is State.EMPTY
        self.state_ms = now.wall_ms
        self.state_reason = reason
        self.host.emit(Transition(self.group_id, self.kind, before, self.state, self.generation, reason))

    def _set_state(self, state: State) -> None:
        self.state = state

    def update_subscribed_topics(self) -> None:
        """Work out what the members of the new generation subscribe to (EX-7).

        From their metadata for the chosen protocol; unknown if one cannot be read, if it is more than a group can store
        (MOCK), or if the group is no consumer group.
        """
        self.subscribed_topics = None
        if self.protocol_type == PROTOCOL_TYPE_CONSUMER:
            metadata = [member.metadata(self.protocol) for member in self.members.values()]
            if may_be_stored(self.host, sum(map(len, metadata))):
                self.subscribed_topics = subscribed_topics(metadata)

    # -- members -------------------------------------------------------------------------------------------------------

    @property
    def pending_join_members(self) -> PendingJoinMembers:
        """The member ids that were handed out and have not joined."""
        if self._pending_join_members is None:
            self._pending_join_members = PendingJoinMembers(self.mono, self._on_pending_member_timeout)
        return self._pending_join_members

    @property
    def all_joined(self) -> bool:
        """Whether every member's JoinGroup is parked and no member id is pending (ST-9, JG-17)."""
        return self.members.awaiting_join_count == len(self.members) and not self.pending_join_members

    def remove(self, member: Member) -> None:
        """Take a member out; its parked requests are answered with UNKNOWN_MEMBER_ID (TM-3, LG-6).

        What its leaving means for the group is up to the caller. If it was the leader, the member that was added first
        leads (ST-12).
        """
        if member.parked_join is not None:
            self.answer_join(member, JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, ""))
        if member.parked_sync is not None:
            self.answer_sync(member, SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID))
        member.session.end()
        self.members.remove(member)
        self.pending_sync_members.pop(member.member_id, None)
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), None)

    def answer_join(self, member: Member, answer: JoinAnswer) -> None:
        """Answer the member's parked JoinGroup, if there is one."""
        parked = member.parked_join
        if parked is not None:
            self.members.park_join(member, None)
            parked(answer)

    def answer_sync(self, member: Member, answer: SyncAnswer) -> None:
        """Answer the member's parked SyncGroup, if there is one."""
        parked = member.parked_sync
        if parked is not None:
            member.parked_sync = None
            parked(answer)

    # -- timers --------------------------------------------------------------------------------------------------------

    @property
    def join_timer(self) -> Deadline:
        """The end of the initial delay, or of the time members have to rejoin (TM-5)."""
        if self._join_timer is None:
            self._join_timer = Deadline(lambda now: self.handler_of(GroupInput.JOIN_TIMER)(self, now), self)
        return self._join_timer

    @property
    def sync_timer(self) -> Deadline:
        """The end of the time members have to send SyncGroup (TM-6)."""
        if self._sync_timer is None:
            self._sync_timer = Deadline(lambda now: self.handler_of(GroupInput.SYNC_TIMER)(self, now), self)
        return self._sync_timer

    def arm(self, deadline: Deadline, now: Instant, after_ms: int) -> None:
        """Let a timer of the group or of a member run out `after_ms` from now."""
        self.mono.arm(deadline, now.mono_ms + after_ms)

    def restart_session(self, member: Member, now: Instant) -> None:
        """Restart the member's session timer (TM-1)."""
        self.mono.arm(member.session, now.mono_ms + member.session_timeout_ms)

    def on_session_timeout(self, member: Member, now: Instant) -> None:
        """Remove the member, unless one of its requests is parked (TM-2); a new member is removed even so (TM-3).

        A parked request means that the client waits for this broker and cannot send heartbeats, so it counts as alive.
        A new member gets `joins.NEW_MEMBER_TIMEOUT_MS` for its first join phase, which no parked request prolongs.
        """
        if not member.is_new and (member.parked_join is not None or member.parked_sync is not None):
            return
        reason = Reason.NOT_JOINED_AGAIN if member.is_new else Reason.SESSION_EXPIRED
        self.remove(member)
        self.handler_of(GroupInput.MEMBER_LEFT)(self, now, reason.of(f"member {member.member_id}"))

    def _on_pending_member_timeout(self, member_id: str, now: Instant) -> None:
        self.handler_of(GroupInput.PENDING_MEMBER_TIMED_OUT)(self, now, f"{member_id} never joined")

    def timer_owners(self) -> Iterable[object]:
        """The group, and its members, whose sessions are theirs."""
        return (self, *self.members.values())

    def end_timers(self) -> None:
        """Disarm every timer of the group and its members for good, and let go of what they refer to."""
        if self._pending_join_members is not None:
            self._pending_join_members.clear()
            self._pending_join_members = None
        for timer in (self._join_timer, self._sync_timer):
            if timer is not None:
                timer.end()
        for member in self.members.values():
            member.session.end()

    # -- holds ---------------------------------------------------------------------------------------------------------

    def is_held(self, phase: Phase) -> bool:
        """Whether a test holds the phase now. The join phase of a group that all members have left is not held."""
        hold = None if self.holds is None else self.holds.get(phase)
        return (
            hold is not None and bool(self.members) and not hold.is_over(waiting_members(self.members.values(), phase))
        )

    def take_hold(self, phase: Phase) -> Hold | None:
        """The phase ends, and its hold with it: returns what was chosen for that, None without a hold."""
        return None if self.holds is None else self.holds.pop(phase, None)

    # -- storage -------------------------------------------------------------------------------------------------------

    def store(self, now: Instant, assignments: Mapping[str, bytes] | None = None) -> ErrorCode:
        """Write the group's record (CR-12), as `to_value` makes it. Returns the append's error or NONE."""
        return self.host.write_group(self.group_id, self.to_value(assignments), now)

    def to_value(self, assignments: Mapping[str, bytes] | None = None) -> GroupValue:
        """The group as it is stored (CR-7, CR-15).

        `assignments`, by member id, are stored in place of those in force; None: those in force.
        """
        return GroupValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            state_ms=self.state_ms,
            members=tuple(
                MemberValue(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout_ms=member.rebalance_timeout_ms,
                    session_timeout_ms=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol),
                    assignment=member.assignment if assignments is None else assignments[member.member_id],
                )
                for member in self.members.values()
            ),
        )

    def restore_member(self, stored: MemberValue, now: Instant) -> None:
        """Add a member from the group's record; its session begins now. It knows only the chosen protocol (CR-9)."""
        member = Member(
            stored.member_id,
            instance_id=stored.group_instance_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            session_timeout_ms=stored.session_timeout_ms,
            rebalance_timeout_ms=stored.rebalance_timeout_ms,
            protocols=((self.protocol or "", stored.subscription),),
            on_timeout=self.on_session_timeout,
        )
        member.is_new = False
        member.assignment = stored.assignment
        self.members.add(member)
        self.restart_session(member, now)
