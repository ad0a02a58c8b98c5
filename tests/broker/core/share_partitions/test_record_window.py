"""The window of records in flight: its ends, and what is lost of the log."""

import pytest

from fakebroker.broker.core.share_partitions.in_flight import MOST_DELIVERIES, InFlightBatch
from fakebroker.broker.core.share_partitions.record_window import INT32_MAX, RecordWindow
from fakebroker.broker.core.share_partitions.states import RecordEvent, RecordState
from fakebroker.broker.core.share_state.states import StateBatch

AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING, ARCHIVED = RecordState


def window_of(*batches: tuple[int, int, RecordState], start: int = 0) -> RecordWindow:
    """A window with batches that were delivered once."""
    window = RecordWindow(start)
    for first, last, state in batches:
        window.put(InFlightBatch(first, last, state, 1))
    return window


def ends(window: RecordWindow) -> tuple[int, int, int]:
    return window.start_offset, window.end_offset, window.span


@pytest.mark.rules("SGP-2", "SGP-3")
def test_an_empty_window() -> None:
    """Both ends are where fetching goes on."""
    window = RecordWindow(7)
    assert (*ends(window), window.fetch_offset()) == (7, 7, 0, 7)


@pytest.mark.rules("SGP-2", "SGP-3")
def test_fetching_goes_on_at_what_is_available() -> None:
    """The first available record, in the middle of a batch, too; else the first offset behind the window."""
    window = window_of((0, 4, ACQUIRED), (5, 9, ACQUIRED))
    assert (*ends(window), window.fetch_offset()) == (0, 9, 10, 10)
    state = window.batches[5].split()[7]
    state.change(RecordEvent.RELEASED, 5)
    assert window.fetch_offset() == 7
    state.begin(RecordEvent.ACQUIRED, 5)
    assert window.fetch_offset() == 10


@pytest.mark.rules("SGP-4")
def test_the_start_moves_over_what_is_finished() -> None:
    """Up to the first record that is not, in the middle of a batch, too; a change that is not stored does not count."""
    window = window_of((0, 4, ACKNOWLEDGED), (5, 9, ACQUIRED), (10, 11, ARCHIVED))
    assert window.done_count() == 7
    assert window.advance()
    assert (*ends(window), window.done_count()) == (5, 11, 7, 2)
    offsets = window.batches[5].split()
    offsets[5].change(RecordEvent.ACCEPTED, 5)
    offsets[6].begin(RecordEvent.ACCEPTED, 5)
    assert window.advance()
    assert window.start_offset == 6
    assert not window.advance()
    for state in offsets.values():
        if state.state is ACQUIRED:
            state.change(RecordEvent.REJECTED, 5)
    offsets[6].finish()
    assert window.advance()
    assert (*ends(window), window.fetch_offset(), len(window.batches)) == (12, 12, 0, 12, 0)


@pytest.mark.rules("SGP-4")
def test_the_log_begins_inside_of_the_window() -> None:
    """What was available is archived; what is in delivery stays until its lock ends."""
    window = window_of((0, 2, AVAILABLE), (3, 5, ACQUIRED), (6, 8, AVAILABLE), (9, 9, ACKNOWLEDGED))
    window.log_starts_at(7)
    assert ends(window) == (7, 9, 3)
    assert window.fetch_offset() == 7
    assert not window.advance()
    window.log_starts_at(4)
    assert window.start_offset == 7


@pytest.mark.rules("SGP-4")
def test_what_the_log_has_lost_holds_the_start() -> None:
    """As long as a record before the start is in delivery the start does not move, as in Kafka."""
    window = window_of((0, 2, ACQUIRED), (3, 5, ACKNOWLEDGED), (6, 8, ACQUIRED))
    window.log_starts_at(4)
    assert not window.advance()
    lost = window.batches[0].whole
    assert lost is not None
    lost.change(RecordEvent.LOG_START_PASSED, 5)
    assert window.advance()
    assert window.start_offset == 6


@pytest.mark.rules("SGP-4")
def test_the_log_begins_behind_the_window() -> None:
    """Fetching goes on there, although records are still in delivery."""
    window = window_of((0, 2, ACQUIRED))
    window.log_starts_at(7)
    assert (*ends(window), window.fetch_offset()) == (7, 7, 1, 7)
    window.put(InFlightBatch(7, 9, ACQUIRED, 1))
    assert (*ends(window), window.fetch_offset()) == (7, 9, 3, 10)


@pytest.mark.rules("SGP-3")
def test_stored_batches() -> None:
    """A load takes over states and counts, and knows what lies between them."""
    window = RecordWindow.stored(0, [StateBatch(0, 1, 2, 1), StateBatch(4, 5, 0, 3), StateBatch(8, 8, 4, 2)])
    assert (ends(window), list(window.gaps.items()), window.fetch_offset()) == ((2, 8, 7), [(2, 3), (6, 7)], 2)
    window.skip_gaps(4)
    assert (list(window.gaps.items()), window.fetch_offset()) == ([(6, 7)], 4)
    assert [(each.state, each.delivery_count) for _, _, each in window.states_between(4, 8)] == [
        (AVAILABLE, 3),
        (ARCHIVED, 2),
    ]


@pytest.mark.rules("SGP-1")
def test_nothing_stored_but_a_start() -> None:
    """The window is empty there; a window of finished records, too."""
    assert ends(RecordWindow.stored(5, [])) == (5, 5, 0)
    assert ends(RecordWindow.stored(5, [StateBatch(5, 8, 2, 1)])) == (9, 9, 0)


def test_states_of_a_range() -> None:
    """A batch that is whole counts as one, also if the range has a part of it; of a split one that part only."""
    window = window_of((0, 4, ACQUIRED), (5, 9, ACQUIRED))
    window.batches[5].split()
    assert [(first, last) for first, last, _ in window.states_between(3, 6)] == [(0, 4), (5, 5), (6, 6)]
    assert list(window.states_between(20, 30)) == []


def test_what_could_not_be_stored_is_taken_back() -> None:
    """State and owner are as before; a second change can begin."""
    batch = InFlightBatch(0, 4, AVAILABLE, 0)
    whole = batch.whole
    assert whole is not None
    whole.acquire("m", 5)
    whole.begin(RecordEvent.ACCEPTED, 5)
    assert (whole.state, whole.member_id, whole.is_available) == (ACKNOWLEDGED, "", False)
    whole.take_back()
    assert (whole.state, whole.member_id, whole.delivery_count) == (ACQUIRED, "m", 1)
    whole.begin(RecordEvent.RELEASED, 5)
    assert not whole.is_available
    whole.finish()
    assert whole.is_available


@pytest.mark.rules("SGP-2")
def test_numbers_that_a_record_can_hold() -> None:
    """What is stored of a share partition may have any numbers; what is stored again stays within 16 and 32 bits."""
    window = RecordWindow.stored(0, [StateBatch(0, 0, int(AVAILABLE), MOST_DELIVERIES), StateBatch(1, 2**62, 2, 1)])
    window.batches[0].split()[0].acquire("m", 5)
    assert window.batches[0].split()[0].delivery_count == MOST_DELIVERIES
    assert window.done_count() == INT32_MAX
