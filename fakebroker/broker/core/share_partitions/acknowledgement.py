"""Acknowledgements of one member for one share partition: all of them count, or none (SGK).

Kafka: `SharePartition.acknowledge`.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from fakebroker.broker.core.share_partitions.in_flight import InFlightBatch, InFlightState
from fakebroker.broker.core.share_partitions.record_window import RecordWindow
from fakebroker.broker.core.share_partitions.states import EVENT_OF, AcknowledgeType, RecordEvent, RecordState
from fakebroker.protocol.errors import ErrorCode, KafkaError

NOT_IN_WINDOW: Final = "Batch record not found. The request batch offsets are not found in the cache."


class AcknowledgedBatch(NamedTuple):
    """What a member says of a range of offsets: one type for all, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]

    def event(self, offset: int) -> RecordEvent:
        """What happens to the record at an offset of the range."""
        return EVENT_OF[AcknowledgeType(self.types[offset - self.first_offset if len(self.types) > 1 else 0])]


class Change(NamedTuple):
    """A state whose change has begun, and the offsets that it is of."""

    first_offset: int
    last_offset: int
    state: InFlightState
    event: RecordEvent


def are_well_formed(batches: Sequence[AcknowledgedBatch], *, may_renew: bool) -> bool:
    """Whether ranges are in order, with types that there are and as many as offsets; else INVALID_REQUEST (SGK-6).

    `may_renew`: the request says that locks are to be renewed.
    """
    most = AcknowledgeType.RENEW if may_renew else AcknowledgeType.REJECT
    end = -1
    for batch in batches:
        if batch.first_offset > batch.last_offset or batch.first_offset < end or not batch.types:
            return False
        if len(batch.types) > 1 and len(batch.types) != batch.last_offset - batch.first_offset + 1:
            return False
        if any(not 0 <= each <= most for each in batch.types):
            return False
        end = batch.last_offset
    return True


def begin(
    window: RecordWindow, member_id: str, batches: Sequence[AcknowledgedBatch], delivery_limit: int
) -> list[Change]:
    """Begin the changes that a member's acknowledgements make; they count once `InFlightState.finish` is called.

    Raises KafkaError, and nothing has changed then: INVALID_RECORD_STATE for records that the member has not acquired,
    INVALID_REQUEST for those that nobody ever did, UNKNOWN_SERVER_ERROR where Kafka stumbles.
    """
    changes: list[Change] = []
    try:
        for batch in batches:
            if batch.last_offset >= window.start_offset:  # what is before is over and done with (SGK-7)
                for known in _known(window, batch):
                    _begin_batch(window, member_id, batch, known, delivery_limit, changes)
    except KafkaError:
        for change in changes:
            change.state.take_back()
        raise
    return changes


def _known(window: RecordWindow, batch: AcknowledgedBatch) -> list[InFlightBatch]:
    """The batches of the window that an acknowledged range touches."""
    floor = window.floor(batch.first_offset)
    if floor is None and batch.first_offset < window.start_offset:
        floor = window.floor(window.start_offset)
        if floor is None:  # Kafka 4.3.1 meets a null pointer here
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "no records are in delivery")
    if floor is None:
        raise KafkaError(ErrorCode.INVALID_RECORD_STATE, NOT_IN_WINDOW)
    known = window.between(floor.first_offset, batch.last_offset)
    end = known[-1].last_offset
    if batch.last_offset > end:
        which = "first offset" if batch.first_offset > end else "last offset"
        text = f"Batch record not found. The {which} in request is past acquired records."
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    return known


def _begin_batch(
    window: RecordWindow,
    member_id: str,
    batch: AcknowledgedBatch,
    known: InFlightBatch,
    delivery_limit: int,
    changes: list[Change],
) -> None:
    """Begin the changes of one batch of the window: as a whole if the range has all of it, else offset by offset."""
    if known.last_offset < window.start_offset or known.last_offset < batch.first_offset:
        return
    whole = known.whole
    if whole is not None:
        if whole.state is not RecordState.ACQUIRED or whole.undo is not None:
            text = "The batch cannot be acknowledged. The batch is not in the acquired state."
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, text)
        _check_owner(whole, member_id, "batch record")
        known = window.part(known, max(batch.first_offset, window.start_offset), batch.last_offset)
        whole = known.whole
        is_all = known.lies_within(batch.first_offset, batch.last_offset) and known.first_offset >= window.start_offset
        if whole is not None and is_all and len(batch.types) == 1:
            _begin_state(
                known.first_offset, known.last_offset, whole, batch.event(known.first_offset), delivery_limit, changes
            )
            return
    states = known.split()
    first = max(batch.first_offset, window.start_offset, known.first_offset)
    for offset in range(first, min(batch.last_offset, known.last_offset) + 1):
        state = states[offset]
        if state.state is not RecordState.ACQUIRED or state.undo is not None:
            text = "The offset cannot be acknowledged. The offset is not acquired."
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, text)
        _check_owner(state, member_id, "offset")
        _begin_state(offset, offset, state, batch.event(offset), delivery_limit, changes)


def _check_owner(state: InFlightState, member_id: str, what: str) -> None:
    if state.member_id != member_id:
        raise KafkaError(ErrorCode.INVALID_RECORD_STATE, f"Member is not the owner of {what}")


def _begin_state(
    first: int, last: int, state: InFlightState, event: RecordEvent, delivery_limit: int, changes: list[Change]
) -> None:
    state.begin(event, delivery_limit)
    changes.append(Change(first, last, state, event))
