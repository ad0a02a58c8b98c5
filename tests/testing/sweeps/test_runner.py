"""`fakebroker.sweep(run)`: the first run is looked at, then each case has a run and a broker of its own."""

import threading
from typing import Any

import pytest

import fakebroker
from fakebroker import FakeBroker, InvalidArgument
from fakebroker.testing.sweeps import runner
from fakebroker.testing.sweeps.plausible import FAULTS, PLAUSIBLE
from tests.testing.sweeps.runs import commit_once, commit_stubbornly


def names(results: list[Any]) -> list[str]:
    return [result.name for result in results]


def test_every_plausible_fault_of_every_request_has_a_run() -> None:
    """What the client asked for is counted, and each of it is swept."""
    report = fakebroker.sweep(commit_stubbornly, apis="OffsetCommit")

    assert (report.requests, report.cases, report.runs) == (1, 4, 4)
    assert report.held == 4
    assert report.text == "commit_stubbornly: 1 request, 4 runs, 4 held"
    report.check()


def test_what_breaks_is_said_with_the_line_that_repeats_it() -> None:
    """The fault in words, the exception with its place, the call."""
    report = fakebroker.sweep(commit_once, apis="OffsetCommit", faults="not-coordinator|rebalance", seed=3)

    assert names(report.broken) == ["OffsetCommit#1:not-coordinator"]
    lines = report.text.splitlines()
    assert lines[:2] == [
        "commit_once: 1 request, 2 runs, 1 held, 1 broken",
        "  broken by: OffsetCommit #1 of svc is answered with NOT_COORDINATOR, and not applied",
    ]
    assert lines[2].startswith(
        '    AssertionError: assert broker.group("billing").offsets == {("orders", 0): 42} (runs.py:'
    )
    assert lines[3] == "    repeat: fakebroker.sweep(commit_once, only='OffsetCommit#1:not-coordinator').check()"
    with pytest.raises(AssertionError, match="1 broken") as raised:
        report.check()
    assert raised.value.__cause__ is report.broken[0].error
    assert "OffsetCommit v9" in report.broken[0].story


def test_one_case_can_be_repeated() -> None:
    """`only` runs it alone, with and without naming the client."""
    for name in ("OffsetCommit#1:lost-answer", "svc/OffsetCommit#1:lost-answer"):
        report = fakebroker.sweep(commit_once, only=name)

        assert (report.runs, names(report.broken)) == (1, [name])
    (missed,) = fakebroker.sweep(commit_once, only="other/OffsetCommit#1:lost-answer").not_reached
    assert (missed.name, missed.was_reached) == ("other/OffsetCommit#1:lost-answer", False)


def test_a_sweep_of_nothing_says_so() -> None:
    """Without a request of the swept APIs nothing has been tried, which looks like a sweep that held."""
    report = fakebroker.sweep(commit_once, apis="LeaveGroup")
    wanted = "commit_once: no cases: no client sent a request for which one of the faults is plausible"
    assert (report.cases, report.text) == (0, wanted)


def test_each_fault_does_what_it_says() -> None:
    """Lost answers are applied, the others are not; the group's faults come before the request."""
    applied: dict[str, Any] = {}

    def commit(broker: FakeBroker) -> None:
        try:
            commit_once(broker)
        finally:
            fault = next((fault.description for fault in broker.faults), "first run")
            members = [member.client_id for member in broker.group("billing").members]
            applied[fault] = (broker.group("billing").offsets != {}, broker.group("billing").state, members)

    outcomes = {
        result.case.fault.name: (result.outcome, *applied_of(applied, result.case.fault.name))
        for result in fakebroker.sweep(commit, apis="OffsetCommit", jobs=1).results
    }

    assert outcomes == {
        "lost-answer": ("broken", True, "Stable", ["svc"]),
        "disconnect": ("broken", False, "Stable", ["svc"]),
        "not-coordinator": ("broken", False, "Stable", ["svc"]),
        "coordinator-load-in-progress": ("broken", False, "Stable", ["svc"]),
        "rebalance": ("held", True, "PreparingRebalance", ["svc"]),
        "pause": ("broken", False, "Empty", []),
    }


def applied_of(applied: dict[str, Any], fault: str) -> Any:
    """What was seen in the run whose fault is described so."""
    words = {
        "lost-answer": "disconnect, after applied", "disconnect": "disconnect, after received",
        "not-coordinator": "error NOT_COORDINATOR", "coordinator-load-in-progress": "COORDINATOR_LOAD",
        "rebalance": "run rebalance", "pause": "run pause",
    }[fault]  # fmt: skip
    (found,) = [seen for description, seen in applied.items() if words in description]
    return found


def test_a_request_that_does_not_come_is_said() -> None:
    """A run that takes another way is neither held nor broken."""
    asked = threading.Event()

    def commits_the_first_time(broker: FakeBroker) -> None:
        if not asked.is_set():
            asked.set()
            commit_stubbornly(broker)

    report = fakebroker.sweep(commits_the_first_time, apis="OffsetCommit", faults="disconnect")

    assert (report.held, report.is_held) == (0, True)
    assert "  not reached, the request did not come in that run: OffsetCommit#1:disconnect" in report.text


