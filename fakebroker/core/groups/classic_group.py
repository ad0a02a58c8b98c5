"""A group of the classic protocol: what it knows, the checks common to all states, and its timers.

What it does with a request or a timer in which state stands in `table.py`; the course of a rebalance in
`rebalance`. It knows no wire versions: handlers derive flags from them. Error codes 14 and 16 are not its business.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fakebroker.core.deadlines import Deadline
from fakebroker.core.events import Transition
from fakebroker.core.groups import rebalance
from fakebroker.core.groups.host import GroupHost
from fakebroker.core.groups.members import Member, Roster
from fakebroker.core.groups.messages import (
    AnswerJoin,
    AnswerSync,
    JoinAnswer,
    JoinRequest,
    Leaver,
    SyncAnswer,
    SyncRequest,
)
from fakebroker.core.groups.pending_join_members import PendingJoinMembers
from fakebroker.core.groups.states import TRANSITIONS, GroupInput, State, Trigger
from fakebroker.core.groups.table import HANDLERS
from fakebroker.core.offsets.group_offsets import GroupOffsets
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant
from fakebroker.records.consumer_protocol import subscribed_topics
from fakebroker.records.offsets_topic import GroupValue, MemberValue

PROTOCOL_TYPE_CONSUMER = "consumer"


class ClassicGroup:
    """One group. `members` is ordered by joining; `subscribed_topics` None means unknown (EX-7).

    Most of a group is made when its first member comes: simple groups, of which there may be many, never have one.
    """

    def __init__(self, group_id: str, host: GroupHost, now: Instant) -> None:
        self.group_id = group_id
        self.host = host
        self.offsets = GroupOffsets()
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.subscribed_topics: frozenset[str] | None = None
        self.state_ms = now.wall_ms  # when it entered its state; -1 unknown (ST-4)
        self.state_reason = ""  # why it entered its state, one English clause
        self.mono = host.timers.mono
        self.members: dict[str, Member] = {}
        self.static: dict[str, str] = {}  # instance id -> member id
        self._roster: Roster | None = None
        self._pending_join_members: PendingJoinMembers | None = None
        self.pending_sync_members: dict[str, None] = {}  # members that have not sent SyncGroup in this generation
        self._join_timer: Deadline | None = None
        self._sync_timer: Deadline | None = None
        self.in_initial_delay = False  # the group was Empty before this rebalance (JG-30)
        self.delay_ms = 0  # length of the running part of the initial delay, and what may still be added to it (JG-31)
        self.delay_left_ms = 0
        self.member_added = False  # since that part began (JG-32)
        self._set_state(State.EMPTY)

    def __repr__(self) -> str:
        return f"<group {self.group_id!r} {self.state} generation {self.generation}, {len(self.members)} members>"

    # -- requests ------------------------------------------------------------------------------------------------------

    def join(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
        """JoinGroup: `answer` is called once, now or later, or never if a later request of the member replaces it."""
        if not self._has_room_for(request.member_id):
            self._reject_group_full(request.member_id, answer, now)
        elif code := self._refusal_to_join(request):
            answer(JoinAnswer(code, request.member_id))
        elif request.member_id:
            self._join_with_id(request, answer, now)
        else:
            self._join_without_id(request, answer, now)

    def sync(self, request: SyncRequest, answer: AnswerSync, now: Instant) -> None:
        """SyncGroup: answered now or later, like `join`."""
        code = self._refusal_to_sync(request)
        if code:
            answer(SyncAnswer(code))
        else:
            self._handle(GroupInput.SYNC)(self, self.members[request.member_id], request, answer, now)

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: Instant) -> ErrorCode:
        """Heartbeat (HB-2..HB-6): the code of the answer."""
        member = self.members.get(member_id)
        if member is None or instance_id is not None or generation != self.generation:
            code = self.refusal(member_id, instance_id, generation)
            if code or member is None:
                return code
        return self._on_heartbeat(self, member, now)

    def leave(self, leavers: Sequence[Leaver], now: Instant) -> list[ErrorCode]:
        """LeaveGroup: a code for each entry, judged one after the other (LG-3..LG-8)."""
        if self.host.behaviours.leave_batch_acts_once:
            return self._leave(leavers, now)
        return [self._leave([leaver], now)[0] for leaver in leavers]

    def touch(self, member_id: str, now: Instant) -> None:
        """The member gave a sign of life other than a heartbeat: an accepted OffsetCommit (TM-1)."""
        self.restart_session(self.members[member_id], now)

    # -- checks common to all states -----------------------------------------------------------------------------------

    def refusal(self, member_id: str, instance_id: str | None, generation: int | None = None) -> ErrorCode:
        """Why a request that names a member is refused (JG-20, HB-4), or NONE; `generation` None is not checked."""
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if instance_id is not None:
            registered = self.static.get(instance_id)
            if registered is not None and registered != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if registered is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation is not None and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return ErrorCode.NONE

    def _refusal_to_join(self, request: JoinRequest) -> ErrorCode:
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not self._supports(request):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _has_room_for(self, member_id: str) -> bool:
        """JG-7: during the join phase the parked count, so that the last to rejoin an over-full group are kept out."""
        if self.state in (State.EMPTY, State.DEAD):
            return True
        max_size = self.host.settings.int("group.max.size")
        member = self.members.get(member_id)
        if self.state is State.PREPARING:
            return (member is not None and member.answer_join is not None) or self.roster.joined_count < max_size
        return member is not None or len(self.members) < max_size

    def _reject_group_full(self, member_id: str, answer: AnswerJoin, now: Instant) -> None:
        """JG-8. Kafka 4.3.1 does not look whether the rebalance waited for just that member."""
        self.pending_join_members.discard(member_id)
        if member_id in self.members:
            self.remove(self.members[member_id])
        answer(JoinAnswer(ErrorCode.GROUP_MAX_SIZE_REACHED, ""))
        if self.state is State.PREPARING and self.host.behaviours.refused_join_may_complete:
            rebalance.complete_unless_delayed(self, now)

    def _supports(self, request: JoinRequest) -> bool:
        """JG-11, JG-12."""
        if self.state is State.EMPTY:
            return bool(request.protocol_type and request.protocols)
        return request.protocol_type == self.protocol_type and self.roster.shares(request.protocols)

    def _refusal_to_sync(self, request: SyncRequest) -> ErrorCode:
        """SG-4. Each of the two names may be missing on one side, and then is not compared."""
        code = self.refusal(request.member_id, request.instance_id, request.generation)
        if code:
            return code
        sent = (request.protocol_type, request.protocol)
        known = (self.protocol_type, self.protocol)
        lenient = self.host.behaviours.sync_matches_unchosen_protocol
        for theirs, ours in zip(sent, known, strict=True):
            if theirs is not None and theirs != ours and not (ours is None and lenient):
                return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    # -- members come and go -------------------------------------------------------------------------------------------

    def _join_without_id(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
        if request.instance_id is None:
            event = GroupInput.JOIN_NEEDS_MEMBER_ID if request.needs_member_id else GroupInput.JOIN_NEW
            self._handle(event)(self, request, answer, now)
        elif request.instance_id in self.static:
            member = self.members[self.static[request.instance_id]]
            self._handle(GroupInput.STATIC_REJOIN)(self, member, request, answer, now)
        else:
            self._handle(GroupInput.JOIN_NEW)(self, request, answer, now)

    def _join_with_id(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
        if request.member_id in self.pending_join_members:
            if request.instance_id is not None:  # Kafka runs into an error of its own here (JG-19)
                answer(JoinAnswer(ErrorCode.UNKNOWN_SERVER_ERROR, ""))
            else:
                self._handle(GroupInput.JOIN_NEW)(self, request, answer, now)
            return
        code = self.refusal(request.member_id, request.instance_id)
        if code:
            answer(JoinAnswer(code, request.member_id))
        else:
            self._handle(GroupInput.JOIN_MEMBER)(self, self.members[request.member_id], request, answer, now)

    def _leave(self, leavers: Sequence[Leaver], now: Instant) -> list[ErrorCode]:
        """Remove whom the entries name, then act once on what that means for the group."""
        gone: list[str] = []
        forgotten: list[str] = []
        codes = [self._remove_leaver(leaver, gone, forgotten) for leaver in leavers]
        reasons = sorted({leaver.reason for leaver in leavers if leaver.reason})
        because = f" ({'; '.join(reasons)})" if reasons else ""
        if gone:
            self._handle(GroupInput.MEMBER_LEFT)(self, now, f"{rebalance.describe(gone)} left{because}")
        elif forgotten:
            self._handle(GroupInput.PENDING_MEMBER_LEFT)(
                self, now, f"{forgotten[0]}, which had not joined, left{because}"
            )
        return codes

    def _remove_leaver(self, leaver: Leaver, gone: list[str], forgotten: list[str]) -> ErrorCode:
        """LG-3..LG-6."""
        member_id = leaver.member_id
        if not member_id and leaver.instance_id is not None:
            member_id = self.static.get(leaver.instance_id, "")
        if member_id in self.pending_join_members:
            self.pending_join_members.discard(member_id)
            forgotten.append(member_id)
            return ErrorCode.NONE
        code = self.refusal(member_id, leaver.instance_id)
        if not code:
            gone.append(member_id)
            self.remove(self.members[member_id])
        return code

    def remove(self, member: Member) -> None:
        """Take a member out; what it had parked is answered with 25 (TM-3, LG-6). The caller acts on the loss."""
        if member.answer_join is not None:
            self.answer_join(member, JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, ""))
        if member.answer_sync is not None:
            self.answer_sync(member, SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID))
        member.session.disarm()
        self.roster.remove(member)
        self.pending_sync_members.pop(member.member_id, None)
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), None)  # ST-12: the longest-standing one

    def answer_join(self, member: Member, answer: JoinAnswer) -> None:
        """Answer the member's parked JoinGroup, if there is one."""
        parked = member.answer_join
        if parked is not None:
            self.roster.park_join(member, None)
            parked(answer)

    def answer_sync(self, member: Member, answer: SyncAnswer) -> None:
        """Answer the member's parked SyncGroup, if there is one."""
        parked = member.answer_sync
        if parked is not None:
            member.answer_sync = None
            parked(answer)

    @property
    def roster(self) -> Roster:
        """The members, and the sums over them."""
        if self._roster is None:
            self._roster = Roster(self.members, self.static)
        return self._roster

    @property
    def pending_join_members(self) -> PendingJoinMembers:
        """The ids that were handed out and have not joined."""
        if self._pending_join_members is None:
            self._pending_join_members = PendingJoinMembers(self.mono, self._pending_member_timed_out)
        return self._pending_join_members

    # -- timers --------------------------------------------------------------------------------------------------------

    @property
    def join_timer(self) -> Deadline:
        """The initial delay, or the time to rejoin (TM-5)."""
        if self._join_timer is None:
            self._join_timer = Deadline(lambda now: self._handle(GroupInput.JOIN_TIMER)(self, now), self)
        return self._join_timer

    @property
    def sync_timer(self) -> Deadline:
        """The time to send SyncGroup (TM-6)."""
        if self._sync_timer is None:
            self._sync_timer = Deadline(lambda now: self._handle(GroupInput.SYNC_TIMER)(self, now), self)
        return self._sync_timer

    @property
    def all_joined(self) -> bool:
        """Whether nobody is missing in the join phase (ST-9, JG-17)."""
        return self.roster.joined_count == len(self.members) and not self.pending_join_members

    def arm(self, deadline: Deadline, now: Instant, after_ms: int) -> None:
        """Let a timer of the group or of a member run out `after_ms` from now."""
        self.mono.arm(deadline, now.mono_ms + after_ms)

    def restart_session(self, member: Member, now: Instant) -> None:
        """The member's session begins anew (TM-1)."""
        self.mono.arm(member.session, now.mono_ms + member.session_timeout_ms)

    def session_timer_fired(self, member: Member, now: Instant) -> None:
        """The member is gone, unless a parked request shows that it is there (TM-2); not so a new one (TM-3)."""
        if not member.is_new and (member.answer_join is not None or member.answer_sync is not None):
            return
        what = "did not come back to join" if member.is_new else "has not been heard of for its session timeout"
        self.remove(member)
        self._handle(GroupInput.MEMBER_LEFT)(self, now, f"member {member.member_id} {what}")

    def _pending_member_timed_out(self, member_id: str, now: Instant) -> None:
        self._handle(GroupInput.PENDING_MEMBER_TIMED_OUT)(self, now, f"{member_id} never joined")

    # -- state ---------------------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether it is Empty, the state: no members, no rebalance."""
        return self.state is State.EMPTY

    def transition(self, trigger: Trigger, now: Instant, reason: str) -> None:
        """Change the state; every change goes through here (ST-4). `reason` is one English clause for the journal."""
        before = self.state
        self._set_state(TRANSITIONS[before, trigger])
        self.in_initial_delay = trigger is Trigger.REBALANCE_STARTED and before is State.EMPTY
        self.state_ms = now.wall_ms
        self.state_reason = reason
        self.host.emit(Transition(self.group_id, before, self.state, self.generation, reason))

    def _set_state(self, state: State) -> None:
        self.state = state
        self._handlers = HANDLERS[state]
        # the one event that comes thousands of times a second is looked up once
        self._on_heartbeat: Callable[..., ErrorCode] = HANDLERS[state].get(GroupInput.HEARTBEAT, _no_heartbeat)

    def _handle(self, event: GroupInput) -> Any:
        try:
            return self._handlers[event]
        except KeyError:
            raise AssertionError(f"{self!r} cannot meet {event.name}") from None

    def update_subscribed_topics(self) -> None:
        """What the members of the new generation subscribe to, by the metadata of the chosen protocol (EX-7)."""
        self.subscribed_topics = None
        if self.protocol_type == PROTOCOL_TYPE_CONSUMER:
            self.subscribed_topics = subscribed_topics(
                member.metadata(self.protocol) for member in self.members.values()
            )

    # -- storage and loading -------------------------------------------------------------------------------------------

    def store(self, now: Instant) -> None:
        """Write the group's record; nobody waits for it (CR-12)."""
        self.host.write_group(self, self.to_value(), now, _nobody_waits)

    def to_value(self, assignments: Mapping[str, bytes] | None = None) -> GroupValue:
        """The group as it is stored, with these assignments in place of those in force (CR-7, CR-15)."""
        return GroupValue(
            self.protocol_type or "",
            self.generation,
            self.protocol,
            self.leader,
            self.state_ms,
            tuple(
                MemberValue(
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.metadata(self.protocol),
                    member.assignment if assignments is None else assignments[member.member_id],
                )
                for member in self.members.values()
            ),
        )

    def restore(self, value: GroupValue, now: Instant) -> None:
        """Become what a record says; for a group just made (LD-3, LD-4). Sessions begin anew."""
        self.generation = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol = value.protocol
        for stored in value.members:
            self._restore_member(stored, now)
        self.leader = value.leader if value.leader in self.members else next(iter(self.members), None)
        self.update_subscribed_topics()
        if self.members:
            self.transition(Trigger.LOADED, now, "loaded from the log")
        self.state_ms = value.state_ms
        if len(self.members) > self.host.settings.int("group.max.size"):  # the last to rejoin will be kept out
            rebalance.start(self, now, "the loaded group has more members than group.max.size")

    def _restore_member(self, stored: MemberValue, now: Instant) -> None:
        """A member that knows one protocol only, the one that was chosen (CR-9)."""
        request = JoinRequest(
            stored.member_id,
            stored.group_instance_id,
            stored.client_id,
            stored.client_host,
            stored.session_timeout_ms,
            stored.rebalance_timeout_ms,
            self.protocol_type or "",
            ((self.protocol or "", stored.subscription),),
        )
        member = Member(stored.member_id, request, self.session_timer_fired)
        member.is_new = False
        member.assignment = stored.assignment
        self.roster.add(member)
        self.restart_session(member, now)

    def unload(self, now: Instant) -> None:
        """Another broker coordinates it now: parked requests get 16, nothing of it stays here (ST-14)."""
        self._end(now, "its coordinator moved away", ErrorCode.NOT_COORDINATOR)

    def die(self, now: Instant, reason: str = "it was deleted or expired") -> None:
        """Become Dead because the group is gone from the log (EX-9, DG-2)."""
        self._end(now, reason, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _end(self, now: Instant, reason: str, code: ErrorCode) -> None:
        """All timers die, whatever is parked is answered with `code`."""
        members = list(self.members.values())
        self.transition(Trigger.REMOVED, now, reason)
        if self._pending_join_members is not None:
            self._pending_join_members.clear()
        _disarm([self._join_timer, self._sync_timer, *(member.session for member in members)])
        for member in members:
            self.answer_join(member, JoinAnswer(code, member.member_id))
            self.answer_sync(member, SyncAnswer(code))


def _no_heartbeat(group: ClassicGroup, member: Member, now: Instant) -> ErrorCode:
    """There is no member that could send one."""
    raise AssertionError(f"{group!r} cannot meet a heartbeat of {member} at {now}")


def _disarm(timers: Iterable[Deadline | None]) -> None:
    for timer in timers:
        if timer is not None:
            timer.disarm()


def _nobody_waits(code: ErrorCode, now: Instant) -> None:
    """The result of a write that no request depends on."""
