"""Sweeps in the hands of the plugin's users: their tests, run in a pytest of their own."""

import pytest

import fakebroker
from fakebroker.cli.pytest import sweep
from tests.testing.sweeps.runs import commit_once

pytest_plugins = ["pytester"]
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"

COMMITS = """
import pytest

ups = []

@pytest.fixture(scope="module")
def wide():
    ups.append("wide")
    yield
    print("wide is down")

@pytest.fixture
def client(fakebroker, wide):
    ups.append("client")
    fakebroker.create_topic("orders")
    return fakebroker.client("svc")

def commits(fakebroker, client):
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0]}})
    client.commit({("orders", 0): 42})
    assert fakebroker.group("billing").offsets == {("orders", 0): 42}
"""


class Runner:
    """Runs the source of a test file as a user's."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester

    def __call__(self, source: str, *args: str) -> pytest.RunResult:
        self.pytester.makepyfile(test_orders=COMMITS + source)
        return self.pytester.runpytest_inprocess("--strict-markers", "-p", "no:cacheprovider", *args)


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """Load what sweeps load when they are used: what a run in this process loads, pytester unloads again."""
    assert sweep
    fakebroker.sweep(commit_once, apis="OffsetCommit")


@pytest.fixture
def run(pytester: pytest.Pytester) -> Runner:
    pytester.makeini(INI)
    return Runner(pytester)


BROKEN = """
@pytest.mark.fakebroker_sweep(apis="OffsetCommit", faults="lost-answer|not-coordinator|rebalance")
def test_commits(fakebroker, client):
    commits(fakebroker, client)
"""
HELD = BROKEN.replace("lost-answer|not-coordinator|", "")


def test_a_test_runs_once_more_for_each_case(run: Runner) -> None:
    """With its own fixtures set up anew; those of wider scopes stay until the last test that needs them."""
    result = run(
        HELD
        + """
def test_what_was_set_up(wide):
    assert ups == ["wide", "client", "client"]
""",
        "-s",
    )

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*..wide is down", "fakebroker sweep: test_commits: 1 request, 1 run, 1 held"])


def test_fixtures_of_wider_scopes_go_after_the_last_run(run: Runner) -> None:
    """Also when the swept test is the last that needs them."""
    result = run(HELD, "-s")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*.wide is down"])


def test_what_breaks_fails_the_test(run: Runner) -> None:
    """The report has the summary with the lines that repeat each break, the traceback, and the broker's story."""
    result = run(BROKEN)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_commits: 1 request, 3 runs, 1 held, 2 broken",
            "  broken by: the answer to OffsetCommit #1 of svc is lost after it was applied",
            "    fakebroker.client.connection.ConnectionLost: OffsetCommit v9*",
            "    repeat: pytest test_orders.py::test_commits --fakebroker-fault 'OffsetCommit#1:lost-answer'",
            "  broken by: OffsetCommit #1 of svc is answered with NOT_COORDINATOR, and not applied",
            "    AssertionError: assert {} == {('orders', 0): 42}",
            "    repeat: pytest test_orders.py::test_commits --fakebroker-fault 'OffsetCommit#1:not-coordinator'",
            "*- OffsetCommit#1:lost-answer -*",
            ">       commits(fakebroker, client)",
            "*- fakebroker 127.0.0.1:* (OffsetCommit#1:lost-answer) -*",
            "svc: the last 5 of 5 requests",
            "*OffsetCommit v9 of svc: hit by fault 1 *",
        ]
    )


def test_one_fault_can_be_repeated(run: Runner) -> None:
    """`--fakebroker-fault` runs a test once, with just that, whether it is marked or not."""
    result = run(BROKEN, "--fakebroker-fault", "OffsetCommit#1:not-coordinator")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [">       commits(fakebroker, client)", "fakebroker: OffsetCommit#1:not-coordinator happened in 1 of 1 tests *"]
    )


