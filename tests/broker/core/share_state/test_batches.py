"""Putting written state batches together with the stored ones."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.share_state.batches import combined
from fakebroker.broker.core.share_state.states import StateBatch

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4

batches = st.builds(
    StateBatch,
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVED]),
    st.integers(1, 3),
)


def by_offset(*lists: list[StateBatch] | tuple[StateBatch, ...], start: int = 0) -> dict[int, tuple[int, int]]:
    """The state that counts of each offset: that with the most deliveries, then the highest."""
    found: dict[int, tuple[int, int]] = {}
    for batch in (batch for each in lists for batch in each):
        for offset in range(max(batch.first_offset, start), batch.last_offset + 1):
            found[offset] = max(found.get(offset, (0, 0)), (batch.delivery_count, batch.delivery_state))
    return found


@pytest.mark.rules("SGB-3")
@pytest.mark.parametrize(
    ("stored", "written", "start", "expected"),
    [
        ([(3, 5, 0, 1), (6, 6, 2, 1)], [(4, 4, 2, 1)], 3, [(3, 3, 0, 1), (4, 4, 2, 1), (5, 5, 0, 1), (6, 6, 2, 1)]),
        ([(4, 4, 2, 2), (5, 5, 0, 1), (6, 6, 2, 1)], [(4, 6, 0, 2)], 4, [(4, 4, 2, 2), (5, 6, 0, 2)]),
        ([(0, 0, 2, 1)], [(1, 1, 2, 1)], 0, [(0, 1, 2, 1)]),
        ([(0, 1, 2, 1)], [(5, 6, 0, 1), (2, 3, 0, 1)], 0, [(0, 1, 2, 1), (2, 3, 0, 1), (5, 6, 0, 1)]),
        ([(6, 6, 0, 2), (8, 9, 4, 2)], [(5, 12, 0, 3)], 9, [(9, 12, 0, 3)]),
        ([(9, 12, 0, 3)], [(12, 11, 0, 3)], 9, [(9, 12, 0, 3)]),
        ([(20, 30, 2, 1)], [(22, 24, 0, 2)], 20, [(20, 21, 2, 1), (22, 24, 0, 2), (25, 30, 2, 1)]),
        ([(2, 8, 0, 1)], [], 20, []),
    ],
)
def test_as_a_kafka_combines(
    stored: list[tuple[int, ...]], written: list[tuple[int, ...]], start: int, expected: list[tuple[int, ...]]
) -> None:
    """What a running 4.3.1 answered after the same writes."""
    assert combined([StateBatch(*each) for each in stored], [StateBatch(*each) for each in written], start) == tuple(
        StateBatch(*each) for each in expected
    )


@given(st.lists(batches, max_size=6), st.lists(batches, max_size=4), st.integers(-1, 20))
def test_every_offset_has_the_state_that_counts(
    stored: list[StateBatch], written: list[StateBatch], start: int
) -> None:
    """The result says of each offset from the start on what the latest of its batches says, and nothing else."""
    before = combined((), stored, -1)
    result = combined(before, written, start)

    assert by_offset(result) == by_offset(before, written, start=start)


@given(st.lists(batches, max_size=6), st.lists(batches, max_size=4))
def test_the_result_is_as_short_as_can_be(stored: list[StateBatch], written: list[StateBatch]) -> None:
    """Batches are ascending, without overlaps, and neighbours with the same state are one."""
    result = combined(stored, written, 0)

    for one, following in pairwise(result):
        assert one.last_offset < following.first_offset
        assert one.last_offset + 1 < following.first_offset or one[2:] != following[2:]


def test_batches_that_all_overlap_are_no_quadratic_work() -> None:
    """Of 20,000 batches within each other every border is cut once, and the latest counts up to where it ends."""
    nested = [StateBatch(i, 40_000 - i, AVAILABLE, 20_000 - i) for i in range(20_000)]
    assert combined((), nested, 0) == (StateBatch(0, 40_000, AVAILABLE, 20_000),)
    stairs = [StateBatch(i, 40_000 - i, AVAILABLE, i + 1) for i in range(20_000)]
    assert sum(batch.last_offset - batch.first_offset + 1 for batch in combined((), stairs, 0)) == 40_001
