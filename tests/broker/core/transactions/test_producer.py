"""A producer's epochs: which is the last that may be handed out."""

import pytest

from fakebroker.broker.core.transactions.producer import Producer


@pytest.mark.rules("PI-11")
def test_the_last_epoch_that_is_handed_out() -> None:
    """After 32766 there is none, after 32765 there is one; markers may have 32767, which stays."""
    assert [Producer(1, epoch).is_exhausted for epoch in (0, 32765, 32766, 32767)] == [False, False, True, True]
    assert [Producer(1, epoch).with_next_epoch.epoch for epoch in (32765, 32766, 32767)] == [32766, 32767, 32767]
