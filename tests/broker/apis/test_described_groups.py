"""Groups that are described again and again in one request."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.described_groups import TOPICS_PER_STEP
from fakebroker.protocol.wire.registry import api
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.rights import ask
from tests.support.turns_of_request import turns

PARTS = 100
TIMES = 2 * TOPICS_PER_STEP // PARTS


def names() -> list[str]:
    return [f"topic-{number}" for number in range(PARTS)]


def consumer_group_of_names(lab: SimEngine) -> None:
    """One member, which subscribes many topics."""
    ask(
        lab.client(), "ConsumerGroupHeartbeat", 1, GroupId="g", MemberId="m", MemberEpoch=0,
        RebalanceTimeoutMs=60_000, SubscribedTopicNames=names(), TopicPartitions=[],
    )  # fmt: skip


def share_group_of_names(lab: SimEngine) -> None:
    """One member, which subscribes many topics."""
    client = lab.client()
    ask(client, "ShareGroupHeartbeat", 1, GroupId="g", MemberId="m", MemberEpoch=0, SubscribedTopicNames=names())


def streams_group_of_names(lab: SimEngine) -> None:
    """One member, whose topology has many topics."""
    subtopology = {"SubtopologyId": "0", "SourceTopics": names()}
    answer = ask(
        lab.client(), "StreamsGroupHeartbeat", 0, GroupId="g", MemberId="m", MemberEpoch=0,
        RebalanceTimeoutMs=60_000, Topology={"Epoch": 0, "Subtopologies": [subtopology]}, ActiveTasks=[],
        StandbyTasks=[], WarmupTasks=[], ProcessId="p",
    )  # fmt: skip
    assert answer.error_code == 0


@pytest.mark.parametrize(
    ("name", "fill"),
    [
        ("ConsumerGroupDescribe", consumer_group_of_names),
        ("ShareGroupDescribe", share_group_of_names),
        ("StreamsGroupDescribe", streams_group_of_names),
    ],
)
def test_a_group_costs_as_much_each_time(name: str, fill: Callable[[SimEngine], None]) -> None:
    """Its topics are written each time: that is done in steps, also if it has one member."""
    lab = SimEngine()
    fill(lab)
    client = lab.client()
    version = lab.engine.listeners[0].versions[api(name).key][1]
    taken = sum(1 for _ in turns(lab, client.socket.connection, request(name, version, group_ids=["g"] * TIMES)))
    lab.network.flush()

    assert [each.error_code for each in client.answer(name, version).groups] == [0] * TIMES
    assert taken > 2