def test_a_fault_that_never_happened_is_said(run: Runner) -> None:
    """Nobody takes the test for one that held."""
    result = run(BROKEN, "--fakebroker-fault", "OffsetCommit#7:not-coordinator")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["fakebroker: OffsetCommit#7:not-coordinator never happened: no test sent that*"])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "OffsetCommit",
            "ERROR: --fakebroker-fault must be [[]CLIENT/[]]API#N:FAULT, e.g. OffsetCommit#3:lost-answer, not '*'",
        ),
        ("OffsetCommt#1:disconnect", "ERROR: *there is no API 'OffsetCommt'; did you mean 'OffsetCommit'*"),
        ("OffsetCommit#1:lost", "ERROR: --fakebroker-fault: there is no fault 'lost'; there are *"),
    ],
)
def test_a_fault_that_cannot_be_ends_the_run(run: Runner, fault: str, message: str) -> None:
    """Before any test, with what is right."""
    result = run(BROKEN, "--fakebroker-fault", fault)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ('apis="OffsetCommt"', "*there is no API 'OffsetCommt'; did you mean 'OffsetCommit'*"),
        ('faults="lost"', "*faults: there is no fault 'lost'; there are *"),
        ("budget=0", "*budget must be a whole number from 1, not 0"),
        ("api=3", "*it has no api; it takes apis, budget, faults, seed"),
        ('"OffsetCommit"', "*it has the unnamed value 'OffsetCommit'; it takes apis, budget, faults, seed"),
    ],
)
def test_a_mark_that_cannot_be_fails_its_test(run: Runner, mark: str, message: str) -> None:
    """At its start, and no other."""
    result = run(
        f"""
@pytest.mark.fakebroker_sweep({mark})
def test_marked(fakebroker): pass

def test_other(wide): pass
"""
    )

    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines([message])


def test_a_marked_test_needs_a_broker(run: Runner) -> None:
    """That of a fixture: another could not be given the fault."""
    result = run("@pytest.mark.fakebroker_sweep\ndef test_none(): pass")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*uses neither of the fixtures with a broker, fakebroker and fakebroker_async"])


def test_a_test_that_fails_by_itself_is_not_swept(run: Runner) -> None:
    """Its report is that of any test; a skipped one is skipped."""
    result = run(
        """
@pytest.mark.fakebroker_sweep()
def test_fails(fakebroker, client):
    client.commit({("orders", 0): 42}, group_id="billing")
    ups.append("ran")
    assert False

@pytest.mark.fakebroker_sweep()
def test_skips(fakebroker):
    pytest.skip("not today")

def test_it_ran_once():
    assert ups.count("ran") == 1
"""
    )

    result.assert_outcomes(failed=1, skipped=1, passed=1)


def test_the_budget_of_the_run_goes_before_that_of_the_mark(run: Runner) -> None:
    """A quick run of all sweeps needs no change of any test."""
    result = run(BROKEN.replace("apis=", "budget=50, apis="), "--fakebroker-sweep-budget", "1")

    result.stdout.fnmatch_lines(
        ["test_commits: 1 request, 1 run*", "  1 of 3 cases, chosen by seed 0; a larger budget runs more"]
    )
    refused = run(BROKEN, "--fakebroker-sweep-budget", "0")
    refused.stderr.fnmatch_lines(["ERROR: --fakebroker-sweep-budget must be a number from 1, not 0"])


def test_it_stops_and_repeats_as_any_test(pytester: pytest.Pytester) -> None:
    """`-x` stops after a sweep that broke; `--lf` runs that test again."""
    pytester.makeini(INI)
    pytester.makepyfile(test_orders=COMMITS + BROKEN + "\ndef test_other(): pass")

    pytester.runpytest_inprocess("-x").assert_outcomes(failed=1)
    pytester.runpytest_inprocess("--lf").assert_outcomes(failed=1)


@pytest.mark.slow
def test_it_runs_under_xdist(pytester: pytest.Pytester) -> None:
    """Whole tests go to the processes; summaries and properties come back."""
    pytester.makeini(INI)
    pytester.makepyfile(test_orders=COMMITS + HELD, test_other=COMMITS + BROKEN)

    result = pytester.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "fakebroker sweep: test_commits: 1 request, 1 run, 1 held",
            "test_commits: 1 request, 3 runs, 1 held, 2 broken",
        ]
    )


