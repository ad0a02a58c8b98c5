"""Reading a whole log in steps, while it changes."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.logs import whole_log
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.logs.whole_log import batches_in_steps, count_records
from fakebroker.protocol.records.batch import parse_header
from tests.support.logs import NOW, LogsCluster, Pairs, batch, keyed
from tests.support.time import T0

SIZES = st.lists(st.tuples(st.booleans(), st.integers(1, 4)), max_size=12)


def written(sizes: list[tuple[bool, int]], start: int = 0) -> PartitionLog:
    """A log with batches of these sizes, some of which are pending, in several segments, from `start` on."""
    log = LogsCluster().log(segment_bytes="200")
    for is_pending, size in sizes:
        if is_pending:
            log.append_records(Pairs(*[(b"k", b"v")] * size), NOW)
        else:
            log.append(batch(*[T0] * size), NOW)
    log.advance_log_start(min(start, log.high_watermark), NOW)
    return log


def offsets(batches: Iterator[bytes | None]) -> list[int]:
    return [parse_header(each).base_offset for each in batches if each is not None]


def to_end(log: PartitionLog) -> Callable[[], int]:
    return lambda: log.log_end_offset


@given(SIZES, st.integers(0, 20))
def test_every_batch_comes_once(sizes: list[tuple[bool, int]], start: int) -> None:
    """They are those that a reader at once finds, wherever the log starts and whatever is stored yet."""
    log, same = written(sizes, start), written(sizes, start)
    assert [each for each in batches_in_steps(log, to_end(log)) if each is not None] == list(same.batches())


@given(SIZES, st.integers(0, 20), st.integers(0, 40))
def test_records_are_counted_up_to_a_limit(sizes: list[tuple[bool, int]], start: int, most: int) -> None:
    """The count is exact up to the limit; beyond it, it is more than the limit. Nothing is stored for it."""
    log = written(sizes, start)
    exact = sum(size for _, size in sizes) - log.log_start_offset
    count = count_records(log, most)
    assert count == exact if exact <= most else most < count <= exact


def test_pending_batches_are_stored_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause comes after each few records that are stored, and their batches before the next."""
    monkeypatch.setattr(whole_log, "_RECORDS_AT_ONCE", 4)
    log = written([(True, 2)] * 5)
    assert [each is None for each in batches_in_steps(log, to_end(log))] == [True, *[False, False, True] * 2, False]


@pytest.mark.parametrize(
    ("change", "read"),
    [
        (lambda log: log.append(batch(T0), NOW), [0, 2, 4, 6, 8]),
        (lambda log: log.append_records(Pairs((b"k", b"v")), NOW), [0, 2, 4, 6, 8]),
        (lambda log: log.truncate(4, NOW), [0, 2]),
        (lambda log: log.advance_log_start(6, NOW), [0, 2, 6]),
    ],
    ids=["append", "append_records", "truncate", "advance_log_start"],
)
def test_a_log_that_changes(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[PartitionLog], object], read: list[int]
) -> None:
    """What is there when the reader comes to it is read, and nothing twice."""
    monkeypatch.setattr(whole_log, "_BATCHES_AT_ONCE", 2)
    log = written([(False, 2)] * 4)
    batches = batches_in_steps(log, to_end(log))
    seen = offsets(iter([next(batches), next(batches)]))
    change(log)
    assert seen + offsets(batches) == read


def test_a_log_that_is_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader goes on behind what it read, in the cleaned segments."""
    monkeypatch.setattr(whole_log, "_BATCHES_AT_ONCE", 1)
    lab = LogsCluster()
    log = lab.log(cleanup_policy="compact", segment_bytes="100", min_cleanable_dirty_ratio="0")
    for value in "abcdefgh":
        log.append(keyed(("k", value)), lab.now)
    batches = batches_in_steps(log, to_end(log))
    seen = [next(batches), next(batches)]
    lab.wait(60_000)
    assert [parse_header(each).base_offset for each in log.batches()] == [6, 7]
    assert offsets(iter(seen)) + offsets(batches) == [0, 1, 6, 7]
