"""Commits as requests, and folding."""

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.history.compile.batches import MAX_UNFOLDED, Batch, batches_of, folded
from fakebroker.analysis.history.compile.happened import Commit


def commit(at_ms: int, partition: int, offset: int = 0, member: str = "a", metadata: str = "") -> Commit:
    """A commit of a member."""
    return Commit((at_ms, partition), at_ms, "orders", partition, offset, metadata, None, member)


def by_member(commits: list[Commit]) -> list[Batch]:
    """The batches when everybody commits for themselves."""
    return batches_of(commits, lambda each: each.member_id)


def test_what_belongs_to_one_request() -> None:
    """The same committer, time and metadata; a partition that comes again begins another request."""
    commits = [commit(1, 0), commit(1, 1), commit(1, 0, 5), commit(1, 2, member="b"), commit(2, 2, member="b")]
    assert [len(batch.commits) for batch in by_member(commits)] == [2, 1, 1, 1]
    assert len(by_member([commit(1, 0), commit(1, 1, metadata="x")])) == 2


def test_folding_leaves_out_what_newer_commits_follow() -> None:
    """Of ten commits of one partition the first and the last stay, and the last says how many are left out."""
    batches = folded(by_member([commit(at_ms, 0, at_ms) for at_ms in range(10)]))
    assert [(batch.at_ms, batch.folded) for batch in batches] == [(0, 0), (9, 8)]


def test_few_commits_are_not_folded() -> None:
    """A handful is shown as it was."""
    batches = by_member([commit(at_ms, 0) for at_ms in range(MAX_UNFOLDED)])
    assert folded(batches) == batches


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), max_size=60))
def test_folding_changes_nothing_in_the_end(steps: list[tuple[int, str]]) -> None:
    """Whatever is folded: every partition ends with the same commit, at the same time; all are counted."""
    batches = by_member([commit(n, partition, n, member) for n, (partition, member) in enumerate(steps)])
    few = folded(batches)

    def last(of: list[Batch]) -> dict[tuple[str, int], Commit]:
        return {each.place: each for batch in of for each in batch.commits}

    assert last(few) == last(batches)
    assert len(few) + sum(batch.folded for batch in few) == len(batches)
