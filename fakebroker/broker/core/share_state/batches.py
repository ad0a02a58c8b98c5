"""Putting what a leader writes together with what is stored: of two states of a record the later counts.

Kafka: `PersisterStateBatchCombiner`. It sometimes leaves two batches that touch and are alike as two; here they are
always one, which says the same of every record.
"""

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import pairwise

from fakebroker.broker.core.share_state.states import StateBatch


def combined(stored: Iterable[StateBatch], written: Iterable[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """The batches of every record from `start_offset` on, ascending, without overlaps.

    Of an offset that several batches cover the one with the highest delivery count counts, of these the one with the
    highest delivery state. Batches that touch and have the same state and count become one. Negative start offsets
    cut nothing; batches whose last offset comes before their first say nothing.
    """
    batches = [
        batch._replace(first_offset=max(batch.first_offset, start_offset))
        for batch in (*stored, *written)
        if batch.last_offset >= max(batch.first_offset, start_offset)
    ]
    if all(one.last_offset < next_.first_offset for one, next_ in pairwise(batches)):
        return _joined(batches)
    return _joined(_without_overlaps(batches))


def _without_overlaps(batches: list[StateBatch]) -> list[StateBatch]:
    """Cut the batches at each other's borders and keep, of pieces with the same offsets, the one that counts."""
    borders = sorted({border for batch in batches for border in (batch.first_offset, batch.last_offset + 1)})
    waiting = sorted(batches, key=lambda batch: batch.first_offset, reverse=True)  # the next one is the last
    begun: list[
        tuple[int, int, int]
    ] = []  # a heap, what counts most on top: count and state, both negated; last offset
    pieces = []
    for first, end in pairwise(borders):
        while waiting and waiting[-1].first_offset <= first:
            batch = waiting.pop()
            heappush(begun, (-batch.delivery_count, -batch.delivery_state, batch.last_offset))
        while begun and begun[0][2] < first:
            heappop(begun)
        if begun:
            count, state, _ = begun[0]
            pieces.append(StateBatch(first, end - 1, -state, -count))
    return pieces


def _joined(batches: Iterable[StateBatch]) -> tuple[StateBatch, ...]:
    joined: list[StateBatch] = []
    for batch in batches:
        before = joined[-1] if joined else None
        if before is not None and before.last_offset + 1 == batch.first_offset and before[2:] == batch[2:]:
            joined[-1] = before._replace(last_offset=batch.last_offset)
        else:
            joined.append(batch)
    return tuple(joined)
