"""How much work acknowledgements are."""

from fakebroker.broker.core.share_partitions.acknowledgement import AcknowledgedBatch, begin
from fakebroker.broker.core.share_partitions.in_flight import InFlightBatch
from fakebroker.broker.core.share_partitions.record_window import RecordWindow
from fakebroker.broker.core.share_partitions.states import RecordState
from tests.support.work_counter import calls_of


def calls_to_acknowledge(records: int) -> int:
    """One batch in flight, each of its records acknowledged by itself."""
    window = RecordWindow(0)
    batch = InFlightBatch(0, records - 1, RecordState.AVAILABLE, 0)
    whole = batch.whole
    assert whole is not None
    whole.acquire("m", 5)
    window.put(batch)
    said = [AcknowledgedBatch(offset, offset, [1 + offset % 2]) for offset in range(records)]
    return calls_of(lambda: begin(window, "m", said, 5))


def test_the_work_grows_with_the_records() -> None:
    """Four times as many records of a batch, acknowledged one by one, are about four times the work."""
    assert calls_to_acknowledge(800) < 5 * calls_to_acknowledge(200)
