"""The plugin in the hands of its users: their tests, run in a pytest of their own."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker import AsyncFakeBroker, FakeBroker
from fakebroker.cli.pytest import brokers

pytest_plugins = ["pytester"]
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """Load what brokers load when they are used: what a run in this process loads, pytester unloads again."""
    assert brokers

    async def live() -> None:
        async with AsyncFakeBroker() as broker:
            broker.story()

    asyncio.run(live())
    with FakeBroker(nodes=2) as broker:
        client = broker.client("a")
        client.join("g")
        client.sync({client.member_id: {"t": [0]}})
        client.heartbeat()
        broker.topic("t").exists  # noqa: B018
        broker.group("g").members  # noqa: B018
        broker.story()


@pytest.fixture
def run(pytester: pytest.Pytester) -> "Runner":
    pytester.makeini(INI)
    return Runner(pytester)


class Runner:
    """Runs the source of a test file as a user's."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester

    def __call__(self, source: str, *args: str) -> pytest.RunResult:
        self.pytester.makepyfile(source)
        return self.pytester.runpytest_inprocess("-p", "no:cacheprovider", *args)


def test_every_test_gets_a_broker_of_its_own(run: Runner) -> None:
    """Two tests see two brokers, on ports of their own, empty and running."""
    result = run(
        """
        import socket
        seen = []

        def test_one(fakebroker):
            fakebroker.create_topic("orders")
            seen.append(fakebroker.bootstrap)

        def test_two(fakebroker):
            assert not fakebroker.topic("orders").exists
            host, _, port = fakebroker.bootstrap.rpartition(":")
            socket.create_connection((host, int(port)), 5).close()
            assert fakebroker not in seen
        """
    )

    result.assert_outcomes(passed=2)


def test_the_marker_says_how_the_broker_is_made(run: Runner) -> None:
    """Options go to the broker; a misspelt one is an error that lists the right ones."""
    result = run(
        """
        import pytest

        @pytest.mark.fakebroker(
            nodes=3, racks=["a", "b", None], config={"num.partitions": 5}, seed=7, profile="kafka", as_release="3.9"
        )
        def test_made_so(fakebroker):
            assert [node.rack for node in fakebroker.nodes] == ["a", "b", None]
            assert fakebroker.bootstrap.count(",") == 2
            assert fakebroker._engine.cluster.settings.get_int("num.partitions") == 5
            assert fakebroker._engine.cluster.release.name.startswith("3.9")

        @pytest.mark.fakebroker(node=3)
        def test_misspelt(fakebroker):
            pass

        @pytest.mark.fakebroker(listen="127.0.0.1:9092")
        def test_not_of_the_mark(fakebroker):
            pass
        """,
        "--strict-markers",
    )

    result.assert_outcomes(passed=1, errors=2)
    listed = "there are nodes, node_id, racks, config, users, seed, as_release, profile"
    result.stdout.fnmatch_lines(
        ["*::test_misspelt: * node: the mark has no such argument; did you mean 'nodes' or 'node_id'?"]
    )
    result.stdout.fnmatch_lines([f"*::test_not_of_the_mark: * listen: the mark has no such argument; {listed}"])
    result.stdout.no_fnmatch_line("*During handling of the above exception*")


def test_the_factory_makes_as_many_as_one_likes(run: Runner) -> None:
    """Brokers made by the factory run side by side and are stopped after the test."""
    result = run(
        """
        made = []

        def test_two(fakebroker_factory):
            made.extend([fakebroker_factory(), fakebroker_factory(nodes=2)])
            assert made[0].bootstrap != made[1].bootstrap

        def test_they_are_stopped():
            assert not any(broker.is_running for broker in made)
        """
    )

    result.assert_outcomes(passed=2)


def test_one_broker_may_serve_the_whole_run(run: Runner) -> None:
    """The session's broker is the same in every test."""
    result = run(
        """
        def test_one(fakebroker_session):
            fakebroker_session.create_topic("orders")

        def test_two(fakebroker_session):
            assert fakebroker_session.topic("orders").exists
        """
    )

    result.assert_outcomes(passed=2)


