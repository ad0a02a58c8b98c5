"""How much work acknowledgements are, and how many states they may make."""

import pytest

from fakebroker.broker.core.share_partitions import acknowledgement
from fakebroker.broker.core.share_partitions.acknowledgement import AcknowledgedBatch, begin
from fakebroker.broker.core.share_partitions.in_flight import InFlightBatch
from fakebroker.broker.core.share_partitions.record_window import RecordWindow
from fakebroker.broker.core.share_partitions.states import RecordState
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.work_counter import calls_of


def acquired(records: int) -> RecordWindow:
    """A window with one batch, which the member `m` has."""
    window = RecordWindow(0)
    batch = InFlightBatch(0, records - 1, RecordState.AVAILABLE, 0)
    whole = batch.whole
    assert whole is not None
    whole.acquire("m", 5)
    window.put(batch)
    return window


def calls_to_acknowledge(records: int) -> int:
    """One batch in flight, each of its records acknowledged by itself."""
    window = acquired(records)
    said = [AcknowledgedBatch(offset, offset, [1 + offset % 2]) for offset in range(records)]
    return calls_of(lambda: begin(window, "m", said, 5))


def test_the_work_grows_with_the_records() -> None:
    """Four times as many records of a batch, acknowledged one by one, are about four times the work."""
    assert calls_to_acknowledge(800) < 5 * calls_to_acknowledge(200)


@pytest.mark.parametrize("kinds", ["a type for each", "ranges of one record"])
def test_a_window_has_a_bounded_number_of_states(monkeypatch: pytest.MonkeyPatch, kinds: str) -> None:
    """An acknowledgement that would make more changes nothing; longer ranges go on being acknowledged."""
    monkeypatch.setattr(acknowledgement, "MAX_STATES", 3_000)
    window, each = acquired(4_000), [1, 2] * 2_000
    by_range = [AcknowledgedBatch(offset, offset, [each[offset]]) for offset in range(4_000)]
    said = by_range if kinds == "ranges of one record" else [AcknowledgedBatch(0, 3_999, each)]
    with pytest.raises(KafkaError) as refusal:
        begin(window, "m", said, 5)

    assert refusal.value.code == ErrorCode.INVALID_REQUEST
    assert window.states_count() <= 3_000
    assert {state.state for batch in window for _, _, state in batch.states()} == {RecordState.ACQUIRED}
    changes = begin(window, "m", [AcknowledgedBatch(0, 3_999, [1])], 5)
    assert sum(change.last_offset - change.first_offset + 1 for change in changes) == 4_000


def test_states_that_are_there_need_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was split is acknowledged record by record again and again."""
    monkeypatch.setattr(acknowledgement, "MAX_STATES", 100)
    window, each = acquired(100), [AcknowledgedBatch(0, 99, [2] * 100)]
    for _ in range(2):
        for change in begin(window, "m", each, 5):
            change.state.finish()
            change.state.acquire("m", 5)
    assert window.states_count() == 100
