"""The broker that a scenario asks for, and what contradicts it."""

from typing import Any

import pytest

from fakebroker import FakeBroker, InvalidArgument
from fakebroker.broker.settings.declare import PASSWORD
from fakebroker.broker.settings.table import BROKER
from fakebroker.scenarios.running.options import broker_options, check_engine, create_topics
from tests.support.scenarios import scenario

SCENARIO = scenario((), nodes=2, racks=["a", "b"], config={"offsets.retention.minutes": 10080})


def test_a_broker_is_made_as_the_scenario_says() -> None:
    """With what its user adds, and what its user says as well."""
    options = broker_options(SCENARIO, {"nodes": 2, "as_release": "4.3", "config": {"num.partitions": 3}, "seed": None})

    with FakeBroker(**options) as broker:
        check_engine(SCENARIO, broker._engine)
        assert [node.rack for node in broker.nodes] == ["a", "b"]
        assert broker._engine.cluster.settings.get_int("num.partitions") == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nodes": 1}, "--nodes is 1, but the scenario has 2 (made.yaml)"),
        ({"racks": ["a", "c"]}, "racks is ['a', 'c'], but the scenario has ['a', 'b']"),
        ({"seed": 8}, "seed is 8, but the scenario has 7"),
        (
            {"config": {"offsets.retention.minutes": "5"}},
            "config offsets.retention.minutes is 5, but the scenario has 10080",
        ),
    ],
)
def test_an_option_that_contradicts_is_named(given: dict[str, Any], message: str) -> None:
    """As its user calls it, with both values and the file."""
    with pytest.raises(InvalidArgument) as raised:
        broker_options(SCENARIO, given, {"nodes": "--nodes"})
    assert message in str(raised.value)


@pytest.mark.parametrize("setting", [each.name for each in BROKER.values() if each.type == PASSWORD])
def test_secrets_that_contradict_are_not_shown(setting: str) -> None:
    """Neither those of the running broker, which the scenario may only guess, nor those of the scenario."""
    guessed = scenario((), config={setting: "guessed-secret"})
    with FakeBroker(config={setting: "kept-secret"}) as broker, pytest.raises(InvalidArgument) as running:
        check_engine(guessed, broker._engine)
    with pytest.raises(InvalidArgument) as given:
        broker_options(guessed, {"config": {setting: "kept-secret"}})
    for raised in (running, given):
        assert setting in str(raised.value)
        assert "secret" not in f"{raised.value} {raised.value.value}".replace(setting, "")


def test_the_same_value_written_otherwise_is_no_contradiction() -> None:
    """A command line has texts."""
    broker_options(SCENARIO, {"config": {"offsets.retention.minutes": "10080"}})


def test_topics_that_are_there_stay() -> None:
    """Those of another size are a contradiction."""
    with FakeBroker() as broker:
        create_topics(SCENARIO, broker)
        broker.topic("orders").produce("a")
        create_topics(SCENARIO, broker)
        assert broker.topic("orders").end_offsets == {0: 1, 1: 0}
        with pytest.raises(InvalidArgument, match=r"needs topic orders 5 partitions; this broker has 2"):
            create_topics(scenario((), topics={"orders": {"partitions": 5}}), broker)
