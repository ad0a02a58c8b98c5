"""`fakebroker.play`: a scenario file in a Python test."""

import re
from pathlib import Path

import pytest

import fakebroker
from fakebroker import FakeBroker, InvalidArgument, ScenarioFailed
from fakebroker.scenarios.errors import ScenarioError

STORY = """
about: A commit is there.
parameters: {offset: 42}
topics: {orders: {partitions: 2}}
actors: [a]
timeline:
  - {a: commit, group_id: billing, offsets: {orders-0: 42}}
  - {expect: {group: billing, offsets: {orders-0: "${offset}"}}}
"""


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A scenario file."""
    path = tmp_path / "story.yaml"
    path.write_text(STORY)
    return path


def test_a_scenario_is_played_in_virtual_time(story: Path) -> None:
    """What happened is given; a seed plays it, too."""
    assert fakebroker.play(story).is_good
    assert fakebroker.play(str(story), seed=5).happenings[0].at_ms <= 5  # a pause is drawn


def test_a_scenario_is_played_on_a_running_broker(story: Path) -> None:
    """The broker has what the scenario did, and runs on."""
    with FakeBroker() as broker:
        fakebroker.play(story, broker)
        assert broker.group("billing").offsets == {("orders", 0): 42}


def test_what_does_not_come_out_fails_the_test(story: Path) -> None:
    """The error is an AssertionError with every problem and what happened last."""
    with pytest.raises(ScenarioFailed) as failed:
        fakebroker.play(story, parameters={"offset": 7})

    assert isinstance(failed.value, AssertionError)
    text = str(failed.value)
    assert (
        f"{story}:8: expect: {{group: billing, offsets: {{orders-0: 7}}}}: offsets.orders-0: expected 7, but saw 42"
        in text
    )
    assert "OffsetCommit" in text.partition("what happened last:")[2]


def test_what_happened_last_is_reported_in_the_times_of_the_broker(tmp_path: Path) -> None:
    """A record of now was not written half a year after the beginning."""
    path = tmp_path / "late.yaml"
    commit = "{a: commit, group_id: billing, offsets: {orders-0: 1}}"
    path.write_text(
        f"about: Late.\nactors: [a]\ntopics: [orders]\ntimeline: [{commit}, {{group: committed billing}}, "
        "{expect: {group: billing, state: Stable}}]\n"
    )
    with FakeBroker() as broker, pytest.raises(ScenarioFailed) as failed:
        fakebroker.play(path, broker)

    assert re.search(r"commit_ms: \+?[0-9.]+m?s\b", str(failed.value)), failed.value


def test_a_broker_that_the_scenario_contradicts(tmp_path: Path) -> None:
    """It is refused before anything is done."""
    path = tmp_path / "three.yaml"
    path.write_text("about: Three nodes.\nnodes: 3\ntimeline: []\n")
    with FakeBroker() as broker, pytest.raises(InvalidArgument, match="nodes"):
        fakebroker.play(path, broker)


def test_files_that_are_no_scenarios(tmp_path: Path) -> None:
    """Each has its own error, with the place of what is wrong."""
    path = tmp_path / "wrong.yaml"
    path.write_text("about: x\ntimeline: [{a: join billing}]\n")

    with pytest.raises(ScenarioError, match=r"wrong.yaml:2"):
        fakebroker.play(path)
    with pytest.raises(OSError, match="nowhere"):
        fakebroker.play(tmp_path / "nowhere.yaml")