def test_an_async_test_is_swept(run: Runner) -> None:
    """Its broker runs in its loop, and a new one in each run."""
    pytest.importorskip("pytest_asyncio")
    result = run(
        """
import asyncio

@pytest.mark.asyncio
@pytest.mark.fakebroker_sweep(apis="OffsetCommit", faults="disconnect|coordinator-load-in-progress")
async def test_commits(fakebroker_async):
    fakebroker_async.create_topic("orders")
    client = fakebroker_async.client("svc")
    await asyncio.to_thread(client.commit, {("orders", 0): 42}, group_id="billing")
    assert fakebroker_async.group("billing").offsets == {("orders", 0): 42}
"""
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["test_commits: 1 request, 2 runs, 0 held, 2 broken"])


def test_a_run_that_hangs_is_ended(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time limit; the others are run, and the report names it."""
    monkeypatch.setattr(
        "fakebroker.testing.sweeps.limit.LEAST_TIMEOUT_S", 4.0
    )  # enough to reach the fault on a busy machine
    monkeypatch.setattr("fakebroker.testing.sweeps.limit.TIMES_FIRST", 0)
    result = run(
        """
@pytest.mark.fakebroker_sweep(apis="OffsetCommit", faults="not-coordinator|rebalance")
def test_commits(fakebroker, client):
    try:
        commits(fakebroker, client)
    except AssertionError:
        while True:
            pass
"""
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_commits: 1 request, 2 runs, 1 held, 1 hung",
            "  hung by: OffsetCommit #1 of svc is answered with NOT_COORDINATOR, and not applied",
            "*RunTooLong: the test was still running long after it would have ended without the fault",
        ]
    )


def test_a_client_that_waits_in_c_comes_back(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker of a run that is given up goes on without any fault: librdkafka's commit returns, the test ends."""
    pytest.importorskip("confluent_kafka")
    monkeypatch.setattr("fakebroker.testing.sweeps.limit.LEAST_TIMEOUT_S", 2.0)
    monkeypatch.setattr("fakebroker.testing.sweeps.limit.TIMES_FIRST", 0)
    monkeypatch.setattr("fakebroker.cli.pytest.sweep_watch.AGAIN_S", 1.0)
    result = run(
        """
@pytest.mark.fakebroker_sweep(apis="OffsetCommit", faults="lost-answer")
def test_commits(fakebroker):
    import confluent_kafka
    fakebroker.create_topic("orders").produce("1")
    consumer = confluent_kafka.Consumer({"bootstrap.servers": fakebroker.bootstrap, "group.id": "billing",
        "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0})
    consumer.subscribe(["orders"])
    order = consumer.poll(10)
    ups.append("run")
    if len(ups) > 1:
        fakebroker.fault(api="OffsetCommit|JoinGroup", action="drop-answer")
    consumer.commit(message=order, asynchronous=False)
"""
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["test_commits: 1 request, 1 run, 0 held, 1 hung", "  hung by: the answer to*"])


@pytest.mark.parametrize("shown", [[], ["-s"]])
def test_a_sweep_shows_its_progress(run: Runner, monkeypatch: pytest.MonkeyPatch, shown: list[str]) -> None:
    """Each run as it begins, and each that breaks, once the sweep has taken a while; with and without -s."""
    monkeypatch.setattr("fakebroker.cli.pytest.sweep_progress.QUIET_S", 0.0)
    result = run(BROKEN, *shown)

    result.stdout.fnmatch_lines(
        [
            "test_commits: 1/3 OffsetCommit#1:lost-answer",
            "test_commits: 1/3 OffsetCommit#1:lost-answer: broken: *ConnectionLost*",
            "test_commits: 2/3 OffsetCommit#1:not-coordinator",
            "test_commits: 3/3 OffsetCommit#1:rebalance",
        ]
    )


def test_a_short_sweep_is_silent(run: Runner) -> None:
    """Where lines cannot be rewritten, as in the log of a CI job."""
    run(BROKEN).stdout.no_fnmatch_line("*1/3*")


INTERRUPTED = """
runs = []
@pytest.mark.fakebroker_sweep(apis="OffsetCommit", faults="lost-answer|not-coordinator|rebalance")
def test_commits(fakebroker, client):
    runs.append(1)
    if len(runs) == 3:
        INTERRUPT
    commits(fakebroker, client)
"""


def test_a_sweep_that_is_interrupted_says_what_it_knows(run: Runner) -> None:
    """By Ctrl-C: the report of the runs that had ended, and in which it was."""
    run.pytester.makepyfile(test_orders=COMMITS + INTERRUPTED.replace("INTERRUPT", "raise KeyboardInterrupt"))
    result = run.pytester.runpytest_subprocess("-p", "no:cacheprovider")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "test_commits: 1 request, 1 run, 0 held, 1 broken",
            "  cut off: KeyboardInterrupt in 2/3 OffsetCommit#1:not-coordinator; 2 of 3 cases were not run",
            "  broken by: the answer to OffsetCommit #1 of svc is lost after it was applied",
        ]
    )


