"""A sweep finds real bugs, with a real client: in two consumers that lose or count twice, and in the client itself."""

from functools import partial
from typing import Any

import pytest

import fakebroker
from fakebroker.testing.sweeps.report import SweepReport
from tests.testing.sweeps.workers import every_order_is_summed_up

pytestmark = [
    pytest.mark.clients,
    pytest.mark.filterwarnings("ignore"),  # what the library warns of at import is not ours to mend
]

JOBS = 8  # they mostly wait

# librdkafka asks no more for committed offsets after this answer: confluentinc/librdkafka issue 5586, open in 2.16.
KNOWN_OF_THE_CLIENT = {"OffsetFetch#1:not-coordinator"}


def broken(report: SweepReport) -> set[str]:
    """The names of the cases that broke; none may have hung."""
    assert report.hung == []
    return {result.name for result in report.broken}


def test_a_worker_that_commits_what_is_done_holds() -> None:
    """Whatever happens around its fetches and commits, every order is in the table, each once."""
    report = fakebroker.sweep(every_order_is_summed_up, apis="Fetch|OffsetCommit", budget=40, jobs=JOBS)

    assert report.runs == 40
    report.check()


def test_a_worker_that_commits_first_loses_orders() -> None:
    """An order that was committed and is not in the table yet is gone when the partition is taken away."""
    run = partial(every_order_is_summed_up, commits_first=True)

    report = fakebroker.sweep(run, apis="OffsetCommit", faults="pause", jobs=JOBS)

    assert broken(report) == {f"OffsetCommit#{n}:pause" for n in (2, 3, 5, 6, 8)}, "those amid a row"
    assert "broken by: worker is paused beyond its session timeout between " in report.text
    assert "hit by fault 1" in report.broken[0].story
    assert broken(fakebroker.sweep(run, only="OffsetCommit#2:pause")) == {"OffsetCommit#2:pause"}


def test_a_worker_that_keeps_its_row_over_a_rebalance_counts_twice() -> None:
    """It is given the orders since the last commit again, and has them already."""
    run = partial(every_order_is_summed_up, keeps_rows=True)

    report = fakebroker.sweep(run, apis="OffsetCommit", faults="pause", jobs=JOBS)

    assert broken(report) == {f"OffsetCommit#{n}:pause" for n in (1, 2, 4, 5, 7, 8)}, "those amid a row"


@pytest.mark.slow
@pytest.mark.long
def test_the_whole_sweep_of_a_correct_worker_finds_a_bug_of_its_client() -> None:
    """All that is plausible at all it asks for: only what the client itself does wrong breaks it."""
    report = fakebroker.sweep(every_order_is_summed_up, budget=None, jobs=JOBS)

    assert report.runs == report.cases > 60
    assert broken(report) - KNOWN_OF_THE_CLIENT == set(), report.text


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("bug", ["commits_first", "keeps_rows"])
def test_the_whole_sweep_finds_each_bug(bug: str) -> None:
    """With a rebalance or a pause, which are what takes partitions away; nothing else breaks these workers."""
    flags: dict[str, Any] = {bug: True}
    report = fakebroker.sweep(partial(every_order_is_summed_up, **flags), budget=None, jobs=JOBS)

    found = broken(report) - KNOWN_OF_THE_CLIENT
    assert found
    assert {name.rpartition(":")[2] for name in found} <= {"rebalance", "pause"}
