"""Batches of very many records, or of ranges without end: what is done with a part of them costs no more than that."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random

import pytest

from fakebroker.broker.core.share_partitions import in_flight
from fakebroker.broker.core.share_partitions.acknowledgement import AcknowledgedBatch, begin
from fakebroker.broker.core.share_partitions.acquisition import (
    AcquireMode,
    Acquisition,
    BatchSpan,
    Limits,
    acquire,
)
from fakebroker.broker.core.share_partitions.record_window import RecordWindow
from fakebroker.broker.core.share_partitions.states import RecordState
from fakebroker.broker.core.share_state.states import StateBatch
from tests.support.chance import SEED
from tests.support.share_fetches import ACCEPT, REJECT, RELEASE
from tests.support.work_counter import calls_of

LARGE = 10**12  # a state for each would not fit into any memory
LIMITS = Limits(50, 2_000)


def stored(state: RecordState) -> RecordWindow:
    """The window of a stored batch, as a client may store it, delivered once; nothing is finished before it."""
    return RecordWindow.stored(0, [StateBatch(0, LARGE - 1, state, 1)])


def taken(window: RecordWindow, records: int, mode: AcquireMode = AcquireMode.RECORD_LIMIT) -> list[tuple[int, ...]]:
    """What a member acquires that reads all of it."""
    wanted = Acquisition("m", mode, records, 500)
    return [tuple(each) for each in acquire(window, wanted, LIMITS, 0, [BatchSpan(0, LARGE - 1)])]


def acknowledge(window: RecordWindow, first: int, last: int, kind: int) -> None:
    for change in begin(window, "m", [AcknowledgedBatch(first, last, [kind])], LIMITS.delivery_count):
        change.state.finish()
    window.advance()


def parts(window: RecordWindow) -> list[tuple[int, int, str]]:
    return [(first, last, state.state.kafka_name) for batch in window for first, last, state in batch.states()]


@pytest.mark.rules("SGF-13")
def test_the_beginning_is_acquired() -> None:
    """Of a new batch, and of one that was released, with a hard limit; the rest stays available."""
    new, released = RecordWindow(0), stored(RecordState.AVAILABLE)
    assert taken(new, 3) == [(0, 2, 1)]
    assert taken(released, 3) == [(0, 2, 2)]
    for window in (new, released):
        assert parts(window) == [(0, 2, "Acquired"), (3, LARGE - 1, "Available")]
        assert window.fetch_offset() == 3
    assert taken(new, 4) == [(3, 6, 1)]


@pytest.mark.rules("SGP-8")
def test_a_record_that_is_delivered_for_the_last_time_comes_alone() -> None:
    """The limits of records that were delivered often hold."""
    for delivered, records in ((LIMITS.delivery_count - 1, 1), (LIMITS.throttled_count, LARGE >> 1)):
        window = RecordWindow.stored(0, [StateBatch(0, LARGE - 1, RecordState.AVAILABLE, delivered)])
        assert taken(window, LARGE, AcquireMode.BATCH_OPTIMIZED) == [(0, records - 1, delivered + 1)]


@pytest.mark.rules("SGK-7", "SGK-8")
def test_a_part_is_acknowledged() -> None:
    """Each part of an acquired batch has its own outcome."""
    window = RecordWindow(0)
    assert taken(window, LARGE, AcquireMode.BATCH_OPTIMIZED) == [(0, LARGE - 1, 1)]
    acknowledge(window, 5_000, 5_000, RELEASE)
    acknowledge(window, 0, 3_999, ACCEPT)
    acknowledge(window, LARGE // 2, LARGE - 2, REJECT)
    assert window.start_offset == 4_000
    assert parts(window) == [
        (4_000, 4_999, "Acquired"),
        (5_000, 5_000, "Available"),
        (5_001, LARGE // 2 - 1, "Acquired"),
        (LARGE // 2, LARGE - 2, "Archived"),
        (LARGE - 1, LARGE - 1, "Acquired"),
    ]


CHANGES: dict[str, Callable[[RecordWindow], object]] = {
    "acquire": lambda window: taken(window, 5),
    "log start": lambda window: window.log_starts_at(LARGE // 2),
    "archive": lambda window: window.archive_available(7, LARGE // 2),
    "fetch": lambda window: window.fetch_offset(),
}
CHANGES_OF_ACQUIRED: dict[str, Callable[[RecordWindow], object]] = {
    "acknowledge": lambda window: acknowledge(window, 7, LARGE // 2, RELEASE),
    "aborted": lambda window: window.archive_acquired(7, LARGE // 2),
    "log start": lambda window: (window.log_starts_at(LARGE // 2), window.split_at_start()),
    "done": lambda window: window.done_count(),
}


NAMES = [*CHANGES, *[f"acquired {name}" for name in CHANGES_OF_ACQUIRED]]


def cases() -> Iterator[tuple[Callable[[RecordWindow], object], RecordWindow]]:
    for change in CHANGES.values():
        yield change, stored(RecordState.AVAILABLE)
    for change in CHANGES_OF_ACQUIRED.values():
        window = stored(RecordState.AVAILABLE)
        taken(window, LARGE, AcquireMode.BATCH_OPTIMIZED)
        yield change, window


@pytest.mark.parametrize(
    ("change", "window"), [*cases()], ids=[*CHANGES, *[f"acquired {n}" for n in CHANGES_OF_ACQUIRED]]
)
def test_every_change_costs_little(change: Callable[[RecordWindow], object], window: RecordWindow) -> None:
    """None makes something for each offset, and the offsets stay the same."""
    assert calls_of(lambda: change(window)) < 500
    found = parts(window)
    assert (found[0][0], found[-1][1]) == (0, LARGE - 1)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(found))


class Member:
    """A member that fetches with a limit, accepts and releases, on a log of batches of ten."""

    def __init__(self) -> None:
        self.window = RecordWindow(0)
        self.acquired: list[tuple[int, int]] = []
        self.seen: list[object] = []

    def fetch(self, records: int) -> None:
        offset = self.window.fetch_offset()
        read = [BatchSpan(base, base + 9) for base in range(offset // 10 * 10, offset + 60, 10)]
        wanted = Acquisition("m", AcquireMode.RECORD_LIMIT, records, 500)
        offsets = [
            (n, count)
            for first, last, count in acquire(self.window, wanted, Limits(10**6, 500), offset, read)
            for n in range(first, last + 1)
        ]
        self.seen.append(offsets)
        self.acquired += [(n, n) for n, _ in offsets]

    def settle(self, at: float, kind: int) -> None:
        if self.acquired:
            first, last = self.acquired.pop(int(at * len(self.acquired)))
            acknowledge(self.window, first, last, kind)
            self.seen.append((self.window.start_offset, self.window.end_offset, self.window.fetch_offset()))


@pytest.mark.random
def test_batches_that_are_cut_give_what_others_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member gets the same records, in the same order, whether each offset has a state or batches are cut."""
    for number in range(20):
        found = []
        for largest in (1, 2, 10**6):
            monkeypatch.setattr(in_flight, "LARGEST_SPLIT", largest)
            random, member = Random(f"large batches {SEED} {number}"), Member()
            for _ in range(80):
                if random.random() < 0.4:
                    member.fetch(random.choice((1, 3, 25)))
                else:
                    member.settle(random.random(), random.choice((ACCEPT, RELEASE)))
            found.append(member.seen)
        assert found[0] == found[1] == found[2], f"seed {SEED}, {number}"
