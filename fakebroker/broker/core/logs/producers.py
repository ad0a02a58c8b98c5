"""Producers with an id on one partition: what was written last, and whether a batch or a marker may follow it (ID, WM).

Kafka: `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`, `VerificationStateEntry`.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sortedcontainers import SortedDict

from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.batch import BatchHeader, parse_header, read_records
from fakebroker.protocol.records.markers import coordinator_epoch_of

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


class Verification:
    """The question to the transaction coordinator whether the partition is in a producer's transaction (TX-6).

    It is made before the coordinator is asked, and ends with the first batch of the transaction or with its marker: a
    batch that was verified before a marker may not be appended after it.
    """

    __slots__ = ("epoch", "is_tv2", "lowest_sequence", "since_ms")

    def __init__(self, epoch: int, sequence: int, *, is_tv2: bool, since_ms: int) -> None:
        self.epoch = epoch
        self.lowest_sequence = sequence  # of the batches that were asked for: no later one may overtake it
        self.is_tv2 = is_tv2
        self.since_ms = since_ms


class Producers:
    """The producers of one partition, and the transactions that are open on it."""

    def __init__(self, *, outlive_records: bool = True) -> None:
        """Without `outlive_records` a producer is forgotten with its last record here (ID-9).

        Then one of which no batch is known must begin with sequence 0: it may have lost what it wrote (ID-7).
        """
        self._outlive_records = outlive_records
        self._states: dict[int, ProducerState] = {}
        # First offset of an open transaction -> producer id. Transactions end in any order; the lowest offset is used.
        self._open: SortedDict[int, int] = SortedDict()
        # (first offset, offset of the marker) of ended transactions whose markers not all replicas have.
        self.unreplicated: list[tuple[int, int]] = []
        # Where the oldest of both kinds begins: the last stable offset does not pass it (FT-14).
        self.first_unstable_offset: int | None = None
        self._verifications: dict[int, Verification] = {}

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
            self._update_first_unstable()

    # -- checks --------------------------------------------------------------------------------------------------

    def check(self, batch: BatchHeader) -> WrittenBatch | None:
        """Check that `batch` may be appended. Returns the batch written before if this one repeats it (ID-3).

        Raises KafkaError, in the order of Kafka's checks (ID-2): INVALID_PRODUCER_EPOCH (ID-4),
        OUT_OF_ORDER_SEQUENCE_NUMBER (ID-4, ID-5, ID-7), UNKNOWN_PRODUCER_ID (ID-7), INVALID_TXN_STATE (ID-10).
        """
        state = self._states.get(batch.producer_id)
        if state is None:  # an unknown producer may begin with any epoch and, outside of TV2, any sequence (ID-7)
            if self._verifications:
                self._check_verified_sequence(batch, has_batches=False)
            if batch.base_sequence and not self._outlive_records:
                raise _unknown_producer(batch)
            return None
        repeated = self._repeated(state, batch)
        if repeated is not None:
            return repeated
        if batch.producer_epoch < state.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {batch.producer_id} is at epoch {state.epoch}, but the batch has epoch "
                f"{batch.producer_epoch}",
            )
        if self._verifications:
            self._check_verified_sequence(batch, has_batches=bool(state.batches))
        goes_on = batch.producer_epoch == state.epoch
        expected = (state.last_sequence + 1) & _SEQUENCE_MASK if goes_on else 0
        if batch.base_sequence != expected:
            self._refuse_sequence(state, batch, expected)
        if state.current_transaction_offset is not None and not batch.is_transactional:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"producer {batch.producer_id} has an open transaction here")
        return None

    def _refuse_sequence(self, state: ProducerState, batch: BatchHeader, expected: int) -> None:
        """Raise KafkaError for a sequence that does not follow, unless epoch -1, which is none, lets any follow (ID-7).

        Where producers do not outlive their records, no sequence is known after a marker, either.
        """
        is_known = bool(state.batches) if batch.producer_epoch == state.epoch else state.epoch >= 0
        if not (is_known or self._outlive_records):
            raise _unknown_producer(batch)
        if state.epoch >= 0 or not self._outlive_records:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {batch.producer_id}: sequence {batch.base_sequence} is out of order; expected {expected}",
            )

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Raise KafkaError(INVALID_PRODUCER_EPOCH) if the producer has written with a higher epoch here (ID-4)."""
        state = self._states.get(producer_id)
        if state is not None and epoch < state.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH, f"producer {producer_id} is at epoch {state.epoch}, not {epoch}"
            )

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int, *, is_tv2: bool) -> None:
        """Check that a marker may be appended.

        Raises KafkaError: INVALID_PRODUCER_EPOCH for an epoch below the producer's, and under TV2 also for the same
        epoch while a transaction is open; TRANSACTION_COORDINATOR_FENCED for a coordinator epoch below the one that
        wrote the producer's last marker (WM-2, WM-3).
        """
        self.check_epoch(producer_id, epoch)
        state = self._states.get(producer_id)
        if state is None:
            return
        if is_tv2 and epoch == state.epoch and state.current_transaction_offset is not None:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"the marker's epoch {epoch} is that of the records; it must be higher",
            )
        if coordinator_epoch < state.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {coordinator_epoch} for producer {producer_id} is older than "
                f"{state.coordinator_epoch}",
            )

    def is_in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has an open transaction here in this epoch: its batches need no verification (TX-6)."""
        state = self._states.get(producer_id)
        return state is not None and state.current_transaction_offset is not None and state.epoch == epoch

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, now_ms: int, *, is_tv2: bool
    ) -> Verification:
        """The transaction coordinator is about to be asked for the transaction of a batch that begins with `sequence`.

        `now_ms` is wall time. See `PartitionLog.begin_verification`.
        """
        known = self._verifications.get(producer_id)
        if known is None:
            known = Verification(epoch, sequence, is_tv2=is_tv2, since_ms=now_ms)
            self._verifications[producer_id] = known
        elif epoch > known.epoch:
            known.epoch, known.lowest_sequence = epoch, sequence
        elif epoch == known.epoch:
            known.lowest_sequence = min(known.lowest_sequence, sequence)
        return known

    def is_verified(self, producer_id: int, epoch: int, verification: Verification | None) -> bool:
        """Whether a batch still belongs to a transaction, after the coordinator has said yes to `verification`.

        None: it was not asked, as the transaction was open here.
        """
        if verification is not None and self._verifications.get(producer_id) is verification:
            return True
        return self.is_in_transaction(producer_id, epoch)

    def _check_verified_sequence(self, batch: BatchHeader, *, has_batches: bool) -> None:
        """Raise KafkaError(OUT_OF_ORDER_SEQUENCE_NUMBER) for a batch that overtakes another of its transaction.

        So it is for the first batch of a producer under TV2 unless it begins with 0 (ID-7).
        """
        verification = self._verifications.get(batch.producer_id)
        if verification is None:
            return
        starts_late = verification.is_tv2 and batch.base_sequence != 0 and not has_batches
        if starts_late or batch.base_sequence > verification.lowest_sequence:
            due = 0 if starts_late else verification.lowest_sequence
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {batch.producer_id}: sequence {batch.base_sequence} is out of order; its "
                f"transaction expected {due}",
            )

    # -- what was appended ---------------------------------------------------------------------------------------

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
        batches = state.batches
        written = batch.base_sequence, batch.last_sequence, first_offset, last_offset, max_timestamp_ms
        batches.append(tuple.__new__(WrittenBatch, written))  # as WrittenBatch(*written), in half the time
        if len(batches) > _WINDOW:
            del batches[0]
        is_earlier = len(batches) == 1 or max_timestamp_ms < state.last_timestamp_ms
        state.last_timestamp_ms = max_timestamp_ms
        if batch.is_transactional:
            if self._verifications:
                self._verifications.pop(batch.producer_id, None)
            if state.current_transaction_offset is None:
                state.current_transaction_offset = first_offset
                self._open[first_offset] = batch.producer_id
                self._update_first_unstable()
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
            self._update_first_unstable()
        self._verifications.pop(producer_id, None)
        state.current_transaction_offset = None
        state.coordinator_epoch = coordinator_epoch
        state.last_timestamp_ms = timestamp_ms
        return began

    def open_before(self, offset: int) -> int:
        """Where the oldest open transaction began; `offset` if none is open."""
        return self._open.keys()[0] if self._open else offset

    def hold_until_replicated(self, first_offset: int, marker_offset: int) -> None:
        """An ended transaction counts as open until all replicas have its marker (FT-14); see `replicated_until`."""
        self.unreplicated.append((first_offset, marker_offset))
        self._update_first_unstable()

    def replicated_until(self, high_watermark: int) -> int | None:
        """The high watermark is here now. Returns `first_unstable_offset`, as it then is."""
        if self.unreplicated:
            self.unreplicated = [each for each in self.unreplicated if each[1] >= high_watermark]
            self._update_first_unstable()
        return self.first_unstable_offset

    def cut_start(self, offset: int) -> None:
        """The log starts at `offset` now: forget what is below it, unless producers outlive their records (ID-9)."""
        if self._outlive_records:
            return
        for state in list(self._states.values()):
            state.batches = [batch for batch in state.batches if batch.last_offset >= offset]
            if not state.batches:
                del self._states[state.producer_id]
                if state.current_transaction_offset is not None:
                    del self._open[state.current_transaction_offset]
        self.unreplicated = [each for each in self.unreplicated if each[1] >= offset]
        self._update_first_unstable()

    def expire(self, now_ms: int, expiration_ms: int) -> int | None:
        """Forget producers whose last batch is too old by its own timestamp (ID-11), and old verifications.

        Returns the time from which the oldest of those that stay counts, None if nothing is left that may expire.
        """
        old = [
            state.producer_id
            for state in self._states.values()
            if state.current_transaction_offset is None and now_ms - state.last_timestamp_ms >= expiration_ms
        ]
        for producer_id in old:
            del self._states[producer_id]
        for producer_id, verification in list(self._verifications.items()):
            if now_ms - verification.since_ms >= expiration_ms:
                del self._verifications[producer_id]
        last = [each.last_timestamp_ms for each in self if each.current_transaction_offset is None]
        last += [each.since_ms for each in self._verifications.values()]
        return min(last, default=None)

    def reload(self, batches: Iterable[bytes]) -> None:
        """Forget everything, and read it again from all stored batches, given in their order.

        An empty control batch is what compaction left of a marker: it tells nothing any more.
        """
        self._states.clear()
        self._open.clear()
        self._verifications.clear()
        self.unreplicated.clear()
        self._update_first_unstable()
        for batch in batches:
            header = parse_header(batch)
            if header.is_control:
                for marker in read_records(batch):
                    epoch = coordinator_epoch_of(marker.value)
                    self.ended(header.producer_id, header.producer_epoch, epoch, marker.timestamp_ms)
            elif header.producer_id >= 0:
                self.written(header, header.base_offset, header.max_timestamp_ms)

    def _update_first_unstable(self) -> None:
        first_open = self._open.keys()[0] if self._open else None
        if self.unreplicated:
            first_held = min(first_offset for first_offset, _ in self.unreplicated)
            first_open = first_held if first_open is None else min(first_open, first_held)
        self.first_unstable_offset = first_open

    @staticmethod
    def _repeated(state: ProducerState, batch: BatchHeader) -> WrittenBatch | None:
        batches, first = state.batches, batch.base_sequence
        if batch.producer_epoch != state.epoch or not batches:
            return None
        if first == (batches[-1].last_sequence + 1) & _SEQUENCE_MASK:
            return None  # it goes on, as nearly all do: the few that are remembered never take all sequences
        wanted = first, batch.last_sequence
        return next((b for b in batches if (b.first_sequence, b.last_sequence) == wanted), None)


def _unknown_producer(batch: BatchHeader) -> KafkaError:
    text = f"producer {batch.producer_id} has written nothing here; it cannot begin with sequence {batch.base_sequence}"
    return KafkaError(ErrorCode.UNKNOWN_PRODUCER_ID, text)
