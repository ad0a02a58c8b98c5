"""Tests of the history of leader epochs."""

import pytest

from fakebroker.broker.core.logs.leader_epochs import LeaderEpochs


def history(*entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for epoch, offset in entries:
        epochs.begin(epoch, offset)
    return epochs


@pytest.mark.rules("LE-2", "OE-2", "OE-3", "OE-4")
def test_end_of_an_epoch() -> None:
    """Latest: log end; above or -1: unknown; between: the epoch in force with its end; below: the first start."""
    epochs = history((2, 10), (5, 20), (7, 30))

    assert epochs.end_of(7, 44) == (7, 44)
    assert epochs.end_of(8, 44) == (-1, -1)
    assert epochs.end_of(-1, 44) == (-1, -1)
    assert epochs.end_of(6, 44) == (5, 30)
    assert epochs.end_of(2, 44) == (2, 20)
    assert epochs.end_of(1, 44) == (1, 10)
    assert epochs.end_of(-2, 44) == (-2, 10)
    assert LeaderEpochs().end_of(0, 44) == (-1, -1)


@pytest.mark.rules("LE-3")
def test_an_epoch_that_wrote_nothing_is_replaced() -> None:
    """An epoch that begins where the one before it began takes its place; an older epoch changes nothing."""
    epochs = history((0, 0), (1, 5), (2, 5), (1, 9))

    assert epochs.entries() == [(0, 0), (2, 5)]
    assert epochs.end_of(1, 9) == (0, 5)


@pytest.mark.rules("OE-7")
def test_the_log_start_cuts_the_history() -> None:
    """Epochs that ended before the log start are forgotten; the one in force begins at it."""
    epochs = history((0, 0), (1, 5), (2, 9))
    epochs.cut_start(7)
    assert epochs.entries() == [(1, 7), (2, 9)]
    assert epochs.end_of(0, 12) == (0, 7)

    epochs.cut_start(12)
    assert epochs.entries() == [(2, 12)]
    assert epochs.first() == epochs.latest == 2


def test_truncation_cuts_the_end() -> None:
    """Epochs that began at or after the new end are forgotten."""
    epochs = history((0, 0), (1, 5), (2, 9))
    epochs.cut_end(5)

    assert epochs.entries() == [(0, 0)]
