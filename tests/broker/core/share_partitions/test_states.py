"""The table of record states."""

import pytest

from fakebroker.broker.core.share_partitions.states import DONE, TRANSITIONS, RecordEvent, RecordState, state_after

AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING, ARCHIVED = RecordState


@pytest.mark.rules("SGK-1", "SGK-2", "SGK-3", "SGK-4", "SGP-6")
@pytest.mark.parametrize(
    ("event", "below", "at_limit"),
    [
        (RecordEvent.ACCEPTED, ACKNOWLEDGED, ACKNOWLEDGED),
        (RecordEvent.RELEASED, AVAILABLE, ARCHIVED),
        (RecordEvent.REJECTED, ARCHIVED, ARCHIVED),
        (RecordEvent.GAP, ARCHIVED, ARCHIVED),
        (RecordEvent.RENEWED, ACQUIRED, ACQUIRED),
    ],
)
def test_what_becomes_of_an_acquired_record(event: RecordEvent, below: RecordState, at_limit: RecordState) -> None:
    """Only a release looks at the number of deliveries."""
    assert state_after(ACQUIRED, event, 4, 5) is below
    assert state_after(ACQUIRED, event, 5, 5) is at_limit


def test_nothing_becomes_of_a_finished_record() -> None:
    """What is acknowledged or archived stays so."""
    assert not [pair for pair in TRANSITIONS if pair[0] in DONE]


def test_nothing_becomes_of_a_record_that_is_being_archived() -> None:
    """Kafka takes it from there by itself; the group waits for that."""
    assert not [pair for pair in TRANSITIONS if ARCHIVING in (pair[0], *TRANSITIONS[pair])]
    assert ARCHIVING not in DONE


def test_only_available_records_are_acquired() -> None:
    """Acquiring leads to Acquired, and from nowhere else but Available."""
    assert [state for state, event in TRANSITIONS if event is RecordEvent.ACQUIRED] == [AVAILABLE]
    with pytest.raises(KeyError):
        state_after(ACQUIRED, RecordEvent.ACQUIRED, 1, 5)


def test_the_stored_numbers() -> None:
    """They are Kafka's."""
    assert [state.value for state in RecordState] == [0, 1, 2, 3, 4]
