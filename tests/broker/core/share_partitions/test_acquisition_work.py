"""How much work it is to acquire records where much was stored of a share partition."""

import pytest

from fakebroker.broker.core.share_partitions.acquisition import AcquireMode, Acquisition, BatchSpan, Limits, acquire
from fakebroker.broker.core.share_partitions.record_window import RecordWindow
from fakebroker.broker.core.share_state.states import StateBatch
from tests.support.work_counter import operations_of


def operations(count: int, spans: int, mode: AcquireMode, wanted: Acquisition) -> int:
    """Acquire of a share partition of which every second record was delivered before; the log has so many batches."""
    window = RecordWindow.stored(0, [StateBatch(2 * n + 1, 2 * n + 1, 0, 1) for n in range(count)])
    size = 2 * count // spans
    read = [BatchSpan(n * size, (n + 1) * size - 1) for n in range(spans)]
    asked = wanted._replace(mode=mode)
    found = list[object]()
    done = operations_of(lambda: found.extend(acquire(window, asked, Limits(5, 2000), window.fetch_offset(), read)))
    assert found
    return done


@pytest.mark.parametrize("mode", AcquireMode)
@pytest.mark.parametrize("records", [500, 10**9])
@pytest.mark.parametrize("batch_size", [1, 10**9])
@pytest.mark.parametrize("records_of_each", [4, 400])
def test_the_work_grows_with_the_gaps(mode: AcquireMode, records: int, batch_size: int, records_of_each: int) -> None:
    """Four times as many gaps, and batches of the log, are about four times the work, whatever is asked for."""
    wanted = Acquisition("m", mode, records, batch_size)
    few, many = (operations(count, 2 * count // records_of_each, mode, wanted) for count in (400, 1600))
    assert many < 5 * few
