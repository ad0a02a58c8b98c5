"""The mark `fakebroker_scenario`: a scenario is the environment of a test."""

import threading

import pytest

from tests.cli.pytest.test_pytest_plugin import Runner, loaded, run

__all__ = ["loaded", "run"]
pytest_plugins = ["pytester"]

MOVES = """\
about: A commit is refused once.
nodes: 2
config: {num.partitions: 3}
parameters: {error: NOT_COORDINATOR}
topics: {orders: {partitions: 2}}
timeline:
  - {coordinator: move billing, to: 1}
  - {fault: {api: OffsetCommit, error: "${error}", times: 1}, as: refused}
  - {wait: {fault: refused, hits: 1}, within: 20s}
  - {wait: {group: billing, offsets: {orders-0: 7}}, within: 20s}
"""
COMMITS = """
    import pytest

    @pytest.mark.fakebroker_scenario("moves.yaml")
    def test_commits(fakebroker):
        assert len(fakebroker.nodes) == 2
        assert fakebroker.topic("orders").partitions == 2
        a = fakebroker.client("a")
        error = None
        while error != 0:
            error = a.commit({("orders", 0): OFFSET}, group_id="billing").topics[0].partitions[0][1]
            fakebroker.errors_seen = [*getattr(fakebroker, "errors_seen", []), error]
        assert EXPECTED in fakebroker.errors_seen
"""


@pytest.fixture
def files(pytester: pytest.Pytester) -> pytest.Pytester:
    """A scenario beside the test file."""
    (pytester.path / "moves.yaml").write_text(MOVES)
    return pytester


def commits(offset: int = 7, expected: int = 0) -> str:
    return COMMITS.replace("OFFSET", str(offset)).replace("EXPECTED", str(expected))


@pytest.mark.usefixtures("files")
def test_the_timeline_is_played_while_the_test_runs(run: Runner) -> None:
    """The broker is made as the file says; what the timeline waits for is what the test does."""
    run(commits()).assert_outcomes(passed=1)


@pytest.mark.usefixtures("files")
def test_an_expectation_that_does_not_hold_fails_the_test(run: Runner) -> None:
    """With its place, and what happened last; though the test's own code found nothing."""
    source = MOVES.replace(
        "{wait: {group: billing, offsets: {orders-0: 7}}, within: 20s}", "{expect: {group: billing, members: 3}}"
    )
    run.pytester.path.joinpath("moves.yaml").write_text(source)
    result = run(commits())

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*moves.yaml:10: expect: {group: billing, members: 3}*", "*- scenario moves.yaml -*"])


@pytest.mark.usefixtures("files")
def test_the_report_of_a_failed_test_tells_what_its_scenario_did(run: Runner) -> None:
    """Beside the broker's story."""
    result = run("""
        import pytest

        @pytest.mark.fakebroker_scenario("moves.yaml")
        def test_gives_up(fakebroker):
            fakebroker.wait(lambda: fakebroker._engine.faults or None, 10, lambda: "no fault")
            assert False, "gave up"
    """)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*gave up*", "*- scenario moves.yaml -*", "*coordinator: move billing*"])


@pytest.mark.usefixtures("files")
def test_a_timeline_that_does_not_end_fails_the_test(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a moment, with the step that it is at."""
    monkeypatch.setattr("fakebroker.cli.pytest.scenarios.AFTER_TEST_S", 0.3)
    result = run("""
        import pytest

        @pytest.mark.fakebroker_scenario("moves.yaml")
        def test_does_nothing(fakebroker):
            pass
    """)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*has not ended after 0.3 s; it is at *moves.yaml:9: wait: {fault: refused, hits: 1}*"]
    )


@pytest.mark.usefixtures("files")
def test_the_fixture_tells_of_the_scenario(run: Runner) -> None:
    """Whether it is over, what is wrong; parameters come with the mark."""
    run("""
        import pytest

        @pytest.mark.fakebroker_scenario("moves.yaml", error="COORDINATOR_LOAD_IN_PROGRESS")
        def test_knows(fakebroker, fakebroker_scenario):
            assert not fakebroker_scenario.is_done
            a = fakebroker.client("a")
            errors = []
            while not errors or errors[-1]:
                errors.append(a.commit({("orders", 0): 7}, group_id="billing").topics[0].partitions[0][1])
            fakebroker_scenario.wait(timeout_s=10)
            assert fakebroker_scenario.is_done
            assert fakebroker_scenario.problems == []
            assert "orders-0: 7" in fakebroker_scenario.transcript
    """).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("mark", "fixtures", "message"),
    [
        ('"nowhere.yaml"', "fakebroker", "*nowhere.yaml: No such file*"),
        ("", "fakebroker", "*it takes one file*"),
        ('"moves.yaml", erorr="X"', "fakebroker", "*erorr*error*"),
        ('"moves.yaml"', "", "*does not use the fixture fakebroker*"),
        ('"broken.yaml"', "fakebroker", "*broken.yaml:1: *"),
    ],
)
@pytest.mark.usefixtures("files")
def test_a_wrong_mark_fails_the_test(run: Runner, mark: str, fixtures: str, message: str) -> None:
    """It says what is wrong with it, without a traceback."""
    (run.pytester.path / "broken.yaml").write_text("about: x\n")
    result = run(f"""
        import pytest

        @pytest.mark.fakebroker_scenario({mark})
        def test_marked({fixtures}):
            pass
    """)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.usefixtures("files")
def test_other_marks_may_add_but_not_contradict(run: Runner) -> None:
    """A setting that the scenario does not have is added; other nodes are refused."""
    result = run("""
        import pytest

        @pytest.mark.fakebroker(nodes=3)
        @pytest.mark.fakebroker_scenario("moves.yaml")
        def test_more_nodes(fakebroker):
            pass

        @pytest.mark.fakebroker(config={"offsets.retention.minutes": 5})
        @pytest.mark.fakebroker_scenario("moves.yaml")
        def test_settings(fakebroker, fakebroker_scenario):
            settings = fakebroker._engine.cluster.settings
            assert settings.get_int("offsets.retention.minutes") == 5
            assert settings.get_int("num.partitions") == 3
            a = fakebroker.client("a")
            while a.commit({("orders", 0): 7}, group_id="billing").topics[0].partitions[0][1]:
                pass
            fakebroker_scenario.wait(10)
    """)

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*nodes is 3, but the scenario has 2*"])


def test_the_fixture_needs_the_mark(run: Runner) -> None:
    """Without one there is nothing to tell of."""
    result = run("""
        def test_unmarked(fakebroker_scenario):
            pass
    """)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*is for tests with @pytest.mark.fakebroker_scenario*"])


@pytest.mark.usefixtures("files")
def test_a_topic_that_cannot_be_fails_the_setup_and_leaves_no_broker(run: Runner) -> None:
    """Two whose metrics would have one name, which only the broker knows; Kafka's reason is reported."""
    source = MOVES.replace("{partitions: 2}", "{partitions: 2}, svc.a: {}, svc_a: {}")
    run.pytester.path.joinpath("moves.yaml").write_text(source)
    before = threading.active_count()
    result = run(commits())

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*mark fakebroker_scenario: INVALID_TOPIC_EXCEPTION*"])
    assert threading.active_count() == before
