"""The states of a record in a share partition, and what becomes of them: one table (SGP, SGK).

Kafka: `RecordState`, `AcknowledgeType`.
"""

from enum import Enum, IntEnum
from typing import Final


class RecordState(IntEnum):
    """What a share group has done with a record; the numbers are those that are stored.

    In ARCHIVING nothing happens to a record, and the group is not finished with it. Kafka has it while a record is
    written elsewhere before it is archived (KIP-1191); here only a share state that was written has it.
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4

    @property
    def kafka_name(self) -> str:
        """The name as Kafka spells it: "Available"."""
        return self.name.title()


class RecordEvent(Enum):
    """What happens to a record; the values are the texts of the diagram in docs."""

    ACQUIRED = "acquired by a member (delivery count + 1)"
    ACCEPTED = "accepted"
    RELEASED = "released, its lock timed out, its session closed"
    REJECTED = "rejected"
    GAP = "was sent as a gap"
    RENEWED = "its lock is renewed"
    ABORTED = "its transaction was aborted"
    LOG_START_PASSED = "no longer in the log"


class AcknowledgeType(IntEnum):
    """What a member says of a record (SGK); the numbers are those of the requests."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


EVENT_OF: Final = {
    AcknowledgeType.GAP: RecordEvent.GAP,
    AcknowledgeType.ACCEPT: RecordEvent.ACCEPTED,
    AcknowledgeType.RELEASE: RecordEvent.RELEASED,
    AcknowledgeType.REJECT: RecordEvent.REJECTED,
    AcknowledgeType.RENEW: RecordEvent.RENEWED,
}

DONE: Final = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
"""The group is finished with the record."""

_S, _E = RecordState, RecordEvent
TRANSITIONS: Final[dict[tuple[RecordState, RecordEvent], tuple[RecordState, RecordState]]] = {
    # before, event: after; after, when the record was delivered as often as the group's limit allows
    (_S.AVAILABLE, _E.ACQUIRED): (_S.ACQUIRED, _S.ACQUIRED),
    (_S.AVAILABLE, _E.LOG_START_PASSED): (_S.ARCHIVED, _S.ARCHIVED),
    (_S.ACQUIRED, _E.ACCEPTED): (_S.ACKNOWLEDGED, _S.ACKNOWLEDGED),
    (_S.ACQUIRED, _E.RELEASED): (_S.AVAILABLE, _S.ARCHIVED),
    (_S.ACQUIRED, _E.REJECTED): (_S.ARCHIVED, _S.ARCHIVED),
    (_S.ACQUIRED, _E.GAP): (_S.ARCHIVED, _S.ARCHIVED),
    (_S.ACQUIRED, _E.RENEWED): (_S.ACQUIRED, _S.ACQUIRED),
    (_S.ACQUIRED, _E.LOG_START_PASSED): (_S.ARCHIVED, _S.ARCHIVED),  # when it is released after that
    (_S.ACQUIRED, _E.ABORTED): (_S.ARCHIVED, _S.ARCHIVED),
}
"""Every pair that can happen."""


def state_after(state: RecordState, event: RecordEvent, delivery_count: int, delivery_limit: int) -> RecordState:
    """The state of a record after an event; one that is released for the last time is archived (SGP-6).

    Raises KeyError for an event that cannot happen in that state.
    """
    below, at_limit = TRANSITIONS[state, event]
    return below if delivery_count < delivery_limit else at_limit
