"""Scenarios under names of their own: what is a name is changed everywhere, and nothing else."""

from typing import Any

import pytest

from fakebroker.client.streams_group_steps import Subtopology
from fakebroker.scenarios.on_kafka.fresh_names import with_fresh_names, without_suffix
from fakebroker.scenarios.script import AnyOrder, ClientStep, Expect, PowerStep, Scenario
from tests.scenarios.on_kafka.steps import at, client_step, expect, power, scenario


def arguments_of(made: Scenario, index: int) -> Any:
    """The arguments of a step that is an actor's or a power's."""
    step = made.timeline[index]
    assert isinstance(step, ClientStep | PowerStep)
    return step.arguments


def renamed(*timeline: Any, **more: Any) -> Scenario:
    """A scenario with the topic "orders", under fresh names."""
    return with_fresh_names(scenario(timeline, topics={"orders": {"partitions": 2}}, **more), ".7")


def test_topics_and_groups_are_renamed_wherever_they_are_said() -> None:
    """In arguments, keys, partitions, requests and expectations; also inside of other steps."""
    made = renamed(
        client_step(2, "a", "join", group_id="billing", topics=["orders"], expected={"error": "NONE"}),
        client_step(3, "a", "commit", offsets={"orders-0": 42, ("orders", 1): 7}),
        client_step(4, "a", "request", api_name="OffsetFetch", group_id="billing", topics=[{"name": "orders"}]),
        AnyOrder(at(5), "any_order", [client_step(5, "a", "find_coordinator", key="billing")]),
        expect(6, "group", {"offsets": {"orders-0": 42}}, group_id="billing"),
        power(7, "topic.produce", {"name": "orders"}, values=["orders"], key="billing"),
    )

    assert made.topics == {"orders.7": {"partitions": 2}}
    assert arguments_of(made, 0) == {"group_id": "billing.7", "topics": ["orders.7"]}
    assert arguments_of(made, 1) == {"offsets": {"orders.7-0": 42, ("orders.7", 1): 7}}
    assert arguments_of(made, 2)["topics"] == [{"name": "orders.7"}]
    inner = made.timeline[3]
    assert isinstance(inner, AnyOrder)
    assert isinstance(inner.steps[0], ClientStep)
    assert inner.steps[0].arguments == {"key": "billing.7"}
    expectation = made.timeline[4]
    assert isinstance(expectation, Expect)
    assert (expectation.identity, expectation.expected) == ({"group_id": "billing.7"}, {"offsets": {"orders.7-0": 42}})


def test_a_topology_is_renamed_and_stays_one() -> None:
    """Its source topics are topics of the scenario."""
    topology = [Subtopology("0", ["orders"], changelog_topics=["store"])]
    made = renamed(client_step(2, "a", "join_streams_group", group_id="app", topology=topology))

    assert arguments_of(made, 0)["topology"] == [Subtopology("0", ["orders.7"], changelog_topics=["store"])]


def test_what_is_only_spelt_like_a_name_stays() -> None:
    """Records, metadata, protocols and instance ids, and actors in the assignments of a leader."""
    made = renamed(
        client_step(2, "billing", "join", group_id="billing", protocols=["orders"], group_instance_id="billing"),
        client_step(3, "billing", "sync", assignments={"billing": {"orders": [0]}}),
        client_step(
            4, "billing", "produce", topic="orders", partition=0, records=[{"key": "orders", "value": "billing"}]
        ),
        client_step(5, "billing", "commit", offsets={"orders-0": 1}, metadata="orders"),
        actors=["billing"],
    )

    joined = {"group_id": "billing.7", "protocols": ["orders"], "group_instance_id": "billing"}
    assert arguments_of(made, 0) == joined
    assert arguments_of(made, 1) == {"assignments": {"billing": {"orders.7": [0]}}}
    assert arguments_of(made, 2)["records"] == [{"key": "orders", "value": "billing"}]
    assert arguments_of(made, 3) == {"offsets": {"orders.7-0": 1}, "metadata": "orders"}
    assert made.actors["billing"].client_id == "billing"


@pytest.mark.parametrize("name", ["", "$saved", "__consumer_offsets", "x" * 248])
def test_names_that_cannot_be_longer_or_are_none_stay(name: str) -> None:
    """The empty group, a value that a step saved, a topic of Kafka's own, a name that fills the space there is."""
    made = renamed(client_step(2, "a", "join", group_id=name, topics=["orders"]))

    assert arguments_of(made, 0) == {"group_id": name, "topics": ["orders.7"]}


def test_matchers_and_actors_are_no_names() -> None:
    """A list in any order is that of its entries, and an actor that is expected something of is named here alone."""
    listed = {"topics": {"unordered": [{"name": "audit"}]}}
    made = renamed(
        client_step(2, "a", "request", api_name="OffsetFetch", group_id="billing", expected=listed),
        expect(3, "actor", {"assignment": {"orders": [0]}}, name="a"),
    )

    step, look = made.timeline
    assert isinstance(step, ClientStep)
    assert isinstance(look, Expect)
    assert step.expected == {"topics": {"unordered": [{"name": "audit.7"}]}}
    assert (look.identity, look.expected) == ({"name": "a"}, {"assignment": {"orders.7": [0]}})


def test_the_suffix_is_taken_off_for_people() -> None:
    """Wherever it stands in a text."""
    assert without_suffix("billing.7: orders.7-0 at 42", ".7") == "billing: orders-0 at 42"
