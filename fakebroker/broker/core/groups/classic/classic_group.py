"""A group of the classic protocol: its requests and the checks common to all states.

What the group does with a request that passed them, and with its timers, depends on the state: see `table.py`. Groups
know no wire versions, handlers derive flags from them. COORDINATOR_LOAD_IN_PROGRESS and NOT_COORDINATOR are decided
before a group is found (`broker/core/coordinator`). Kafka: `GroupMetadataManager`, before 4.0 `GroupCoordinator`.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fakebroker.broker.core.events import MOVED
from fakebroker.broker.core.groups.classic import rebalance
from fakebroker.broker.core.groups.classic.group_metadata import PROTOCOL_TYPE_CONSUMER, GroupMetadata
from fakebroker.broker.core.groups.classic.holds import Hold, Phase
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.groups.classic.messages import (
    AnswerJoin,
    AnswerSync,
    JoinAnswer,
    JoinRequest,
    Leaver,
    SyncAnswer,
    SyncRequest,
)
from fakebroker.broker.core.groups.classic.reasons import Reason, describe
from fakebroker.broker.core.groups.classic.states import GroupInput, State, Trigger
from fakebroker.broker.core.groups.classic.table import HANDLERS
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import GroupValue

if TYPE_CHECKING:
    from fakebroker.protocol.records.group_records import GroupRecord

__all__ = ["PROTOCOL_TYPE_CONSUMER", "ClassicGroup"]

# Each commit asks for these: read from the class they cost as much as a call (until Python 3.12).
_NONE, _DEAD, _EMPTY, _COMPLETING = ErrorCode.NONE, State.DEAD, State.EMPTY, State.COMPLETING


class ClassicGroup(GroupMetadata):
    """One group and what can be asked of it."""

    # -- requests ------------------------------------------------------------------------------------------------------

    def join(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
        """JoinGroup. `answer` is called once, now or later, or never if a later request of the member replaces it."""
        if not self._accepts_joining_member(request.member_id):
            self._reject_group_full(request.member_id, answer, now)
        elif code := self._error_for_join(request):
            answer(JoinAnswer(code, request.member_id))
        elif request.member_id:
            self._join_with_id(request, answer, now)
        else:
            self._join_without_id(request, answer, now)

    def sync(self, request: SyncRequest, answer: AnswerSync, now: Instant) -> None:
        """SyncGroup. `answer` is called as for `join`."""
        code = self._error_for_sync(request)
        if code:
            answer(SyncAnswer(code))
        else:
            self.handler_of(GroupInput.SYNC)(self, self.members[request.member_id], request, answer, now)

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: Instant) -> ErrorCode:
        """Heartbeat (HB-2..HB-6). Restarts the member's session timer; returns the code of the answer.

        The first line decides for a dynamic member of the current generation, which is what nearly every heartbeat
        comes from, without a call.
        """
        member = self.members.get(member_id)
        if member is None or instance_id is not None or generation != self.generation:
            code = self.error_for_member(member_id, instance_id, generation)
            if code or member is None:
                return self._code_of_refused_heartbeat(code)
        return self._on_heartbeat(self, member, now)

    def _code_of_refused_heartbeat(self, code: ErrorCode) -> ErrorCode:
        """`code`, but for the generation, at which 2.1.1 does not look in CompletingRebalance (HB-6)."""
        if code is ErrorCode.ILLEGAL_GENERATION and self.state is _COMPLETING:
            return ErrorCode.REBALANCE_IN_PROGRESS if self.host.behaviours.heartbeat_in_completing_rejoins else code
        return code

    def leave(self, leavers: Sequence[Leaver], now: Instant) -> list[ErrorCode]:
        """LeaveGroup. Returns a code for each entry; the entries are checked one after the other (LG-3..LG-8)."""
        if self.host.behaviours.leave_batch_acts_once:
            return self._leave(leavers, now)
        return [self._leave([leaver], now)[0] for leaver in leavers]

    def restart_session_of(self, member_id: str, now: Instant) -> None:
        """Restart the session timer of the member, which must be one: its OffsetCommit was accepted (TM-1)."""
        self.restart_session(self.members[member_id], now)

    # -- what a test does ----------------------------------------------------------------------------------------------

    def request_rebalance(self, now: Instant, reason: str) -> None:
        """Start a rebalance, unless the group has no members or one is under way."""
        self.handler_of(GroupInput.REBALANCE_REQUESTED)(self, now, reason)

    def release_hold(self, hold: Hold, phase: Phase, now: Instant) -> None:
        """Put `hold`, which is released, in place of that of `phase`, and go on as far as the group would be by now."""
        assert self.holds is not None
        self.holds[phase] = hold
        self.handler_of(GroupInput.HOLD_RELEASED)(self, now, "a test released its hold")

    def evict(self, member_id: str, now: Instant) -> None:
        """See `Group.evict`; the member goes also while a request of it is parked."""
        self.remove(self.members[member_id])
        self.handler_of(GroupInput.MEMBER_LEFT)(self, now, Reason.EVICTED.of(f"member {member_id}"))

    # -- checks common to all states -----------------------------------------------------------------------------------

    def error_for_member(self, member_id: str, instance_id: str | None, generation: int | None = None) -> ErrorCode:
        """The error that a request naming a member is answered with (JG-20, HB-4), or NONE.

        Returns COORDINATOR_NOT_AVAILABLE if the group is Dead, FENCED_INSTANCE_ID if the instance id belongs to another
        member id (KIP-345), UNKNOWN_MEMBER_ID, or ILLEGAL_GENERATION. `generation` None is not checked.
        Kafka: `ClassicGroup.validateMember`.
        """
        if self.state is _DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if instance_id is not None:
            registered = self.members.static.get(instance_id)
            if registered is not None and registered != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if registered is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation is not None and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return _NONE

    def _error_for_join(self, request: JoinRequest) -> ErrorCode:
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not self._supports_protocols(request):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _accepts_joining_member(self, member_id: str) -> bool:
        """Whether group.max.size leaves room for the member (KIP-389, JG-7). Kafka: `acceptJoiningMember`.

        In the join phase those count whose JoinGroup is parked, not those who are members: in a group that is over its
        size (the setting was lowered, then the group loaded) the last to rejoin are rejected.
        """
        if self.state in (State.EMPTY, State.DEAD):
            return True
        max_size = self.host.settings.get_int("group.max.size")
        member = self.members.get(member_id)
        if self.state is State.PREPARING:
            return (member is not None and member.parked_join is not None) or (
                self.members.awaiting_join_count < max_size
            )
        return member is not None or len(self.members) < max_size

    def _reject_group_full(self, member_id: str, answer: AnswerJoin, now: Instant) -> None:
        """Answer GROUP_MAX_SIZE_REACHED and forget the member id, member or pending (JG-8).

        If the rebalance waited for just that member, 3.9.1 completes it now; 4.3.1 does not look, so it goes on when
        the join timer fires.
        """
        self.pending_join_members.discard(member_id)
        if member_id in self.members:
            self.remove(self.members[member_id])
        answer(JoinAnswer(ErrorCode.GROUP_MAX_SIZE_REACHED, ""))
        if self.state is State.PREPARING and self.host.behaviours.rejected_join_may_complete_rebalance:
            rebalance.complete_unless_delayed(self, now)

    def _supports_protocols(self, request: JoinRequest) -> bool:
        """Whether protocol type and protocols fit (Kafka: `supportsProtocols`).

        An Empty group takes any that are not empty (JG-11); else the type must be the group's, and every member must
        support one of the protocols (JG-12).
        """
        if self.state is State.EMPTY:
            return bool(request.protocol_type and request.protocols)
        return request.protocol_type == self.protocol_type and self.members.support_any(request.protocols)

    def _error_for_sync(self, request: SyncRequest) -> ErrorCode:
        """The error that a SyncGroup is answered with, or NONE (SG-4).

        Protocol type and name must be the group's (KIP-559). Each may be missing on one side, and then is not compared.
        """
        code = self.error_for_member(request.member_id, request.instance_id, request.generation)
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
            needs_id = request.needs_member_id
            group_input = GroupInput.JOIN_NEEDS_MEMBER_ID if needs_id else GroupInput.JOIN_NEW
            self.handler_of(group_input)(self, request, answer, now)
        elif request.instance_id in self.members.static:
            member = self.members[self.members.static[request.instance_id]]
            self.handler_of(GroupInput.STATIC_REJOIN)(self, member, request, answer, now)
        else:
            self.handler_of(GroupInput.JOIN_NEW)(self, request, answer, now)

    def _join_with_id(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
        if request.member_id in self.pending_join_members:
            if request.instance_id is not None:  # Kafka fails with an exception of its own here (JG-19)
                answer(JoinAnswer(ErrorCode.UNKNOWN_SERVER_ERROR, ""))
            else:
                self.handler_of(GroupInput.JOIN_NEW)(self, request, answer, now)
            return
        code = self.error_for_member(request.member_id, request.instance_id)
        if code:
            answer(JoinAnswer(code, request.member_id))
        else:
            member = self.members[request.member_id]
            self.handler_of(GroupInput.JOIN_MEMBER)(self, member, request, answer, now)

    def _leave(self, leavers: Sequence[Leaver], now: Instant) -> list[ErrorCode]:
        """Remove the members that the entries name, then act once on what that means for the group."""
        gone: list[str] = []
        forgotten: list[str] = []
        codes = [self._remove_leaver(leaver, gone, forgotten) for leaver in leavers]
        reasons = sorted({leaver.reason for leaver in leavers if leaver.reason})
        words = "; ".join(reasons)
        if gone:
            self.handler_of(GroupInput.MEMBER_LEFT)(self, now, Reason.LEFT.of(describe(gone), words))
        elif forgotten:
            self.handler_of(GroupInput.PENDING_MEMBER_LEFT)(self, now, Reason.PENDING_LEFT.of(forgotten[0], words))
        return codes

    def _remove_leaver(self, leaver: Leaver, gone: list[str], forgotten: list[str]) -> ErrorCode:
        """Remove the member of one entry and return the entry's code (LG-3..LG-6).

        An entry without member id names a static member by its instance id. A removed member is appended to `gone`, a
        pending member id to `forgotten`.
        """
        member_id = leaver.member_id
        if not member_id and leaver.instance_id is not None:
            member_id = self.members.static.get(leaver.instance_id, "")
        if member_id in self.pending_join_members:
            self.pending_join_members.discard(member_id)
            forgotten.append(member_id)
            return ErrorCode.NONE
        code = self.error_for_member(member_id, leaver.instance_id)
        if not code:
            gone.append(member_id)
            self.remove(self.members[member_id])
        return code

    # -- offsets -------------------------------------------------------------------------------------------------------

    def error_for_commit(
        self,
        member_id: str,
        instance_id: str | None,
        generation: int,
        version: int = 0,  # noqa: ARG002
    ) -> ErrorCode:
        """The error that an OffsetCommit to the group is answered with (OC-7, OC-8), or NONE.

        A commit with generation -1 is accepted by an Empty group only, with any member id; others must come from a
        member of the current generation, and not while it waits for its assignment, which 2.1.1 checks first.
        """
        state = self.state
        if generation < 0 and state is _EMPTY:
            return _NONE
        code = self.error_for_member(member_id, instance_id, generation)
        if state is _COMPLETING and not (code and self.host.behaviours.commit_in_completing_checks_member):
            return ErrorCode.REBALANCE_IN_PROGRESS
        return code

    def error_for_txn_commit(self, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        """The error that a TxnOffsetCommit to the group is answered with (KIP-447, OC-16), or NONE.

        Unlike OffsetCommit it need not name a member, and a rebalance is no obstacle.
        """
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not names_a_member(member_id, instance_id, generation) or (generation < 0 and self.state is State.EMPTY):
            return ErrorCode.NONE
        return self.error_for_member(member_id, instance_id, generation)

    def error_for_offset_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:  # noqa: ARG002
        """Anybody may read the offsets of a classic group."""
        return ErrorCode.NONE

    def error_for_offset_delete(self) -> ErrorCode:
        """The error that a whole OffsetDelete is answered with (OD-2, OD-5), or NONE.

        In a group of consumers with members offsets can be deleted, partition by partition (`is_subscribed`); in a
        group of another protocol type the broker cannot know what its members read.
        """
        if self.state is State.DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if self.state is State.EMPTY or self.protocol_type == PROTOCOL_TYPE_CONSUMER:
            return ErrorCode.NONE
        return ErrorCode.NON_EMPTY_GROUP

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member subscribes to the topic (OD-4); true if the subscriptions are unknown."""
        if self.state is State.EMPTY:
            return False
        return self.subscribed_topics is None or topic in self.subscribed_topics

    # -- state ---------------------------------------------------------------------------------------------------------

    def _set_state(self, state: State) -> None:
        super()._set_state(state)
        self._handlers = HANDLERS[state]
        # the one input that comes thousands of times a second is looked up once
        self._on_heartbeat: Callable[..., ErrorCode] = HANDLERS[state].get(GroupInput.HEARTBEAT, _no_heartbeat)

    def handler_of(self, group_input: GroupInput) -> Any:
        """The function that deals with an input in the present state. Raises AssertionError if it cannot happen."""
        try:
            return self._handlers[group_input]
        except KeyError:
            raise AssertionError(f"{self!r} cannot meet {group_input.name}") from None

    def tombstones(self) -> "list[GroupRecord]":
        """None of the kind: the tombstone of a classic group is made with those of its offsets (`Shard.tombstones`)."""
        return []

    # -- loading and the end -------------------------------------------------------------------------------------------

    def restore(self, value: GroupValue, now: Instant) -> None:
        """Become what a record says; for a group just made (LD-3, LD-4). Session timers start now.

        A group with more members than group.max.size starts a rebalance at once, in which the last to rejoin are
        rejected (KIP-389).
        """
        self.generation = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol = value.protocol
        for stored in value.members:
            self.restore_member(stored, now)
        self.leader = value.leader if value.leader in self.members else next(iter(self.members), None)
        self.update_subscribed_topics()
        if self.members:
            self.transition(Trigger.LOADED, now, "loaded from the log")
        self.state_ms = value.state_ms
        if len(self.members) > self.host.settings.get_int("group.max.size"):
            rebalance.start(self, now, Reason.TOO_LARGE.of())

    def unload(self, now: Instant, reason: str = MOVED) -> None:
        """Become Dead here because another broker coordinates the group now, or it is loaded again.

        Parked requests are answered with NOT_COORDINATOR (ST-14).
        """
        self._end(now, reason, ErrorCode.NOT_COORDINATOR)

    def die(self, now: Instant, reason: str = "it was deleted or expired") -> None:
        """Become Dead because the group is gone from the log (EX-9, DG-2)."""
        self._end(now, reason, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _end(self, now: Instant, reason: str, code: ErrorCode) -> None:
        """Become Dead: all timers are disarmed, all parked requests answered with `code`."""
        members = list(self.members.values())
        self.transition(Trigger.REMOVED, now, reason)
        self.release()
        for member in members:
            self.answer_join(member, JoinAnswer(code, member.member_id))
            self.answer_sync(member, SyncAnswer(code))


def names_a_member(member_id: str, instance_id: str | None, generation: int) -> bool:
    """Whether a commit claims to come from a member. One of a simple consumer (`assign`) does not."""
    return generation >= 0 or bool(member_id) or instance_id is not None


def _no_heartbeat(group: ClassicGroup, member: Member, now: Instant) -> ErrorCode:
    """In Empty and Dead: there is no member that could send one."""
    raise AssertionError(f"{group!r} cannot meet a heartbeat of {member} at {now}")
