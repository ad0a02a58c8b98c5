"""Requests of members of groups with epochs, in words."""

from typing import Any

import pytest

from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.registry import api
from fakebroker.testing.explanations.group_wording import fine_text, heartbeat_text
from fakebroker.testing.virtual_broker import VirtualBroker

TOPIC = {"topic_id": bytes(16), "partitions": [0, 1]}


@pytest.mark.parametrize(
    ("name", "fields", "text"),
    [
        ("ConsumerGroupHeartbeat", {"member_epoch": 0, "topic_partitions": []}, "joins"),
        ("ConsumerGroupHeartbeat", {"member_epoch": -1}, "leaves"),
        ("ConsumerGroupHeartbeat", {"member_epoch": -2}, "leaves temporarily"),
        ("ConsumerGroupHeartbeat", {"member_epoch": 4}, "epoch 4"),
        ("ConsumerGroupHeartbeat", {"member_epoch": 4, "topic_partitions": [TOPIC]}, "epoch 4, owns 2"),
        ("ConsumerGroupHeartbeat", {"member_epoch": 4, "topic_partitions": []}, "epoch 4, owns 0"),
        ("ShareGroupHeartbeat", {"member_epoch": 4}, "epoch 4"),
        (
            "StreamsGroupHeartbeat",
            {"member_epoch": 4, "active_tasks": [{"subtopology_id": "0", "partitions": [0, 1, 2]}]},
            "epoch 4, owns 3",
        ),
        ("Heartbeat", {}, ""),
    ],
)
def test_a_heartbeat_is_described_by_its_epoch(name: str, fields: dict[str, Any], text: str) -> None:
    """And by what it says the member owns, if it says that."""
    assert heartbeat_text(name, built(api(name).request, fields)) == text
    assert heartbeat_text(name, None) == ""


@pytest.mark.parametrize(
    ("name", "fields", "text"),
    [
        ("ConsumerGroupHeartbeat", {"member_epoch": 4}, "ok, epoch 4"),
        ("ConsumerGroupHeartbeat", {"member_epoch": -1}, "ok"),
        (
            "ConsumerGroupHeartbeat",
            {"member_epoch": 4, "assignment": {"topic_partitions": [TOPIC]}},
            "ok, epoch 4, assigned 2",
        ),
        ("StreamsGroupHeartbeat", {"member_epoch": 4, "active_tasks": []}, "ok, epoch 4, assigned 0"),
        ("ShareFetch", {"responses": []}, "nothing acquired"),
        ("Heartbeat", {}, ""),
    ],
)
def test_an_answer_is_described_by_what_it_gives(name: str, fields: dict[str, Any], text: str) -> None:
    """An epoch, partitions or tasks, records."""
    assert fine_text(name, built(api(name).response, fields)) == text


def test_the_story_tells_a_members_life() -> None:
    """As the requests of a client in the story of a failed test."""
    with VirtualBroker() as broker:
        broker.create_topic("orders", partitions=2)
        client = broker.client("a")
        client.join_consumer_group("billing", ["orders"])
        client.reconcile()
        client.consumer_group_heartbeat(member_epoch=9)
        client.leave_consumer_group()
        lines = [line.partition("s ")[2] for line in broker.story().splitlines() if "ConsumerGroupHeartbeat" in line]

    assert [line.replace("FENCED_MEMBER_EPOCH", "FENCED") for line in lines] == [
        "ConsumerGroupHeartbeat v1 of group billing, joins, orders -> ok, epoch 2, assigned 2",
        "ConsumerGroupHeartbeat v1 of group billing, epoch 2, owns 2, orders-0,1 -> ok, epoch 2",
        "ConsumerGroupHeartbeat v1 of group billing, epoch 9 -> told to give up its partitions and rejoin (FENCED)",
        "ConsumerGroupHeartbeat v1 of group billing, leaves -> ok",
    ]
