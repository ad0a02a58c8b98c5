"""The scenarios that a real Kafka can play, on Kafka 4.3.1 and here: clients see the same."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from fakebroker.client.security import ClientConfig
from fakebroker.scenarios.language.reading import find_scenarios, read_scenario
from fakebroker.scenarios.on_kafka.against import Comparison, How, compare_all
from fakebroker.scenarios.on_kafka.kafka_steps import kafka_part
from fakebroker.scenarios.on_kafka.kafka_world import settings_of
from fakebroker.scenarios.script import Scenario
from tests.support.agreed_differences import agreed, judged
from tests.support.real_kafka import needs_real_kafka, running_kafka

pytestmark = [*needs_real_kafka, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[3] / "scenarios"
# Kafka's machine and ours may be busy with other tests.
SLACK = 4.0
AT_LEAST = 12
BROKERS = 2  # at a time
# What a Kafka is started with unless a scenario wants something else.
USUAL = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1"}


def name_of(path: Path | str) -> str:
    """A scenario as it is named in the list of agreed differences."""
    return str(Path(path).relative_to(ROOT))


@cache
def scenarios() -> dict[Path, Scenario]:
    """Those whose story still holds when a Kafka with one broker plays them."""
    found = {path: read_scenario(path) for path in find_scenarios([ROOT])}
    return {
        path: each
        for path, each in found.items()
        if each.nodes == 1 and each.release.startswith("4.3") and kafka_part(each).keeps_story
    }


def by_settings() -> dict[tuple[tuple[str, str], ...], list[Path]]:
    """The scenarios by the settings that their Kafka is started with."""
    groups: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for path, each in scenarios().items():
        wanted: Mapping[str, str] = USUAL | settings_of(each)
        groups.setdefault(tuple(sorted(wanted.items())), []).append(path)
    return groups


def compared(paths: list[Path], settings: Mapping[str, str]) -> list[Comparison]:
    """What came of the scenarios on a Kafka with these settings."""
    with running_kafka(settings) as kafka:
        return list(compare_all(paths, read_scenario, How(ClientConfig(kafka.bootstrap), slack=SLACK)))


def test_clients_see_the_same_on_kafka() -> None:
    """Every scenario that a Kafka can play goes as on Kafka 4.3.1, but for agreed differences; there are enough."""
    groups = by_settings()
    with ThreadPoolExecutor(BROKERS) as pool:
        found = pool.map(compared, groups.values(), map(dict, groups))
        played = [each for comparisons in found for each in comparisons]

    reasons = {name_of(each.path): each.why or judged(name_of(each.path), each.differences) for each in played}
    assert {name: problems for name, problems in reasons.items() if problems} == {}
    assert {each.release for each in played} == {"4.3.1"}
    assert sum(each.is_whole for each in played) >= AT_LEAST


def test_agreed_differences_are_of_scenarios_that_are_played() -> None:
    """Each has a reason, and names a file that the test above plays."""
    names = {name_of(path) for path in scenarios()}

    assert {name for name in agreed() if name not in names} == set()
    assert all(each.why and each.differences for each in agreed().values())
