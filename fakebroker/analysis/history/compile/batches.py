"""Commits as requests, and the folding of those that nobody needs to see."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fakebroker.analysis.history.compile.happened import Commit, TopicPartition

MAX_UNFOLDED = 4  # requests of one committer between two other things that happen

Committer = str | None  # a member's identity; None for somebody who is no member


class Batch(NamedTuple):
    """Offsets that were committed together. `folded` requests before it, of the same committer, are left out."""

    committer: Committer
    at_ms: int
    commits: tuple[Commit, ...]
    folded: int = 0


def batches_of(commits: Sequence[Commit], committer_of: Callable[[Commit], Committer]) -> list[Batch]:
    """Neighbours by the same committer at the same time, with the same metadata and retention, belong together.

    In a journal one request has one sequence number; a log does not tell, so there time decides alone.
    """
    found: list[Batch] = []
    last: tuple[object, ...] = ()
    for commit in commits:
        committer = committer_of(commit)
        key = (committer, commit.at_ms, commit.metadata, commit.expires_ms)
        if key == last and all(commit.place != each.place for each in found[-1].commits):
            found[-1] = found[-1]._replace(commits=(*found[-1].commits, commit))
        else:
            found.append(Batch(committer, commit.at_ms, (commit,)))
        last = key
    return found


def folded(batches: Sequence[Batch]) -> list[Batch]:
    """Without the requests that change nothing in the end: each of their offsets is committed again afterwards.

    Of each committer the first and the last stay; one with at most MAX_UNFOLDED requests keeps all.
    """
    last_of: dict[TopicPartition, int] = {}
    by_committer: dict[Committer, list[int]] = {}
    for index, batch in enumerate(batches):
        by_committer.setdefault(batch.committer, []).append(index)
        last_of |= {commit.place: index for commit in batch.commits}
    left_out = {
        index
        for indexes in by_committer.values()
        if len(indexes) > MAX_UNFOLDED
        for index in indexes[1:-1]
        if all(last_of[commit.place] != index for commit in batches[index].commits)
    }
    found, counts = [], dict.fromkeys(by_committer, 0)
    for index, batch in enumerate(batches):
        if index in left_out:
            counts[batch.committer] += 1
        else:
            found.append(batch._replace(folded=counts[batch.committer]))
            counts[batch.committer] = 0
    return found
