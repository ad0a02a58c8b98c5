"""The plugin in the hands of its users: their tests, run in a pytest of their own."""

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture
def run(pytester: pytest.Pytester) -> "Runner":
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

        @pytest.mark.fakebroker(nodes=3, config={"num.partitions": 5}, seed=7, profile="kafka", as_release="3.9")
        def test_made_so(fakebroker):
            assert fakebroker.bootstrap.count(",") == 2
            assert fakebroker.engine.cluster.settings.get_int("num.partitions") == 5
            assert fakebroker.engine.cluster.release.name.startswith("3.9")

        @pytest.mark.fakebroker(node=3)
        def test_misspelt(fakebroker):
            pass
        """,
        "--strict-markers",
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*mark fakebroker has no node; it has as_release, config, nodes, profile, seed*"])


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
            "*JoinGroup v9 of group billing -> told to join again * (MEMBER_ID_REQUIRED)*",
            "*Heartbeat v4 of group billing -> told to join again, * (REBALANCE_IN_PROGRESS)*",
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

    result.stdout.fnmatch_lines(["fakebroker -- *", "fakebroker_factory -- *"])


def test_a_broker_that_cannot_tell_does_not_spoil_the_report(run: Runner) -> None:
    """If telling the story fails, the report says so and the test's own failure is still there."""
    result = run(
        """
        def test_fails(fakebroker):
            del fakebroker.engine.journal._ring
            fakebroker.engine.journal.clear = lambda: None
            assert 1 == 2
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2", "no story: AttributeError*"])
