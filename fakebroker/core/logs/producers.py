"""Idempotent producers on one partition: what was written last, and whether a batch may follow it (KIP-98, ID).

Kafka: `ProducerStateManager`, `ProducerStateEntry`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sortedcontainers import SortedDict

from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.records.batch import BatchHeader

_WINDOW = 5  # batches that are remembered for each producer, so that a repeated one is recognised (ID-1)
_SEQUENCE_MASK = 0x7FFFFFFF


class WrittenBatch(NamedTuple):
    """One of the last batches of a producer."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    max_timestamp_ms: int


class ProducerState:
    """One producer id on one partition (ID-1)."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_transaction_offset",
        "epoch",
        "last_timestamp_ms",
        "producer_id",
    )

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: list[WrittenBatch] = []  # the last ones; a list, as an empty deque takes 600 bytes more
        self.last_timestamp_ms = -1
        self.coordinator_epoch = -1
        self.current_transaction_offset: int | None = None  # where its open transaction on this partition began

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, -1 when its epoch has written none."""
        return self.batches[-1].last_sequence if self.batches else -1


class Producers:
    """The producers of one partition, and the transactions that are open on it."""

    def __init__(self) -> None:
        self._states: dict[int, ProducerState] = {}
        # First offset of an open transaction -> producer id. Transactions end in any order; the lowest offset is used.
        self._open: SortedDict[int, int] = SortedDict()
        # Where the oldest open transaction begins: the last stable offset does not pass it (FT-14).
        self.first_open_offset: int | None = None

    def __iter__(self) -> Iterator[ProducerState]:
        return iter(self._states.values())

    def __len__(self) -> int:
        return len(self._states)

    def get(self, producer_id: int) -> ProducerState | None:
        """The state of a producer id, or None when it is not known here."""
        return self._states.get(producer_id)

    def put(self, state: ProducerState) -> None:
        """Know a producer, as when a broker reads its disk."""
        self._states[state.producer_id] = state
        if state.current_transaction_offset is not None:
            self._open[state.current_transaction_offset] = state.producer_id
            self._update_first_open()

    def check(self, batch: BatchHeader) -> WrittenBatch | None:
        """Check that `batch` may be appended. Returns the batch written before if this one repeats it (ID-3).

        Raises KafkaError, in the order of Kafka's checks (ID-2): INVALID_TXN_STATE (ID-10), INVALID_PRODUCER_EPOCH
        (ID-4), OUT_OF_ORDER_SEQUENCE_NUMBER (ID-4, ID-5).
        """
        state = self._states.get(batch.producer_id)
        if state is None:
            return None  # an unknown producer may begin with any epoch and sequence (ID-7)
        repeated = self._repeated(state, batch)
        if repeated is not None:
            return repeated
        if state.current_transaction_offset is not None and not batch.is_transactional:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"producer {batch.producer_id} has an open transaction here")
        if batch.producer_epoch < state.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {batch.producer_id} is at epoch {state.epoch}, the batch has {batch.producer_epoch}",
            )
        goes_on = batch.producer_epoch == state.epoch
        expected = (state.last_sequence + 1) & _SEQUENCE_MASK if goes_on else 0
        if batch.base_sequence != expected:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {batch.producer_id}: sequence {batch.base_sequence} where {expected} was due",
            )
        return None

    def written(self, batch: BatchHeader, first_offset: int, max_timestamp_ms: int) -> bool:
        """Record that `batch` was appended at `first_offset`.

        Returns whether its producer may now expire earlier than before, so that the expiry job must be woken.
        """
        state = self._states.get(batch.producer_id)
        if state is None:
            state = self._states[batch.producer_id] = ProducerState(batch.producer_id, batch.producer_epoch)
        if state.epoch != batch.producer_epoch:
            state.epoch = batch.producer_epoch
            state.batches.clear()
        last_offset = first_offset + batch.last_offset_delta
        state.batches.append(
            WrittenBatch(batch.base_sequence, batch.last_sequence, first_offset, last_offset, max_timestamp_ms)
        )
        if len(state.batches) > _WINDOW:
            del state.batches[0]
        is_earlier = len(state.batches) == 1 or max_timestamp_ms < state.last_timestamp_ms
        state.last_timestamp_ms = max_timestamp_ms
        if batch.is_transactional and state.current_transaction_offset is None:
            state.current_transaction_offset = first_offset
            self._open[first_offset] = batch.producer_id
            self._update_first_open()
        return is_earlier

    def ended(self, producer_id: int, epoch: int, coordinator_epoch: int, timestamp_ms: int) -> int | None:
        """A marker ended the producer's transaction here. Returns where that began, None if none was open (WM-4)."""
        state = self._states.get(producer_id)
        if state is None:
            state = self._states[producer_id] = ProducerState(producer_id, epoch)
        if state.epoch != epoch:
            state.epoch = epoch
            state.batches.clear()  # ID-12: the sequence goes on only within the epoch
        began = state.current_transaction_offset
        if began is not None:
            del self._open[began]
            self._update_first_open()
        state.current_transaction_offset = None
        state.coordinator_epoch = coordinator_epoch
        state.last_timestamp_ms = timestamp_ms
        return began

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers whose last batch is too old by its own timestamp (ID-11); returns how many went."""
        old = [
            state.producer_id
            for state in self._states.values()
            if state.current_transaction_offset is None and now_ms - state.last_timestamp_ms >= expiration_ms
        ]
        for producer_id in old:
            del self._states[producer_id]
        return len(old)

    def clear(self) -> None:
        """Forget everything."""
        self._states.clear()
        self._open.clear()
        self._update_first_open()

    def _update_first_open(self) -> None:
        self.first_open_offset = self._open.keys()[0] if self._open else None

    @staticmethod
    def _repeated(state: ProducerState, batch: BatchHeader) -> WrittenBatch | None:
        if batch.producer_epoch != state.epoch:
            return None
        wanted = batch.base_sequence, batch.last_sequence
        return next((b for b in state.batches if (b.first_sequence, b.last_sequence) == wanted), None)
