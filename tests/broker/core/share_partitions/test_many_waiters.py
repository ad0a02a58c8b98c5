"""Very many share fetches that wait for the same records."""

import pytest

from tests.support.share_fetches import ShareGroupLab, ranges

RECORD_LIMIT = 1


@pytest.mark.rules("SGF-16")
def test_each_fetch_that_waits_is_answered() -> None:
    """One that is answered wakes the next, however many there are: each gets the next record."""
    lab, waiters = ShareGroupLab(), 400
    members = [lab.member(f"m{number}") for number in range(waiters)]
    for member in members:
        assert member.send(0, wait=30_000, max_records=1, share_acquire_mode=RECORD_LIMIT) is None
    lab.produce(waiters)

    answers = [member.answer() for member in members]

    assert lab.sim.engine.errors == []
    assert [answer for answer in answers if answer is None] == []
    assert sorted(found for answer in answers for found in ranges(answer)) == [(n, n, 1) for n in range(waiters)]