def test_a_failure_comes_with_the_story(run: Runner) -> None:
    """The report of a failed test tells the last requests, the groups' transitions and what is unanswered."""
    result = run(
        """
        def test_fails(fakebroker):
            a, b = fakebroker.client("svc-a"), fakebroker.client("svc-b")
            a.join("billing")
            b.start(b.steps.join("billing"))
            while a.heartbeat().error_code == 0:
                pass
            assert False
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*fakebroker 127.0.0.1:*",
            "svc-a: the last * requests",
            "*JoinGroup v9 of group billing, as a new member -> told to rejoin * (MEMBER_ID_REQUIRED)*",
            "*Heartbeat v4 of group billing -> told to rejoin, * (REBALANCE_IN_PROGRESS)*",
            "groups and offsets:",
            "*billing: Empty -> PreparingRebalance, generation 0 (member svc-a-* joined)",
            "unanswered:",
            "*svc-b: JoinGroup v9, for * ms",
        ]
    )


def test_a_test_that_passes_tells_no_story(run: Runner) -> None:
    """Nobody reads what the broker did when all is well."""
    result = run("def test_passes(fakebroker): fakebroker.client('a').join('g')", "-rA")

    assert "JoinGroup" not in result.stdout.str()


def test_an_internal_error_of_the_broker_fails_the_test(run: Runner) -> None:
    """A bug of ours is not swallowed: the test that caused it fails in its teardown, with the error."""
    result = run(
        """
        def test_passes_but(fakebroker):
            fakebroker.errors.append(RuntimeError("a bug in the broker"))

        def test_two_of_them(fakebroker_factory):
            for _ in range(2):
                fakebroker_factory().errors.append(RuntimeError("a bug in each"))
        """
    )

    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(["*RuntimeError: a bug in the broker", "*ExceptionGroup: internal errors of brokers*"])


def test_the_plugin_is_found_without_being_named(pytester: pytest.Pytester) -> None:
    """Installing the package is enough: pytest lists the fixtures by themselves."""
    result = pytester.runpytest_subprocess("--fixtures", "-q")

    names = ("fakebroker", "fakebroker_async", "fakebroker_factory")
    result.stdout.fnmatch_lines_random([f"{name} -- *" for name in names])


def test_a_broker_that_cannot_tell_does_not_spoil_the_report(run: Runner) -> None:
    """If telling the story fails, the report says so and the test's own failure is still there."""
    result = run(
        """
        def test_fails(fakebroker):
            del fakebroker._engine.journal._fresh
            fakebroker._engine.journal.clear = lambda: None
            assert 1 == 2
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2", "no story available: AttributeError*"])


def test_options_that_cannot_be(run: Runner) -> None:
    """Each wrong value fails its test at its start, with the option, the value and what is right."""
    wrong = {
        "nodes=0": "nodes is 0, which is not a number of brokers, from 1",
        "nodes='3'": "nodes is '3', which is not",
        "nodes=True": "nodes is True, which is not",
        "users={'a': 5}": "users is '(passwords)', which is not passwords by user",
        "racks='a'": "racks is 'a', which is not the rack of each broker",
        "nodes=2, racks=['a']": "racks: should have the rack of each of the 2 nodes, not [[]'a']",
        "config=['a']": "config is [[]'a'], which is not settings by their Kafka names",
        "config={'num.partition': 3}": "there is no setting 'num.partition'; did you mean 'num.partitions'?",
        "config={'num.partitions': 'many'}": "num.partitions",
        "seed='x'": "seed is 'x', which is not a whole number",
        "as_release='9.9'": 'as_release is *9.9*, which is not a release of Kafka: "4.3", "3.9", "2.1"',
        "profile='fast'": "profile is 'fast', which is not 'kafka' or 'test'",
        "3": "the mark has the unnamed value 3; it takes nodes=..., ",
    }
    tests = [f"@pytest.mark.fakebroker({option})\ndef test_{n}(fakebroker): pass" for n, option in enumerate(wrong)]
    result = run("import pytest\n" + "\n".join(tests))

    result.assert_outcomes(errors=len(wrong))
    result.stdout.fnmatch_lines([f"*::test_{n}: mark fakebroker: *{text}*" for n, text in enumerate(wrong.values())])


def test_marks_of_module_and_test_together(run: Runner) -> None:
    """Each option is that of the nearest mark which has it."""
    result = run(
        """
        import pytest

        pytestmark = pytest.mark.fakebroker(nodes=2, seed=1)

        @pytest.mark.fakebroker(seed=7)
        def test_both(fakebroker):
            assert (len(fakebroker.listeners), fakebroker._seed) == (2, 7)
        """
    )

    result.assert_outcomes(passed=1)


def test_options_of_the_whole_run(run: Runner) -> None:
    """Seed and profile from the command line or the ini file count for every fixture; a mark goes before them."""
    source = """
        import pytest

        def settings(broker):
            delay = broker._engine.cluster.settings.get_int("group.initial.rebalance.delay.ms")
            return broker._seed, delay

        def test_plain(fakebroker, fakebroker_session, fakebroker_factory):
            for broker in (fakebroker, fakebroker_session, fakebroker_factory()):
                assert settings(broker) == (7, 3000)
            assert settings(fakebroker_factory(seed=9, profile="test")) == (9, 0)

        @pytest.mark.fakebroker(seed=8, profile="test")
        def test_marked(fakebroker):
            assert settings(fakebroker) == (8, 0)
        """
    run(source, "--fakebroker-seed", "7", "--fakebroker-profile", "kafka").assert_outcomes(passed=2)
    run.pytester.makeini(INI + "fakebroker_seed = 7\nfakebroker_profile = kafka\n")
    run(source).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--fakebroker-seed=seven", "--fakebroker-seed is 'seven', which is not a whole number"),
        ("--fakebroker-profile=fast", "--fakebroker-profile is 'fast', which is not 'kafka' or 'test'"),
        ("--fakebroker-journal=tox.ini/j", "--fakebroker-journal is 'tox.ini/j', but the folder cannot be created"),
        (
            "--fakebroker-switch-interval-ms=0",
            "--fakebroker-switch-interval-ms is '0', which is not 0.001 to 1000 milliseconds",
        ),
        (
            "-ofakebroker_switch_interval_ms=fast",
            "fakebroker_switch_interval_ms is 'fast', which is not 0.001 to 1000 milliseconds",
        ),
        ("-ofakebroker_seed=seven", "fakebroker_seed is 'seven', which is not a whole number"),
    ],
)
def test_options_of_the_run_that_cannot_be(run: Runner, option: str, message: str) -> None:
    """They end the run before its first test, as pytest's own do."""
    run.pytester.makepyfile("def test_one(fakebroker): pass")
    result = run.pytester.runpytest_inprocess(option)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_the_switch_interval_of_the_run(run: Runner) -> None:
    """It is Python's as long as the run takes, and then what it was; without the option it is left alone."""
    source = """
        import sys

        def test_one(fakebroker):
            assert abs(sys.getswitchinterval() - 0.0002) < 1e-6
        """
    before_s = sys.getswitchinterval()
    run(source, "--fakebroker-switch-interval-ms", "0.2").assert_outcomes(passed=1)
    assert sys.getswitchinterval() == before_s
    run.pytester.makeini(INI + "fakebroker_switch_interval_ms = 0.2\n")
    run(source).assert_outcomes(passed=1)
    run.pytester.makeini(INI)
    run(source).assert_outcomes(failed=1)


def test_a_mark_without_its_broker(run: Runner) -> None:
    """A mark of the test itself that no broker is made by is an error; that of a module is for those who use one."""
    result = run(
        """
        import pytest
        pytestmark = pytest.mark.fakebroker(seed=7)

        def test_plain(): pass

        @pytest.mark.fakebroker(nodes=2)
        def test_none(fakebroker_factory): pass
        """
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*::test_none: mark fakebroker: the test uses neither of * fakebroker_async"])


def test_an_internal_error_of_the_sessions_broker_fails_its_test(run: Runner) -> None:
    """Not the last test of the run: the one during which it happened."""
    result = run(
        """
        def test_causes_it(fakebroker_session):
            fakebroker_session.errors.append(RuntimeError("a bug in the broker"))

        def test_did_not(fakebroker_session):
            pass
        """
    )

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_causes_it*", "*RuntimeError: a bug in the broker"])


ASYNC_TESTS = """
    import asyncio
    import pytest
    from fakebroker import AsyncFakeBroker

    @pytest.fixture
    {fixture}async def port(fakebroker_async):
        reader, writer = await asyncio.open_connection(*fakebroker_async.bootstrap.split(":"))
        yield fakebroker_async.bootstrap
        writer.close()

    {mark}
    @pytest.mark.fakebroker(nodes=1, seed=7)
    async def test_runs_here(fakebroker_async, port):
        assert isinstance(fakebroker_async, AsyncFakeBroker)
        assert fakebroker_async._server._loop is asyncio.get_running_loop()
        assert (fakebroker_async._seed, fakebroker_async.bootstrap) == (7, port)
        waiting = asyncio.ensure_future(fakebroker_async.topic("orders").wait(records=1))
        await asyncio.sleep(0)
        fakebroker_async.create_topic("orders").produce("one")
        assert len(await waiting) == 1

    {mark}
    async def test_threads_do_it_too(fakebroker, fakebroker_async):
        assert fakebroker.bootstrap != fakebroker_async.bootstrap
        assert not fakebroker_async.topic("orders").exists

    {mark}
    async def test_fails(fakebroker_async):
        fakebroker_async.errors.append(RuntimeError("a bug in the broker"))
        assert fakebroker_async is None
    """


def async_tests(mark: str, fixture: str = "") -> str:
    return ASYNC_TESTS.replace("{mark}", mark).replace(
        "@pytest.fixture\n    {fixture}", fixture or "@pytest.fixture\n    "
    )


@pytest.mark.parametrize(
    ("mark", "fixture", "options"),
    [
        ("@pytest.mark.asyncio", "@__import__('pytest_asyncio').fixture\n    ", ()),
        ("", "", ("--asyncio-mode", "auto")),
        ("@pytest.mark.anyio", "", ()),
        ("@pytest.mark.anyio", "", ("-p", "no:asyncio", "-W", "ignore")),
    ],
    ids=["pytest-asyncio", "pytest-asyncio, auto mode", "anyio", "anyio alone"],
)
def test_a_broker_in_the_tests_loop(run: Runner, mark: str, fixture: str, options: tuple[str, ...]) -> None:
    """With either plugin: it runs in the loop of the test and of the fixtures that use it, is marked as the other one,
    ends with the test, tells its story and its internal errors.
    """
    backend = "    @pytest.fixture\n    def anyio_backend(): return 'asyncio'\n" if "anyio" in mark else ""
    result = run(async_tests(mark, fixture) + "\n" + backend, *options)

    result.assert_outcomes(passed=2, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*RuntimeError: a bug in the broker", "*fakebroker 127.0.0.1:*"])


@pytest.mark.parametrize("scope", ["function", "class", "module", "session"])
def test_loops_that_several_tests_share(run: Runner, scope: str) -> None:
    """The broker is in the loop that the test is in, by its mark or by the ini file, and is fresh all the same."""
    source = """
        import asyncio
        import pytest
        seen = []

        MARK
        class TestIt:
            async def test_one(self, fakebroker_async):
                self.check(fakebroker_async)

            async def test_two(self, fakebroker_async):
                self.check(fakebroker_async)
                assert not seen[0].is_running

            def check(self, broker):
                assert broker._server._loop is asyncio.get_running_loop()
                assert broker not in seen
                seen.append(broker)
        """
    run(source.replace("MARK", f'@pytest.mark.asyncio(loop_scope="{scope}")')).assert_outcomes(passed=2)
    if scope != "class":
        run.pytester.makeini(INI + f"asyncio_default_test_loop_scope = {scope}\n")
        run(source.replace("MARK", "@pytest.mark.asyncio")).assert_outcomes(passed=2)


def test_who_cannot_have_a_broker_in_a_loop(run: Runner) -> None:
    """A plain test, a test in another kind of loop, and one without a plugin that runs it fail with the reason."""
    result = run(
        """
        import pytest

        @pytest.fixture
        def anyio_backend(): return "trio"

        def test_plain(fakebroker_async): pass

        @pytest.mark.anyio
        async def test_trio(fakebroker_async): pass
        """
    )
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["fakebroker_async is for `async def` tests*", "fakebroker_async needs asyncio, *trio*"]
    )
    alone = run("async def test_one(fakebroker_async): pass", "-p", "no:asyncio", "-p", "no:anyio", "-W", "ignore")
    alone.assert_outcomes(errors=1)
    alone.stdout.fnmatch_lines(["fakebroker_async needs pytest-asyncio or anyio*"])


@pytest.mark.slow
def test_runs_side_by_side(run: Runner) -> None:
    """Under xdist every process and every test has brokers of its own; each session broker serves one process."""
    run.pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("n", range(8))
        def test_alone(fakebroker, fakebroker_session, n):
            assert not fakebroker.topic("orders").exists
            fakebroker.create_topic("orders").produce("one")
            assert fakebroker.bootstrap != fakebroker_session.bootstrap
            fakebroker_session.create_topic(f"orders-{n}")

        def test_fails(fakebroker):
            fakebroker.client("svc").join("billing")
            assert False
        """
    )
    result = run.pytester.runpytest_subprocess("-n", "2")

    result.assert_outcomes(passed=8, failed=1)
    result.stdout.fnmatch_lines(["*fakebroker 127.0.0.1:*", "svc: the last * requests"])


def test_a_run_without_brokers_loads_none_of_it() -> None:
    """Every pytest on the machine loads the plugin: it loads nothing besides, and no library at all."""
    code = (
        "import sys, pytest; before = set(sys.modules); import fakebroker.cli.pytest.plugin;"
        "print(*(set(sys.modules) - before))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert set(loaded) == {"fakebroker", "fakebroker.cli", "fakebroker.cli.pytest", "fakebroker.cli.pytest.plugin"}


def test_journals_of_a_run(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each broker writes into a folder of its own, which is named after the test."""
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw7")  # as the variable is in a process of xdist
    result = run(
        """
        import pytest

        @pytest.mark.parametrize("n", ["a/b"])
        def test_one(fakebroker, fakebroker_factory, fakebroker_session, n):
            for broker in (fakebroker, fakebroker_factory(), fakebroker_session):
                broker.create_topic("orders")
                broker.client("svc").join("billing")
        """,
        "--fakebroker-journal",
        str(tmp_path / "journals"),
    )

    result.assert_outcomes(passed=1)
    one = "test_journals_of_a_run_py_test_one_a_b"
    assert sorted(each.name for each in (tmp_path / "journals").iterdir()) == ["session-gw7", one, f"{one}.2"]
    assert all(list(each.iterdir()) for each in (tmp_path / "journals").iterdir())


def test_the_examples_of_the_page_run(run: Runner) -> None:
    """Every Python block of docs/how-to/pytest.md is a test file that passes."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "pytest.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) >= 5
    run.pytester.makepyfile(**{f"test_block_{n}": block for n, block in enumerate(blocks)})

    result = run.pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore")

    result.assert_outcomes(passed=sum(len(re.findall(r"def test_", block)) for block in blocks))


def test_the_markers_name_all_options(pytester: pytest.Pytester) -> None:
    """`pytest --markers` leaves none out that the mark takes."""
    from fakebroker.cli.pytest.options import OPTIONS

    text = pytester.runpytest_subprocess("--markers").stdout.str()
    (line,) = (each for each in text.splitlines() if each.startswith("@pytest.mark.fakebroker("))
    assert all(f"{option}=..." in line for option in OPTIONS)
