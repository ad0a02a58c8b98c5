"""What consumer, share and streams groups have in common (Kafka: `ModernGroup`, and what `StreamsGroup` repeats of it).

The log comes first: a step of a group makes the records that say what changes, `GroupHost.write_records` appends them
as one batch and applies them one by one with `replay`, which is also how a group is loaded. So nothing that is stored
changes in any other way. What Kafka keeps in memory only, timers first of all, is set by the step after that.

A group begins with the replay of its first record and ends with the tombstone of its metadata record.
"""

from abc import abstractmethod
from collections.abc import Generator, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.events import MOVED, GroupEpochBumped, Transition
from fakebroker.broker.core.groups.group import Group
from fakebroker.broker.core.groups.host import GroupsHost, error_of_failed_write
from fakebroker.broker.core.groups.modern.long_target import LongTarget
from fakebroker.broker.core.groups.modern.member_table import MemberTable
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.protocol.pace import Pace
    from fakebroker.protocol.records.group_records import GroupRecord
    from fakebroker.protocol.records.offsets_topic import GroupEntry

DEAD = "Dead"
STABLE = "Stable"  # in all kinds
RETRY_MS = 500  # after which a timer tries again what could not be stored (Kafka: `CoordinatorTimerImpl`)


class ModernGroup(Group):
    """One group with epochs. Its members are in the order of the coordinator's table (CGA-17).

    `group_epoch` is what the group wants, `assignment_epoch` the group epoch for which the target assignment was
    computed, at `assignment_ms` (wall time, -1: never). `metadata_hash` is that of the topics it reads (CGB-4).
    `seen_changes` is `Topics.changes` when that was last compared; -1 makes the next heartbeat look (CGE-6).
    """

    host: GroupsHost
    members: MemberTable[Any]  # by member id; each kind has its own

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.group_epoch = 0
        self.assignment_epoch = 0
        self.assignment_ms = -1
        self.metadata_hash = 0
        self.seen_changes = -1
        self._is_dead = False
        self.mono = host.timers.mono
        self._session_timers: dict[str, Deadline] = {}  # by member id
        self._long_target: LongTarget | None = None  # made when it is needed

    @property
    def epoch(self) -> int:
        """The group epoch."""
        return self.group_epoch

    @property
    def is_dead(self) -> bool:
        """Whether it was unloaded, deleted or expired."""
        return self._is_dead

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    def member_ids(self) -> Iterable[str]:
        """The ids of its members, in the order in which they are described."""
        return self.members.in_order()

    @property
    def is_reconciled(self) -> bool:
        """Whether it has members, and each has all that the target assignment of the group epoch gives it."""
        if self.state != STABLE or self.assignment_epoch != self.group_epoch:
            return False
        return self.all_have_their_target()

    # -- what each kind does -------------------------------------------------------------------------------------------

    @abstractmethod
    def replay(self, record: "GroupRecord", now: Instant) -> bool:
        """Apply one record. Returns False if it was the tombstone that ends the group."""

    @abstractmethod
    def present_state(self) -> StrEnum:
        """The state that follows from members and epochs (CGE-20, SGH-15, STG-1)."""

    @abstractmethod
    def all_have_their_target(self) -> bool:
        """Whether every member has what the present target assignment gives it, and nothing to give up."""

    @abstractmethod
    def loaded(self, now: Instant) -> None:
        """All records of a load were replayed: start the timers (CGT-4)."""

    @abstractmethod
    def remove_member(self, member_id: str, now: Instant, reason: str) -> None:
        """Remove a member with a bump of the group epoch; what it had is free at once.

        `reason` is one English clause. Raises KafkaError if it cannot be stored; then nothing has changed.
        """

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, records: "Sequence[GroupRecord | GroupEntry]", now: Instant, reason: str) -> Self:
        """Append and apply the records of one step, and tell the journal what became of the group.

        `reason` is one English clause: what the step was, e.g. "member a joined". Returns the group as it is stored:
        this one, or the one that came to be with the first record of a new one. Without records nothing is stored.
        Raises KafkaError, what members are answered with, if the append fails; then nothing has changed.
        """
        host, epoch = self.host, self.group_epoch
        if records:
            code = host.write_records(self.group_id, records, now)
            if code:
                raise failed_write(code)
        stored = host.group(self.group_id)
        if not isinstance(stored, type(self)):
            return self  # it has become a group of another kind, or there was nothing to store
        if stored.group_epoch != epoch:
            host.emit(GroupEpochBumped(stored.group_id, stored.group_epoch, reason))
        stored.tell_state(now, reason)
        return stored

    def try_to_write(self, records: "Sequence[GroupRecord | GroupEntry]", now: Instant, reason: str) -> bool:
        """`write` where nobody waits for an answer: returns False if it cannot be stored."""
        try:
            self.write(records, now, reason)
        except KafkaError:
            return False
        return True

    def tell_state(self, now: Instant, reason: str) -> None:
        """Tell the journal if the group is in another state than before (ST-4)."""
        before, state = self.state, self.present_state()
        if state != before and not self.is_dead:
            self.state, self.state_ms, self.state_reason = state, now.wall_ms, reason
            self.host.emit(Transition(self.group_id, self.kind, before, state, self.group_epoch, reason))

    # -- targets that take long ----------------------------------------------------------------------------------------

    @property
    def long_target(self) -> LongTarget:
        """What computes targets that take long."""
        if self._long_target is None:
            self._long_target = LongTarget(self)
        return self._long_target

    @property
    def state_of_long_target(self) -> str:
        """What there is to say of a target that takes long; "" if there is nothing."""
        return "" if self._long_target is None else self._long_target.text()

    @abstractmethod
    def compute_target(self, pace: "Pace", now: Instant) -> "Generator[None, None, Any]":
        """Begin the steps that compute a target for the group as it is. What they give is for `store_target`."""

    @abstractmethod
    def store_target(self, computed: Any, now: Instant) -> None:
        """Write what they gave. Raises KafkaError if it cannot be stored."""

    # -- sessions ------------------------------------------------------------------------------------------------------

    def restart_session(self, member_id: str, timeout_ms: int, now: Instant) -> None:
        """Let the member's session end `timeout_ms` from now unless it is heard of before (CGT-1)."""
        timer = self._session_timers.get(member_id)
        if timer is None:
            timer = Deadline(lambda now: self.on_session_timeout(member_id, now), self)
            self._session_timers[member_id] = timer
        self.mono.arm(timer, now.mono_ms + timeout_ms)

    def end_session(self, member_id: str) -> None:
        """The member is gone: its session timer goes with it."""
        timer = self._session_timers.pop(member_id, None)
        if timer is not None:
            timer.end()

    def session_ends_ms(self, member_id: str) -> int | None:
        """When the member's session ends by the monotonic clock, None if it has no timer."""
        timer = self._session_timers.get(member_id)
        return None if timer is None else timer.due_ms

    def on_session_timeout(self, member_id: str, now: Instant) -> None:
        """The member was silent for too long: it is removed as if it had left (CGT-2, SGH-20, STM-1)."""
        if not self.try_to_remove(member_id, now, f"member {member_id} timed out"):
            self.restart_session(member_id, RETRY_MS, now)

    def try_to_remove(self, member_id: str, now: Instant, reason: str) -> bool:
        """`remove_member` for a timer: returns False if it cannot be stored, so that the timer has to try again."""
        try:
            self.remove_member(member_id, now, reason)
        except KafkaError:
            return False
        return True

    # -- what a test does ----------------------------------------------------------------------------------------------

    def evict(self, member_id: str, now: Instant) -> None:
        """See `Group.evict`. Raises KafkaError if it cannot be stored."""
        if member_id not in self.members:
            raise KeyError(member_id)
        self.remove_member(member_id, now, f"member {member_id} was evicted by a test")

    # -- the end -------------------------------------------------------------------------------------------------------

    def unload(self, now: Instant, reason: str = MOVED) -> None:
        """Become Dead here; see `Group.unload`."""
        self._end(now, reason)

    def die(self, now: Instant, reason: str = "it was deleted or expired") -> None:
        """Become Dead for good; see `Group.die`."""
        self._end(now, reason)

    def end_timers(self) -> None:
        """Disarm every timer for good; kinds with further timers extend it."""
        for timer in self._session_timers.values():
            timer.end()
        self._session_timers.clear()
        if self._long_target is not None:
            self._long_target.end()
            self._long_target = None  # in no cycle with the group any more

    def _end(self, now: Instant, reason: str) -> None:
        if self.is_dead:
            return
        self._is_dead = True
        self.release()
        self.state_ms, self.state_reason = now.wall_ms, reason
        self.host.emit(Transition(self.group_id, self.kind, self.state, DEAD, self.group_epoch, reason))


def failed_write(code: ErrorCode) -> KafkaError:
    """What members are answered with if the append of their group's records failed with `code`."""
    return KafkaError(error_of_failed_write(code), f"the group could not be stored: {code.name}")
