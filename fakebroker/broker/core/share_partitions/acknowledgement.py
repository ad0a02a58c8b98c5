"""Acknowledgements of one member for one share partition: all of them count, or none (SGK).

Kafka: `SharePartition.acknowledge`.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from fakebroker.broker.core.share_partitions.in_flight import InFlightBatch, InFlightState
from fakebroker.broker.core.share_partitions.record_window import RecordWindow
from fakebroker.broker.core.share_partitions.states import EVENT_OF, AcknowledgeType, RecordEvent, RecordState
from fakebroker.protocol.errors import ErrorCode, KafkaError

MAX_STATES: Final = 20_000
"""MOCK: how many different states of records acknowledgements can make in one share partition: each costs memory, and
each request goes over all of them.
"""
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
    INVALID_REQUEST for those that nobody ever did and for more states than a window may have (MOCK),
    UNKNOWN_SERVER_ERROR where Kafka stumbles.
    """
    beginning = _Beginning(window, member_id, delivery_limit)
    try:
        for batch in batches:
            if batch.last_offset >= window.start_offset:  # what is before is over and done with (SGK-7)
                for known in _known(window, batch):
                    beginning.begin(batch, known)
    except KafkaError:
        for change in beginning.changes:
            change.state.take_back()
        raise
    return beginning.changes


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


class _Beginning:
    """The changes of one call of `begin`."""

    def __init__(self, window: RecordWindow, member_id: str, delivery_limit: int) -> None:
        self.changes: list[Change] = []
        self._window = window
        self._member_id = member_id
        self._delivery_limit = delivery_limit
        self._room: int | None = None  # for how many more states; counted when there are to be more

    def begin(self, batch: AcknowledgedBatch, known: InFlightBatch) -> None:
        """Those of one batch of the window: as a whole if the range has all of it, else offset by offset."""
        start = self._window.start_offset
        if known.last_offset < start or known.last_offset < batch.first_offset:
            return
        whole = known.whole
        if whole is not None:
            self._check(whole, "batch")
            known = self._part(known, max(batch.first_offset, start), batch.last_offset)
            whole = known.whole
            is_all = known.lies_within(batch.first_offset, batch.last_offset) and known.first_offset >= start
            if whole is not None and is_all and len(batch.types) == 1:
                self._change(known.first_offset, known.last_offset, whole, batch.event(known.first_offset))
                return
        self._take_room(known.size - 1 if known.whole is not None else 0)
        states = known.split()
        first = max(batch.first_offset, start, known.first_offset)
        for offset in range(first, min(batch.last_offset, known.last_offset) + 1):
            state = states[offset]
            self._check(state, "offset")
            self._change(offset, offset, state, batch.event(offset))

    def _part(self, known: InFlightBatch, first_offset: int, last_offset: int) -> InFlightBatch:
        if known.is_large and not known.lies_within(first_offset, last_offset):
            self._take_room(2)
        return self._window.part(known, first_offset, last_offset)

    def _take_room(self, states: int) -> None:
        """Raise KafkaError INVALID_REQUEST if there would be more states than a window may have."""
        if not states:
            return
        if self._room is None:
            self._room = MAX_STATES - self._window.states_count()
        self._room -= states
        if self._room < 0:
            text = f"a share partition may have {MAX_STATES} different states: acknowledge longer ranges"
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)

    def _check(self, state: InFlightState, what: str) -> None:
        """Raise KafkaError INVALID_RECORD_STATE for what the member has not acquired."""
        if state.state is not RecordState.ACQUIRED or state.undo is not None:
            acquired = "in the acquired state" if what == "batch" else "acquired"
            text = f"The {what} cannot be acknowledged. The {what} is not {acquired}."
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, text)
        if state.member_id != self._member_id:
            of = "batch record" if what == "batch" else "offset"
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, f"Member is not the owner of {of}")

    def _change(self, first: int, last: int, state: InFlightState, event: RecordEvent) -> None:
        state.begin(event, self._delivery_limit)
        self.changes.append(Change(first, last, state, event))
