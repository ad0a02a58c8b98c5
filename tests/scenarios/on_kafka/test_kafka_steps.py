"""Which steps a Kafka can take, and what becomes of those that need others."""

import pytest

from fakebroker.cli.http.operations import OPERATIONS
from fakebroker.scenarios.on_kafka.kafka_powers import MEMBERS
from fakebroker.scenarios.on_kafka.kafka_steps import SEEN_WITHIN_MS, kafka_part, why_not
from fakebroker.scenarios.script import Expect, Repeat, Silent, Step
from tests.scenarios.on_kafka.steps import at, client_step, expect, passing, power, scenario

JOIN = client_step(2, "a", "join", group_id="billing", topics=["orders"])


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (power(3, "clock.advance", days=3), "clock cannot be changed"),
        (power(3, "coordinator.move", {"group_id": "billing"}, to=2), "when brokers fail"),
        (power(3, "group.hold_joins", {"group_id": "billing"}), "cannot hold a rebalance"),
        (power(3, "group.explain", {"group_id": "billing"}), "no request for it"),
        (power(3, "fault", api="Heartbeat"), "no faults"),
        (power(3, "node.stop", {"node_id": 2}), "cannot be stopped"),
        (power(3, "snapshot"), "only fakebroker supports it"),
        (expect(3, "journal", {"requests": []}), "has no journal"),
        (expect(3, "group", {"generation": 2}, group_id="billing"), "does not report generation"),
        (power(3, "topic.partition.move_leader", {"name": "orders", "index": 0}, to=2), "in the background"),
        (power(3, "topic.produce", {"name": "__consumer_offsets"}, values=["a"]), "cannot change internal topics"),
        (passing(3, 60_000), "60 s of real time"),
        (Silent(at(3), "a: silent", "a", 16_000), "16 s of real time"),
    ],
)
def test_what_a_kafka_cannot_do_is_said(step: Step, why: str) -> None:
    """Each kind of step has its own reason, and is left out alone."""
    part = kafka_part(scenario([JOIN, step]))

    assert list(part.scenario.timeline) == [JOIN]
    assert why in part.left_out[0].why
    assert "line 3" in str(part.left_out[0])


@pytest.mark.parametrize(
    "step",
    [
        JOIN,
        power(3, "topic.produce", {"name": "orders"}, values=["a"]),
        power(3, "group.delete", {"group_id": "billing"}),
        passing(3, 3_000),
        expect(3, "group", {"state": "Stable", "members": 1}, group_id="billing"),
        expect(3, "actor", {"assignment": {}}, name="a"),
    ],
)
def test_what_a_kafka_can_do_is_kept(step: Step) -> None:
    """Clients, powers for which there is a request, waits of a few seconds, looks at what Kafka shows."""
    assert why_not(step) is None


def test_steps_that_need_what_is_missing_are_left_out_with_it() -> None:
    """The release of a hold that was never set, a value that no step has saved, and so on."""
    timeline = [
        power(2, "group.hold_joins", {"group_id": "billing"}, saved_as="hold"),
        client_step(3, "a", "join", group_id="billing"),
        Repeat(at(4), "repeat", 2, [power(4, "hold.release", on="hold", saved_as="order")]),
        client_step(5, "a", "sync", assignments={"$order.0": {}}),
    ]

    part = kafka_part(scenario(timeline))

    assert [step.place.line for step in part.scenario.timeline] == [3]
    assert [each.step.place.line for each in part.left_out] == [2, 4, 5]
    assert part.left_out[2].why == "it needs order, which line 4 would have given"
    assert not part.keeps_story


def test_an_expectation_is_kept_without_what_a_kafka_does_not_tell() -> None:
    """The generation of a group is in no answer of DescribeGroups; and its views may lag a moment."""
    part = kafka_part(scenario([JOIN, expect(3, "group", {"state": "Stable", "generation": 1}, group_id="billing")]))

    kept = part.scenario.timeline[1]
    assert isinstance(kept, Expect)
    assert (kept.expected, kept.within_ms) == ({"state": "Stable"}, SEEN_WITHIN_MS)
    assert "generation" in part.left_out[0].why
    assert part.keeps_story


def test_a_request_of_a_version_that_is_not_served_is_left_out() -> None:
    """The versions are those that this Kafka advertises."""
    old = client_step(2, "a", "request", api_name="Fetch", version=0)
    part = kafka_part(scenario([JOIN, old]), {1: (4, 18), 11: (2, 9)})

    assert [str(each) for each in part.left_out] == ["line 2: a: request: this Kafka serves Fetch v4-18"]


@pytest.mark.parametrize("name", sorted({row.power for row in OPERATIONS if "." in row.power or row.has_body}))
def test_every_power_is_had_from_a_kafka_or_declined_with_a_reason(name: str) -> None:
    """What a scenario can be written with, of whatever handle."""
    subject, _, verb = name.partition(".")

    assert (why_not(power(3, name)) is None) == (name == "create_topic" or verb in MEMBERS.get(subject, ()))
