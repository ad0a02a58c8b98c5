"""The scenarios that come with the project: each is read, passes, says where it is from, and has its transcript."""

import re
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.scenarios.language.reading import find_scenarios, read_scenario
from fakebroker.scenarios.playing.player import Player
from fakebroker.scenarios.playing.worlds import BrokerWorld
from fakebroker.scenarios.running.run import Status, Task, play
from fakebroker.scenarios.script import Expect, Pass, Scenario, Silent
from tools.scenario_pages import README, playable_on_kafka, scenarios_page

SCENARIOS = README.parent
FILES = find_scenarios([SCENARIOS])
PUBLIC = re.compile(r"KIP-\d+|KAFKA-\d+|[\w.-]+/[\w.-]+#\d+")
RULE = re.compile(r"[A-Z]{2,3}-\d+")  # tests/test_rules.py knows whether there is such a rule

each = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")


@each
def test_a_scenario_passes_as_approved_and_again(path: Path) -> None:
    """Every expectation holds, the dialogue is the approved one byte for byte, and so it is a second time."""
    task = Task(str(path), keeps_transcript=True)

    first, second = play(task), play(task)

    assert first.status is Status.PASSED, first
    assert first.transcript == second.transcript == path.with_suffix(".transcript").read_text()


@each
def test_a_scenario_says_where_it_is_from(path: Path) -> None:
    """It names a KIP or an issue that anybody can read; rules stand beside that. Its story has a few lines."""
    scenario = read_scenario(path)

    assert [source for source in scenario.sources if not PUBLIC.fullmatch(source) and not RULE.fullmatch(source)] == []
    assert any(PUBLIC.fullmatch(source) for source in scenario.sources)
    assert 60 < len(scenario.about) < 400


def takes_no_time(scenario: Scenario) -> bool:
    """Whether no step lets time pass, or waits for what takes time."""
    return not any(isinstance(s, Pass | Silent) or (isinstance(s, Expect) and s.within_ms) for s in scenario.timeline)


@pytest.mark.parametrize(
    "path", [path for path in FILES if takes_no_time(read_scenario(path))], ids=lambda path: path.stem
)
def test_a_scenario_passes_on_a_running_broker(path: Path) -> None:
    """Over TCP and in real time it goes as in virtual time, where it takes no time."""
    scenario = read_scenario(path)
    made: dict[str, Any] = {"nodes": scenario.nodes, "config": dict(scenario.config), "profile": scenario.profile}
    made |= {"users": dict(scenario.users), "acls": scenario.acls, "as_release": scenario.release}

    with FakeBroker(**made) as broker:
        played = Player(BrokerWorld(broker), scenario).play()

    assert played.problems == []


def test_every_transcript_belongs_to_a_scenario() -> None:
    """None is left of a file that was renamed."""
    assert [path for path in SCENARIOS.rglob("*.transcript") if path.with_suffix(".yaml") not in FILES] == []


def test_the_list_of_scenarios_is_up_to_date() -> None:
    """The folder's page says what the files say."""
    assert README.read_text() == scenarios_page(), "run `make docs`"


def test_many_scenarios_can_be_played_on_a_kafka() -> None:
    """They are what keeps the broker honest: at least sixteen need nothing but a Kafka with its usual settings."""
    assert sum(playable_on_kafka(read_scenario(path)) == "yes" for path in FILES) >= 16