def test_a_sweep_that_takes_too_long_says_what_it_knows(run: Runner) -> None:
    """The time limit of pytest-timeout ends the sweep with its report."""
    result = run(INTERRUPTED.replace("INTERRUPT", "pytest.fail('Timeout (>60.0s) from pytest-timeout.')"))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_commits: 1 request, 2 runs, 0 held, 2 broken",
            "  cut off: pytest-timeout ended the test in 2/3 *; 1 of 3 cases were not run",
        ]
    )


def test_each_run_is_reported_by_its_own_broker(run: Runner) -> None:
    """What earlier runs printed and saw is not reported again."""
    result = run(BROKEN.replace("    commits(", "    print('a run')\n    commits("))

    text = result.stdout.str()
    assert text.count("a run\n") == text.count("svc: the last 5 of 5 requests") == 2


def test_methods_and_parametrized_tests_are_swept(run: Runner) -> None:
    """Each run has an instance of its own, and its own parameter."""
    result = run(
        """
class TestOrders:
    @pytest.fixture(autouse=True)
    def fresh(self):
        assert not hasattr(self, "seen")
        self.seen = True

    @pytest.mark.parametrize("offset", [42, 43])
    @pytest.mark.fakebroker_sweep(apis="OffsetCommit", faults="disconnect|lost-answer")
    def test_commits(self, fakebroker, client, offset):
        try:
            client.commit({("orders", 0): offset}, group_id="billing")
        except Exception:
            if offset == 43:
                raise
"""
    )

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_commits[[]43[]]: 1 request, 2 runs, 0 held, 2 broken",
            "    repeat: pytest 'test_orders.py::TestOrders::test_commits[[]43[]]' --fakebroker-fault *",
            "fakebroker sweep: test_commits[[]42[]]: 1 request, 2 runs, 2 held",
        ]
    )


def test_an_internal_error_of_the_broker_breaks_a_run(run: Runner) -> None:
    """The teardown of that run fails, and with it the test."""
    result = run(
        """
@pytest.mark.fakebroker_sweep(apis="OffsetCommit", faults="rebalance")
def test_commits(fakebroker, client):
    commits(fakebroker, client)
    if fakebroker.faults[0].hits:
        fakebroker.errors.append(RuntimeError("a bug in the broker"))
"""
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["    in teardown: RuntimeError: a bug in the broker"])


def test_the_journals_of_all_runs_are_kept(run: Runner) -> None:
    """`--fakebroker-journal` gives each run a folder."""
    result = run(HELD, "--fakebroker-journal", "journals")

    result.assert_outcomes(passed=1)
    assert len(list((run.pytester.path / "journals").iterdir())) == 2


def test_a_teardown_of_a_wider_scope_that_fails_is_an_error(run: Runner) -> None:
    """It is reported once, as that of the test."""
    result = run(
        HELD.replace("def test", "@pytest.mark.usefixtures('bad')\ndef test")
        + """
@pytest.fixture(scope="module")
def bad():
    yield
    raise KeyError("mine")
"""
    )

    result.assert_outcomes(passed=1, errors=1)
