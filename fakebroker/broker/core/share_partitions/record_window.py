"""The window of a share partition: from the first record that the group is not finished with to the last acquired one.

Only records in it have a state (SGP-2). Kafka: `SharePartition.cachedState` and the offsets beside it.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from sortedcontainers import SortedDict

from fakebroker.broker.core.share_partitions.in_flight import InFlightBatch, InFlightState
from fakebroker.broker.core.share_partitions.states import DONE, RecordEvent, RecordState
from fakebroker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.states import StateBatch

_STORED_STATES = frozenset(int(state) for state in RecordState)
INT32_MAX = 2**31 - 1
_NO_LIMIT = 2**31  # of deliveries, for events whose outcome does not depend on one


class RecordWindow:
    """Batches in the order of their offsets. Without any, `start_offset` and `end_offset` are where fetching goes on;
    else `end_offset` is the last offset that was ever acquired.

    `gaps` are ranges inside of it that have no batch, as after a load: records that were in delivery, or were not
    reached yet; the last offset by the first. They are fetched again.
    """

    __slots__ = ("batches", "end_offset", "gaps", "start_offset")

    def __init__(self, start_offset: int) -> None:
        self.start_offset = self.end_offset = start_offset
        self.batches: SortedDict[int, InFlightBatch] = SortedDict()
        self.gaps: SortedDict[int, int] = SortedDict()

    @classmethod
    def stored(cls, start_offset: int, batches: "Sequence[StateBatch]") -> "RecordWindow":
        """What was stored of a share partition; the batches are in order and at or above the start offset.

        Raises KafkaError(UNKNOWN_SERVER_ERROR) for a state that there is not: any number is stored.
        """
        window = cls(start_offset)
        expected = start_offset
        for first, last, state, delivery_count in batches:
            if state not in _STORED_STATES:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"records cannot be in state {state}")
            if first > expected:
                window.gaps[expected] = first - 1
            window.batches[first] = InFlightBatch(first, last, RecordState(state), delivery_count)
            window.end_offset = last
            expected = last + 1
        window.advance()
        return window

    def __iter__(self) -> Iterator[InFlightBatch]:
        return iter(self.batches.values())

    @property
    def span(self) -> int:
        """How many offsets there are from the start to the last acquired one (SGP-2, SGF-17).

        As in Kafka it is 1 when the log has lost all of the window and something of it is still in delivery.
        """
        return self.end_offset - self.start_offset + 1 if self.batches else 0

    @property
    def next_offset(self) -> int:
        """The first offset that is not in the window."""
        if not self.batches or self.start_offset > self.batches.peekitem()[1].last_offset:
            return self.end_offset
        return self.end_offset + 1

    def fetch_offset(self) -> int:
        """Where the next fetch reads: the first record that is available, else the end of the window (SGP-3)."""
        gap = self._first_gap()
        for batch in self:
            if gap is not None and gap < batch.first_offset:
                return gap
            available = batch.first_available()
            if available is not None:
                return available
        return self.next_offset

    def floor(self, offset: int) -> InFlightBatch | None:
        """The last batch that begins at or before an offset, or None."""
        at = self.batches.bisect_right(offset) - 1
        return self.batches.peekitem(at)[1] if at >= 0 else None

    def between(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """The batches that begin in that range, both ends included."""
        return [self.batches[key] for key in self.batches.irange(first_offset, last_offset)]

    def _overlapping(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """The batches that have a part in that range, both ends included."""
        floor = self.floor(first_offset)
        start = floor.first_offset if floor is not None and floor.last_offset >= first_offset else first_offset
        return self.between(start, last_offset)

    def states_between(self, first_offset: int, last_offset: int) -> Iterator[tuple[int, int, InFlightState]]:
        """(first offset, last offset, state) of what has a part in that range, in order."""
        for batch in self._overlapping(first_offset, last_offset):
            yield from batch.states_between(first_offset, last_offset)

    def put(self, batch: InFlightBatch) -> None:
        """Records were acquired for the first time. The log may have a hole where the window began."""
        self.batches[batch.first_offset] = batch
        self.skip_gaps(batch.last_offset + 1)
        if self.batches.peekitem(0)[1] is batch:
            self.start_offset = batch.first_offset
        self.end_offset = max(self.end_offset, batch.last_offset)

    def part(self, batch: InFlightBatch, first_offset: int, last_offset: int) -> InFlightBatch:
        """What a large batch has in a range, which is a batch of its own from now on; any other batch is itself."""
        first, last = max(batch.first_offset, first_offset), min(batch.last_offset, last_offset)
        if not batch.is_large or first > last:
            return batch
        pieces = {piece.first_offset: piece for piece in batch.cut(first, last)}
        self.batches.update(pieces)
        return pieces[first]

    def skip_gaps(self, offset: int) -> None:
        """What a gap has before an offset was acquired, or the log does not have it."""
        gaps = self.gaps
        while gaps and gaps.peekitem(0)[0] < offset:
            _, last = gaps.popitem(0)
            if last >= offset:
                gaps[offset] = last

    def gaps_between(self, first_offset: int, last_offset: int) -> list[tuple[int, int]]:
        """What gaps have of a range, both ends included: first and last offsets."""
        before = self.gaps.bisect_right(first_offset) - 1
        keys = takewhile(lambda first: first <= last_offset, self.gaps.islice(max(before, 0)))
        parts = ((max(first, first_offset), min(self.gaps[first], last_offset)) for first in keys)
        return [(first, last) for first, last in parts if first <= last]

    def _first_gap(self) -> int | None:
        """Where the first gap begins, if there is one."""
        first: int | None = self.gaps.peekitem(0)[0] if self.gaps else None
        return first

    def states_count(self) -> int:
        """How many states there are: one for a batch, or one for each of its offsets."""
        return sum(1 if batch.offsets is None else len(batch.offsets) for batch in self)

    def done_count(self) -> int:
        """How many records of the window the group is finished with, at or above the start offset; INT32_MAX for more,
        since what was stored of it may name any offsets.
        """
        done = (
            last - max(first, self.start_offset) + 1
            for batch in self
            for first, last, state in batch.states()
            if state.state in DONE and last >= self.start_offset
        )
        return min(sum(done), INT32_MAX)

    def advance(self) -> bool:
        """Move the start over records that the group is finished with (SGP-4). Returns whether it moved."""
        start = self._done_until()
        if start <= self.start_offset:
            return self._go_back()
        if start == self.next_offset:
            self.end_offset = start
        self._start_at(start)
        return True

    def _go_back(self) -> bool:
        """Move a start that lies behind all batches back to their end, once all are finished. Returns whether it moved.

        This is an accident of Kafka 4.3.1: the next fetch finds once more where the log begins (SGP-4). It does not
        happen if the last batch has a state for each offset.
        """
        if not self.batches:
            return False
        last = self.batches.peekitem()[1]
        if last.last_offset >= self.start_offset or last.whole is None:
            return False
        if any(batch.done_until() <= batch.last_offset for batch in self):
            return False
        self.batches.clear()
        self.start_offset = self.end_offset = last.last_offset + 1
        return True

    def log_starts_at(self, offset: int) -> None:
        """The log begins there: what is available before it is archived, and the start moves."""
        if offset <= self.start_offset:
            return
        self.archive_available(self.start_offset, offset - 1)
        self.start_offset = offset
        self.skip_gaps(offset)
        self.end_offset = max(self.end_offset, offset)

    def split_at_start(self) -> None:
        """Give the records of a batch that begins before the start a state each: those before it are lost."""
        floor = self.floor(self.start_offset - 1)
        if floor is not None and floor.last_offset >= self.start_offset:
            whole = floor.whole
            if whole is not None and whole.undo is None:
                self._split_at(floor, self.start_offset)

    def _split_at(self, batch: InFlightBatch, offset: int) -> None:
        if batch.is_large:
            self.part(batch, offset, batch.last_offset)
        else:
            batch.split()

    def archive_available(self, first_offset: int, last_offset: int) -> None:
        """Records of that range that are available are not in the log any more."""
        for batch in self._overlapping(first_offset, last_offset):
            whole = batch.whole
            if whole is not None and not whole.is_available:
                continue
            batch = self.part(batch, first_offset, last_offset)
            whole = batch.whole
            if whole is not None and batch.lies_within(first_offset, last_offset):
                whole.change(RecordEvent.LOG_START_PASSED, _NO_LIMIT)
                continue
            batch.split()
            for _, _, state in batch.states_between(first_offset, last_offset):
                if state.is_available:
                    state.change(RecordEvent.LOG_START_PASSED, _NO_LIMIT)

    def archive_acquired(self, first_offset: int, last_offset: int) -> None:
        """Records of that range, all of them acquired, were of a transaction that was aborted."""
        for batch in self._overlapping(first_offset, last_offset):
            batch = self.part(batch, first_offset, last_offset)
            if not batch.lies_within(first_offset, last_offset):
                batch.split()
            for _, _, state in batch.states_between(first_offset, last_offset):
                state.change(RecordEvent.ABORTED, _NO_LIMIT)

    def _done_until(self) -> int:
        """The first offset of the window that the group is not finished with.

        As in Kafka it is the start as long as something before the start, which the log has lost, is in delivery.
        """
        gap = self._first_gap()
        for batch in self:
            if gap is not None and gap < batch.first_offset:
                return gap
            done = batch.done_until()
            if done <= batch.last_offset:
                return max(done, self.start_offset)
        return self.next_offset

    def _start_at(self, offset: int) -> None:
        """The window starts at an offset: what is before it goes, but for batches that are in delivery."""
        self.start_offset = offset
        for batch in self.between(-1, offset - 1):
            if batch.last_offset < offset and not batch.is_in_delivery:
                del self.batches[batch.first_offset]
        self.skip_gaps(offset)
