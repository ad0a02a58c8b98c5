"""The moments at which more than its next commit decides whether an offset is lost: its group ends, or was Empty.

A moment is the number of a cleanup. Offsets that are overwritten in time are left out of the what-if unless one of
these moments lies between the two commits.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from fakebroker.analysis.pipeline.contract import Row, columns_only
from fakebroker.analysis.pipeline.expiry_cases import EMPTY, Aging, aging_of, simple_aging
from fakebroker.analysis.pipeline.group_transitions import UNLOADED

OF_GROUP: Final = ("source", "log_part", "group_id")
"""A group: of one log, or of one journal (`log_part` -1)."""

MOMENTS: Final = columns_only("""
    source string: the run of the journal, or the name of the log
    log_part int: the partition of the log, -1 of a journal
    group_id string: the group
    bucket long: the number of the stretch of cleanups in which an offset before it was committed
    first_moment long: the first
    last_moment long: the last; all between them count
""")
"""The moments of a group."""


class Grid(NamedTuple):
    """The cleanups of one source: at `since_ms` plus 1, 2, ... `last_pass` intervals."""

    since_ms: int
    interval_ms: int
    last_pass: int

    def first_pass(self, due_ms: int) -> int:
        """The number of the first cleanup at or after `due_ms`."""
        return max(-((self.since_ms - due_ms) // self.interval_ms), 1)

    def time_of(self, number: int) -> int:
        """When a cleanup is."""
        return self.since_ms + number * self.interval_ms


def state_aging(span: Row | None, policy: str) -> Aging:
    """How offsets age in a state: a row of group_states, None for a group that is not known to have had members."""
    if span is None or span["state"] == "Dead":
        return simple_aging(policy)
    topics = span["subscribed_topics"]
    return aging_of(
        policy,
        span["state"],
        span["protocol_type"],
        None if topics is None else frozenset(topics),
        span["state_at"],
        span["group_type"],
    )


def is_unloaded(span: Row) -> bool:
    """Whether a state is no more than a move of the group's coordinator."""
    return span["state"] == "Dead" and (span["reason"] or "").startswith(UNLOADED)


class Moments:
    """The function of a step: it gets the states of a group, and makes rows of `MOMENTS`."""

    def __init__(self, retentions_ms: Iterable[int], interval_ms: int, bucket_passes: int, policy: str) -> None:
        self._retentions_ms = sorted(set(retentions_ms))
        self._interval_ms, self._bucket_passes, self._policy = interval_ms, bucket_passes, policy

    def __call__(self, of_group: Iterable[Row]) -> Iterator[Row]:
        """The moments of a group; rows of one bucket are not yet put together."""
        states = [row for row in of_group if not is_unloaded(row)]
        for first, last in self._of_group(states):
            for bucket in range(first // self._bucket_passes - 1, last // self._bucket_passes + 1):
                yield {
                    **{name: states[0][name] for name in OF_GROUP},
                    "bucket": bucket,
                    "first_moment": max(first, bucket * self._bucket_passes),
                    "last_moment": min(last, (bucket + 2) * self._bucket_passes),
                }

    def _of_group(self, states: list[Row]) -> Iterator[tuple[int, int]]:
        """First and last cleanups: where the group ends, and where an Empty one would lose its offsets.

        It is gone then (EX-9), unless something keeps it: a transaction, or an offset with a time of its own. So in a
        group that may have such, all that follows counts.
        """
        last = states[0]["last_pass"] if states else 0
        for row in reversed(states):
            if row["state"] == "Dead":
                yield row["passes"], row["passes"]
                continue
            grid = Grid(row["since_ms"], self._interval_ms, row["last_pass"])
            aging = state_aging(row, self._policy)
            if aging.case.counts_from == EMPTY:
                due = [grid.first_pass(aging.empty_ms + each) for each in self._retentions_ms]
                numbers = [number for each in due if (number := max(each, row["passes"] + 1)) <= last]
                if numbers and row["may_be_kept"]:
                    yield numbers[0], last
                else:
                    yield from zip(numbers, numbers, strict=True)
            last = row["passes"]
