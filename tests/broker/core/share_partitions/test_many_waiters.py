"""Very many share fetches that wait for the same records."""

import pytest

from fakebroker.broker.core import long_passes
from tests.support.share_fetches import RELEASE, ShareGroupLab, ranges
from tests.support.work_counter import calls_of

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


@pytest.mark.rules("SGF-15", "SGF-16")
@pytest.mark.parametrize("room", [0, 1, 5, 6])
def test_those_that_have_their_turn_too_late_wait_on(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record is enough for all of them when it comes; the first gets it, however many turns they need."""
    monkeypatch.setattr(long_passes, "ACTIONS_COST", room)
    lab = ShareGroupLab()
    members = [lab.member(f"m{number}") for number in range(4)]
    for member in members:
        assert member.send(0, wait=500) is None
    lab.produce(1)
    lab.wait(1)
    answers = [member.answer() for member in members]
    assert [answer is None or ranges(answer) for answer in answers] == [[(0, 0, 1)], True, True, True]
    lab.wait(500)
    assert [ranges(member.answer()) for member in members[1:]] == [[], [], []]
    assert lab.sim.engine.errors == []


def calls_when_a_lock_ends(waiters: int, records: int) -> int:
    """A member gives back its records one by one and gets them again, then the time of its lock is up."""
    lab = ShareGroupLab()
    lab.produce(records)
    holder = lab.member("holder")
    assert ranges(holder.send(0)) == [(0, records - 1, 1)]
    holder.send(0, acks=[(0, records - 1, *[RELEASE] * records)], max_records=0)
    assert ranges(holder.send(0, max_records=records)) == [(0, records - 1, 2)]
    for number in range(waiters):
        member = lab.member(f"m{number}")
        assert member.send(0, wait=60_000, max_records=1, share_acquire_mode=RECORD_LIMIT) is None
    return calls_of(lambda: lab.wait(30_000))


@pytest.mark.rules("SGF-16", "SGP-5")
def test_waiters_do_not_go_over_the_records_for_each_other() -> None:
    """Each record that a lock lets go is for one of them; the others see at once that there is no more."""
    few, many = (calls_when_a_lock_ends(waiters, 400) for waiters in (10, 40))
    assert many < 6 * few
