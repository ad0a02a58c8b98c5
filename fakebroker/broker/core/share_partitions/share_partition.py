"""A share group's view of a partition that this broker leads: loading it, and what members do with its records (SGP).

What is acquired is known here only; what becomes of it is stored by the share coordinator. Kafka: `SharePartition`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

from fakebroker.broker.core.share_partitions.acknowledgement import AcknowledgedBatch, Change, begin
from fakebroker.broker.core.share_partitions.acquisition import Acquired, Acquisition, BatchSpan, acquire
from fakebroker.broker.core.share_partitions.group_settings import EARLIEST, LATEST, ShareGroupSettings
from fakebroker.broker.core.share_partitions.locks import AcquisitionLock
from fakebroker.broker.core.share_partitions.record_window import RecordWindow
from fakebroker.broker.core.share_partitions.states import RecordEvent, RecordState
from fakebroker.broker.core.share_state import asking
from fakebroker.broker.core.share_state.states import NO_OFFSET, ShareState, StateBatch, StateWrite
from fakebroker.broker.core.share_state.states import SharePartition as SharePartitionKey
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.asking import ShareStateNode
    from fakebroker.broker.core.topics import Partition

Answer = Callable[[ErrorCode, str | None, Instant], None]
"""Gets the error of an acknowledgement, or NONE, and its text."""

_RELEASES_PER_STEP: Final = 20_000  # times what each goes over: what the lock held, and who waits
EVERYTHING: Final = Acquired(0, 2**63 - 1, 0)
_RENEW_DISABLED: Final = "Renewing acquisition locks is not enabled for the group."
_OF_COORDINATOR: Final = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NONE: ErrorCode.NONE,
}
_WRITE_TEXTS: Final = {  # the messages, beside the code, for a write that was refused
    ErrorCode.FENCED_STATE_EPOCH: "The share coordinator rejected the request because the share-group state epoch did"
    " not match.",
    ErrorCode.INVALID_REQUEST: "Write operation on uninitialized share partition not allowed.",
}
_FENCED: Final = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
)


def error_of_coordinator(code: ErrorCode) -> ErrorCode:
    """What clients are answered when the share coordinator answers `code`."""
    return _OF_COORDINATOR.get(code, ErrorCode.UNKNOWN_SERVER_ERROR)


class Waiter(Protocol):
    """A fetch that waits for records of share partitions."""

    def changed(self, share_partition: "SharePartition") -> None:
        """It may give more or less than before; as in Kafka that alone is no reason to look."""

    def look(self, share_partition: "SharePartition", now: Instant) -> None:
        """It has changed: see whether there is enough by now."""


class SharePartition:
    """One share partition in the memory of its leader.

    `window` is None until the state is loaded. `waiters` are fetches that wait for records; they look when the start
    offset moved and when locks timed out (SGF-16). `fenced` is called once another writer was found.
    """

    def __init__(
        self,
        node: "ShareStateNode",
        key: SharePartitionKey,
        partition: "Partition",
        fenced: Callable[["SharePartition", Instant], None],
    ) -> None:
        self.node = node
        self.key = key
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.settings = ShareGroupSettings(node, key.group_id)
        self.window: RecordWindow | None = None
        self.waiters: dict[Waiter, None] = {}
        self.is_ended = False
        self._state_epoch = 0
        self._fenced = fenced
        self._loading: list[Callable[[ErrorCode, Instant], None]] | None = None
        self._fetch_offset: int | None = None  # None: not known

    # -- life -----------------------------------------------------------------------------------------------------

    def load(self, loaded: Callable[[ErrorCode, Instant], None], now: Instant) -> None:
        """Read what is stored, if that was not done yet, then call `loaded`: with NONE, or why it could not be read."""
        if self.window is not None:
            loaded(ErrorCode.NONE, now)
        elif self._loading is not None:
            self._loading.append(loaded)
        else:
            self._loading = [loaded]
            asking.read(self.node, self.key, self.leader_epoch, self._loaded, now)

    def end(self) -> None:
        """It is dropped from memory: nothing is released, all timers stop."""
        self.is_ended = True
        self._changed()
        for batch in self.window or ():
            for _, _, state in batch.states():
                if state.lock is not None:
                    state.lock.end()

    @property
    def can_acquire(self) -> bool:
        """Whether a fetch may find something: records that were released, or room in the window (SGF-17)."""
        window = self.window
        if window is None or self.is_ended:
            return False
        return self.fetch_offset != window.next_offset or window.span < self.settings.limits.window_records

    @property
    def fetch_offset(self) -> int:
        """Where the next fetch reads; many waiters ask, and the window may be long."""
        if self._fetch_offset is None:
            self._fetch_offset = self._window().fetch_offset()
        return self._fetch_offset

    def _loaded(self, code: ErrorCode, state: ShareState, now: Instant) -> None:
        code = error_of_coordinator(code)
        if code or self.is_ended or state.start_offset != NO_OFFSET:
            self._begin_at(state, (code, state.start_offset), now)
        else:
            self.node.cluster.timers.passes.begin(self._first_offset(now), partial(self._begin_at, state), now)

    def _begin_at(self, state: ShareState, start: tuple[ErrorCode, int], now: Instant) -> None:
        """The state is known, and the offset to begin at, or why it is not."""
        waiting, self._loading = self._loading or [], None
        code, offset = start
        if not code and not self.is_ended:
            code = self._take_over(state, offset)
        for each in waiting:
            each(code, now)

    def _take_over(self, state: ShareState, offset: int) -> ErrorCode:
        """Go on with what is stored. Returns the error of a state that cannot be read, which holds for it alone."""
        try:
            self.window = RecordWindow.stored(offset, state.batches)
        except KafkaError as error:
            return error.code
        self._state_epoch = state.state_epoch
        return ErrorCode.NONE

    def _first_offset(self, now: Instant) -> Generator[None, None, tuple[ErrorCode, int]]:
        """Where a share partition begins that was never read (SGP-1), in steps; OFFSET_NOT_AVAILABLE if no record is
        young enough.
        """
        reset, log = self.settings.offset_reset, self.partition.log
        if reset == EARLIEST:
            return ErrorCode.NONE, log.log_start_offset
        if reset == LATEST or isinstance(reset, str):
            return ErrorCode.NONE, log.high_watermark
        try:
            found = yield from log.find_by_timestamp(now.wall_ms - reset, log.high_watermark)
        except KafkaError as error:
            return error.code, NO_OFFSET
        return (ErrorCode.OFFSET_NOT_AVAILABLE, NO_OFFSET) if found is None else (ErrorCode.NONE, found.offset)

    # -- acquiring ------------------------------------------------------------------------------------------------

    def acquire(
        self,
        wanted: Acquisition,
        fetch_offset: int,
        read: Sequence[BatchSpan],
        aborted: Sequence[BatchSpan],
        now: Instant,
    ) -> list[Acquired]:
        """Acquire records of what was read for a member, and lock them (SGF-10, SGP-5).

        `aborted` are those of the batches whose transaction was aborted: nobody gets their records (SGP-10).
        """
        window = self._window()
        acquired = acquire(window, wanted, self.settings.limits, fetch_offset, read)
        if aborted:
            acquired = self._without_aborted(acquired, aborted)
        self._changed()
        for each in acquired:
            lock = self._lock(each.first_offset, each.last_offset, now)
            for _, _, state in window.states_between(each.first_offset, each.last_offset):
                state.relock(lock)
        return acquired

    def _without_aborted(self, acquired: list[Acquired], aborted: Sequence[BatchSpan]) -> list[Acquired]:
        """Archive what was acquired of aborted batches; the start moves with the next acknowledgement, as in Kafka.
        Returns what remains acquired.
        """
        left = []
        for each in acquired:
            first = each.first_offset
            begin = bisect_left(aborted, first, key=attrgetter("last_offset"))  # there may be thousands of each
            end = bisect_right(aborted, each.last_offset, key=attrgetter("base_offset"))
            for span in aborted[begin:end]:
                low, high = max(first, span.base_offset), min(each.last_offset, span.last_offset)
                self._window().archive_acquired(low, high)
                if first < low:
                    left.append(each._replace(first_offset=first, last_offset=low - 1))
                first = high + 1
            if first <= each.last_offset:
                left.append(each._replace(first_offset=first))
        return left

    def log_starts_at(self, offset: int, now: Instant) -> None:
        """A fetch found that the log begins at `offset` by now: what was before it is gone."""
        self._window().log_starts_at(offset)
        self.wake(now)

    # -- acknowledging --------------------------------------------------------------------------------------------

    def acknowledge(self, member_id: str, batches: Sequence[AcknowledgedBatch], now: Instant) -> list[Change]:
        """Begin the changes that a member's acknowledgements make: all or none (SGK-8).

        They count once `store` has stored them; no member acquires the records until then. Raises KafkaError, and
        nothing has changed then.
        """
        window = self._window()
        changes = begin(window, member_id, batches, self.settings.delivery_limit)
        if any(change.event is RecordEvent.RENEWED for change in changes) and not self.settings.may_renew:
            self._take_back(changes, now)
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, _RENEW_DISABLED)
        return changes

    def release(self, member_id: str, answer: Answer, now: Instant, ranges: Sequence[Acquired] = (EVERYTHING,)) -> None:
        """Release what a member has acquired within some ranges: its session is closed, or was not answered (SGP-7)."""
        limit = self.settings.delivery_limit
        changes = []
        self._window().split_at_start()
        for each in ranges:
            for first, last, state in self._window().states_between(each.first_offset, each.last_offset):
                if state.state is RecordState.ACQUIRED and state.undo is None and state.member_id == member_id:
                    event = self._event_of_release(last)
                    state.begin(event, limit)
                    changes.append(Change(first, last, state, event))
        self.store(changes, answer, now)

    def store(self, changes: list[Change], answer: Answer, now: Instant) -> None:
        """Store changes that have begun; they count when that is answered (SGK-10).

        The start does not move where there is nothing to store (SGP-4).
        """
        stored = [change for change in changes if change.event is not RecordEvent.RENEWED]
        if not stored:
            self._finish(changes, now)
            answer(ErrorCode.NONE, None, now)
            return
        self._write(stored, partial(self._stored, changes, answer), now)

    def _stored(self, changes: list[Change], answer: Answer, code: ErrorCode, now: Instant) -> None:
        text = f"Error in write state RPC. {_WRITE_TEXTS.get(code, code.name)}" if code else None
        code = error_of_coordinator(code)
        if self.is_ended:  # it was dropped meanwhile: what is in memory counts no more
            answer(code, text, now)
            return
        if code:
            self._take_back(changes, now)
        else:
            self._finish(changes, now)
            if self._window().advance():
                self.wake(now)
        answer(code, text, now)
        if code in _FENCED:
            self._fenced(self, now)

    def _finish(self, changes: list[Change], now: Instant) -> None:
        for change in changes:
            change.state.finish()
            if change.event is RecordEvent.RENEWED:
                change.state.relock(self._lock(change.first_offset, change.last_offset, now))
        self._changed()

    def _take_back(self, changes: list[Change], now: Instant) -> None:
        for change in changes:
            change.state.take_back()
        self._changed()
        overdue = [change for change in changes if change.state.is_overdue]
        if overdue:
            self._release_overdue(overdue, now)

    def _write(self, changes: list[Change], done: Callable[[ErrorCode, Instant], None], now: Instant) -> None:
        """Store the states of changes, with the start offset as it is before them (SGO-2)."""
        window = self._window()
        batches = tuple(
            StateBatch(change.first_offset, change.last_offset, change.state.state, change.state.delivery_count)
            for change in changes
        )
        change = StateWrite(self._state_epoch, self.leader_epoch, window.start_offset, window.done_count(), batches)
        asking.write(self.node, self.key, change, done, now)

    # -- locks ----------------------------------------------------------------------------------------------------

    def _lock(self, first_offset: int, last_offset: int, now: Instant) -> AcquisitionLock:
        due_ms = now.mono_ms + self.settings.lock_duration_ms
        return AcquisitionLock(self.node, first_offset, last_offset, self._timed_out, due_ms)

    def _timed_out(self, lock: AcquisitionLock, now: Instant) -> None:
        """The time of a lock is up: what it still holds is released, and fetches that wait are tried again (SGP-5).

        Records with states of their own have timers of their own in Kafka: a fetch that waits gets the first.
        """
        self._window().split_at_start()
        held = [
            Change(first, last, state, RecordEvent.RELEASED)
            for first, last, state in self._window().states_between(lock.first_offset, lock.last_offset)
            if state.lock is lock and state.undo is None
        ]
        passes = self.node.cluster.timers.passes
        passes.take_steps(self._release_in_steps(lock, held), lambda _nothing, _now: None, now)

    def _release_in_steps(self, lock: AcquisitionLock, held: Sequence[Change]) -> Generator[None, None, None]:
        """Release what a lock held, one by one while fetches take what they get."""
        passes = self.node.cluster.timers.passes
        pace = passes.pace(_RELEASES_PER_STEP)
        for number in range(len(held)):
            waiting = len(self.waiters)
            self._release_overdue(self._still_held(lock, held[number : number + 1]), passes.now)
            if self.is_ended:
                return
            if len(self.waiters) == waiting:  # the first of them was for nobody, and so are the others
                self._release_overdue(self._still_held(lock, held[number + 1 :]), passes.now)
                return
            if pace.is_over(len(held) + waiting):
                yield

    def _still_held(self, lock: AcquisitionLock, held: Sequence[Change]) -> list[Change]:
        """Those that were not acknowledged between the steps."""
        return [change for change in held if change.state.lock is lock and change.state.undo is None]

    def _release_overdue(self, held: list[Change], now: Instant) -> None:
        """Release records without asking whether that could be stored."""
        self._fetch_offset = None
        limit, window = self.settings.delivery_limit, self._window()
        for change in held:
            change.state.change(self._event_of_release(change.last_offset), limit)
        if held:
            self._write(held, self._overdue_stored, now)
        window.advance()
        self.wake(now)

    def _overdue_stored(self, code: ErrorCode, now: Instant) -> None:
        if error_of_coordinator(code) in _FENCED and not self.is_ended:
            self._fenced(self, now)

    def _event_of_release(self, last_offset: int) -> RecordEvent:
        """What a release means for a record: none that the log has lost becomes available."""
        is_lost = last_offset < self._window().start_offset
        return RecordEvent.LOG_START_PASSED if is_lost else RecordEvent.RELEASED

    def wake(self, now: Instant) -> None:
        """Have the fetches that wait look again. One that finds enough wakes others: they look after it."""
        self._fetch_offset = None
        self.node.cluster.timers.passes.one_by_one(self._look_all, now)

    def _look_all(self, now: Instant) -> None:
        for each in list(self.waiters):
            each.look(self, now)

    def _changed(self) -> None:
        self._fetch_offset = None
        for each in self.waiters:
            each.changed(self)

    def _window(self) -> RecordWindow:
        """The window of a share partition that is loaded."""
        assert self.window is not None
        return self.window