def test_a_run_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time limit; the story is kept."""
    monkeypatch.setattr("fakebroker.testing.sweeps.runner.GRACE_S", 0.1)
    waits = threading.Event()

    def waits_for_ever(broker: FakeBroker) -> None:
        try:
            commit_once(broker)
        except AssertionError:
            waits.wait(20)  # until the test lets it go

    try:
        report = fakebroker.sweep(waits_for_ever, apis="OffsetCommit", faults="not-coordinator", timeout_s=0.5, jobs=1)
    finally:
        waits.set()

    (hung,) = report.hung
    assert (hung.message, report.is_held) == ("it had not ended after 0.5 s", False)
    assert "NOT_COORDINATOR" in hung.story
    assert "hung by: OffsetCommit #1 of svc is answered" in report.text


def test_a_run_that_waits_for_an_answer_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is given up has its faults removed and is disconnected; its broker is not stopped before it ends."""
    monkeypatch.setattr("fakebroker.testing.sweeps.runner.GRACE_S", 0.2)
    brokers, ends = [], []

    def asks_until_it_is_answered(broker: FakeBroker) -> None:
        brokers.append(broker)
        if len(brokers) > 1:
            broker.fault(api="OffsetCommit", action="drop-answer")
        try:
            commit_stubbornly(broker)
        finally:
            ends.append(broker.is_running)

    report = fakebroker.sweep(
        asks_until_it_is_answered, apis="OffsetCommit", faults="not-coordinator", timeout_s=0.5, jobs=1
    )

    assert [result.outcome for result in report.results] == ["hung"]
    assert ends == [True, True]
    assert not any(broker.is_running for broker in brokers)


def test_an_interrupted_sweep_tells_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exception has a note with the report of the runs that had ended."""
    runs = []
    plain = runner._Sweeper._run_case

    def interrupt(self: Any, case: Any) -> Any:
        runs.append(case)
        if len(runs) == 2:
            raise KeyboardInterrupt
        return plain(self, case)

    monkeypatch.setattr(runner._Sweeper, "_run_case", interrupt)
    with pytest.raises(KeyboardInterrupt) as stopped:
        fakebroker.sweep(commit_once, apis="OffsetCommit", faults="not-coordinator|rebalance|disconnect", jobs=1)

    (note,) = stopped.value.__notes__
    assert "cut off: interrupted by KeyboardInterrupt; 2 of 3 cases were not run" in note
    assert "broken by" in note


def test_the_first_run_must_pass() -> None:
    """What it raises is raised: there is nothing to sweep in a test that fails by itself."""

    def fails(_broker: FakeBroker) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fakebroker.sweep(fails)


def test_an_internal_error_of_the_broker_breaks_the_run() -> None:
    """It is never swallowed."""

    def finds_a_bug(broker: FakeBroker) -> None:
        commit_stubbornly(broker)
        if broker.faults[0].hits:
            broker.errors.append(RuntimeError("a bug in the broker"))

    report = fakebroker.sweep(finds_a_bug, apis="OffsetCommit", faults="not-coordinator")

    assert [result.message for result in report.broken] == ["RuntimeError: a bug in the broker"]


def test_coroutine_functions_are_run() -> None:
    """Each in a loop of its own."""

    async def commits(broker: FakeBroker) -> None:
        commit_once(broker)

    assert fakebroker.sweep(commits, apis="OffsetCommit", faults="rebalance").held == 1


def test_the_budget_limits_the_runs() -> None:
    """And the report says how many there would be."""
    report = fakebroker.sweep(commit_once, budget=3, seed=7)

    assert (report.runs, report.cases > 3) == (3, True)
    assert f"  3 of {report.cases} cases, chosen by seed 7; a larger budget runs more" in report.text


def test_brokers_are_made_as_one_says() -> None:
    """Options are those of FakeBroker, and part of the line that repeats a case."""

    def has_three_nodes(broker: FakeBroker) -> None:
        commit_once(broker)
        assert broker.bootstrap.count(",") == 2

    report = fakebroker.sweep(has_three_nodes, apis="OffsetCommit", faults="lost-answer|rebalance", nodes=3, seed=5)

    assert (report.held, len(report.broken)) == (1, 1)
    assert "only='OffsetCommit#1:lost-answer', nodes=3)" in report.text


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"apis": "Commit"}, "there is no API 'Commit'"),
        ({"faults": "lost"}, "there is no fault 'lost'"),
        ({"budget": 0}, "budget must be a whole number from 1"),
        ({"jobs": 0}, "jobs must be a whole number from 1"),
        ({"timeout_s": 0}, "timeout_s must be a number of seconds above 0"),
        ({"only": "OffsetCommit"}, "only must be [CLIENT/]API#N:FAULT"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(asked: dict[str, Any], message: str) -> None:
    """The error names the field and what is right."""
    ran: list[Any] = []

    with pytest.raises(InvalidArgument) as refused:
        fakebroker.sweep(ran.append, **asked)

    assert message in str(refused.value)
    assert ran == []


def test_every_fault_of_the_table_can_be_set() -> None:
    """At the API it stands for, the broker takes its declaration."""
    for api, faults in PLAUSIBLE.items():
        for fault in (*faults, *FAULTS):
            report = fakebroker.sweep(lambda _broker: None, only=f"{api}#1:{fault}")
            assert len(report.not_reached) == 1
