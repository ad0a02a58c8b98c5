"""The records of a share partition that have a state: batches of them, and single ones where they differ.

A batch is what was acquired at one time; it is split into its offsets as soon as something is done with a part of it.
Kafka: `InFlightBatch`, `InFlightState`.
"""

from collections.abc import Iterator
from typing import Final

from fakebroker.broker.core.share_partitions.locks import AcquisitionLock
from fakebroker.broker.core.share_partitions.states import DONE, RecordEvent, RecordState, state_after

LARGEST_SPLIT: Final = 2_000
"""MOCK: offsets of a batch that get a state each. A larger one is cut into batches, which may have as many offsets as
there are numbers: what is stored of a share partition has one state for any range.
"""

MOST_DELIVERIES: Final = 2**15 - 1
"""That are counted, and stored: the stored count of a record may be anything."""


class InFlightState:
    """The state of one record, or of several that are treated alike.

    `member_id` is the owner of acquired ones, else "". `undo` is what they were before a change whose write is not
    answered yet: nobody else may touch them until then.
    """

    __slots__ = ("delivery_count", "lock", "member_id", "records", "state", "undo")

    def __init__(self, state: RecordState, delivery_count: int, records: int) -> None:
        self.state = state
        self.delivery_count = delivery_count
        self.records = records
        self.member_id = ""
        self.lock: AcquisitionLock | None = None
        self.undo: tuple[RecordState, str] | None = None

    @property
    def is_available(self) -> bool:
        """Whether a member may acquire it now."""
        return self.state is RecordState.AVAILABLE and self.undo is None

    def of(self, records: int) -> "InFlightState":
        """The same of so many of its records."""
        part = InFlightState(self.state, self.delivery_count, records)
        part.member_id, part.lock = self.member_id, self.lock
        return part

    def acquire(self, member_id: str, delivery_limit: int) -> None:
        """A member acquires it; its lock is set when the whole range is known."""
        self.state = state_after(self.state, RecordEvent.ACQUIRED, self.delivery_count, delivery_limit)
        self.delivery_count = min(self.delivery_count + 1, MOST_DELIVERIES)
        self.member_id = member_id

    def begin(self, event: RecordEvent, delivery_limit: int) -> None:
        """Change it until `finish` or `take_back`."""
        self.undo = (self.state, self.member_id)
        self.state = state_after(self.state, event, self.delivery_count, delivery_limit)
        if self.state is not RecordState.ACQUIRED:
            self.member_id = ""

    def finish(self) -> None:
        """The change is stored, or needs not be."""
        self.undo = None
        if self.state is not RecordState.ACQUIRED:
            self.unlock()

    def take_back(self) -> None:
        """The change could not be stored, or something beside it is wrong."""
        if self.undo is not None:
            self.state, self.member_id = self.undo
            self.undo = None

    def change(self, event: RecordEvent, delivery_limit: int) -> None:
        """Change it for good."""
        self.begin(event, delivery_limit)
        self.finish()

    def unlock(self) -> None:
        """No lock holds it any more."""
        if self.lock is not None:
            self.lock.let_go(self.records)
            self.lock = None

    def relock(self, lock: AcquisitionLock) -> None:
        """Another lock holds it from now on."""
        self.unlock()
        self.lock = lock

    @property
    def is_overdue(self) -> bool:
        """Whether it is still acquired although its lock timed out, while a change was to be stored that was not."""
        lock = self.lock
        return self.state is RecordState.ACQUIRED and lock is not None and lock.due_ms is None


class InFlightBatch:
    """The offsets from `first_offset` to `last_offset`: one state for all, or one for each when `offsets` is set."""

    __slots__ = ("_whole", "first_offset", "last_offset", "offsets")

    def __init__(self, first_offset: int, last_offset: int, state: RecordState, delivery_count: int) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self._whole = InFlightState(state, delivery_count, last_offset - first_offset + 1)
        self.offsets: dict[int, InFlightState] | None = None

    @property
    def size(self) -> int:
        """How many offsets it has."""
        return self.last_offset - self.first_offset + 1

    @property
    def whole(self) -> InFlightState | None:
        """The state of all its offsets; None where each has its own."""
        return self._whole if self.offsets is None else None

    @property
    def is_large(self) -> bool:
        """Whether it has one state, and too many offsets to give each its own."""
        return self.offsets is None and self.size > LARGEST_SPLIT

    def cut(self, first_offset: int, last_offset: int) -> list["InFlightBatch"]:
        """Batches like this one of what is before a range in it, of the range, and of what is after it."""
        bounds = [
            (self.first_offset, first_offset - 1),
            (first_offset, last_offset),
            (last_offset + 1, self.last_offset),
        ]
        return [self._piece(first, last) for first, last in bounds if first <= last]

    def _piece(self, first_offset: int, last_offset: int) -> "InFlightBatch":
        piece = InFlightBatch(first_offset, last_offset, self._whole.state, self._whole.delivery_count)
        piece._whole = self._whole.of(piece.size)
        return piece

    def split(self) -> dict[int, InFlightState]:
        """A state for each offset from now on. Not while a write of the whole is not answered yet."""
        if self.offsets is None:
            self.offsets = {offset: self._whole.of(1) for offset in range(self.first_offset, self.last_offset + 1)}
        return self.offsets

    def states(self) -> Iterator[tuple[int, int, InFlightState]]:
        """(first offset, last offset, state) of all parts, in order."""
        if self.offsets is None:
            yield self.first_offset, self.last_offset, self._whole
        else:
            for offset, state in self.offsets.items():
                yield offset, offset, state

    def states_between(self, first_offset: int, last_offset: int) -> Iterator[tuple[int, int, InFlightState]]:
        """The same of the parts in a range of offsets, both ends included; the others are not looked at."""
        if self.offsets is None:
            yield from self.states()
            return
        for offset in range(max(first_offset, self.first_offset), min(last_offset, self.last_offset) + 1):
            yield offset, offset, self.offsets[offset]

    def first_available(self) -> int | None:
        """The first offset that a member may acquire now, or None."""
        return next((first for first, _, state in self.states() if state.is_available), None)

    def done_until(self) -> int:
        """The first offset that the group is not finished with; the one after the last if there is none."""
        for first, _, state in self.states():
            if state.state not in DONE or state.undo is not None:
                return first
        return self.last_offset + 1

    @property
    def is_in_delivery(self) -> bool:
        """Whether a member has acquired a part of it, or a change of it is not stored yet."""
        return any(state.state is RecordState.ACQUIRED or state.undo is not None for _, _, state in self.states())

    def lies_within(self, first_offset: int, last_offset: int) -> bool:
        """Whether all its offsets are in that range."""
        return first_offset <= self.first_offset and self.last_offset <= last_offset
