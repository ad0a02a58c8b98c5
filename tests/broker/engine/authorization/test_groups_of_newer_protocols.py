"""Rights of members of consumer, share and streams groups, and of who looks at their groups."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from tests.support.engine import Client
from tests.support.rights import allow, ask, client_of, guarded_lab

MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"


def joined(client: Client, group_id: str, **fields: Any) -> Any:
    """The answer to a consumer group's first heartbeat."""
    first = {"MemberId": MEMBER, "MemberEpoch": 0, "RebalanceTimeoutMs": 10_000, "TopicPartitions": []}
    return ask(client, "ConsumerGroupHeartbeat", 1, GroupId=group_id, **first, **fields)


def streams(client: Client, group_id: str) -> Any:
    """The answer to a streams group's first heartbeat, with a changelog that does not exist."""
    changelog = {"Name": "changelog", "Partitions": 0, "ReplicationFactor": 1}
    subtopology = {"SubtopologyId": "0", "SourceTopics": ["t"], "StateChangelogTopics": [changelog]}
    fields: dict[str, Any] = {"ActiveTasks": [], "StandbyTasks": [], "WarmupTasks": [], "ClientTags": []}
    topology = {"Epoch": 1, "Subtopologies": [subtopology]}
    return ask(
        client, "StreamsGroupHeartbeat", 0, GroupId=group_id, MemberId=MEMBER, MemberEpoch=0,
        RebalanceTimeoutMs=10_000, Topology=topology, ProcessId="p", **fields,
    )  # fmt: skip


@pytest.mark.rules("AU-6")
def test_a_subscription_needs_describe_on_each_topic() -> None:
    """29 for the whole heartbeat, also when only one of the topics is missing its right."""
    lab = guarded_lab()
    client = client_of(lab)
    assert joined(client, "g", SubscribedTopicNames=["t"]).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    allow(lab, "READ", "GROUP", "g")
    allow(lab, "DESCRIBE", name="t")
    assert joined(client, "g", SubscribedTopicNames=["t", "u"]).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert joined(client, "g", SubscribedTopicNames=["t"]).error_code == 0


@pytest.mark.rules("AU-6")
def test_a_pattern_matches_what_its_client_may_describe() -> None:
    """The other topics are not assigned, as if they were not there."""
    lab = guarded_lab()
    client = client_of(lab)
    allow(lab, "READ", "GROUP", "g")
    allow(lab, "READ", name="u")
    answer = joined(client, "g", SubscribedTopicRegex="[tu]")
    for _ in range(3):
        lab.network.advance(2_000)
        answer = ask(client, "ConsumerGroupHeartbeat", 1, GroupId="g", MemberId=MEMBER, MemberEpoch=answer.member_epoch)
        if answer.assignment is not None and answer.assignment.topic_partitions:
            break
    topic = lab.cluster.topics.get("u")
    assert topic is not None
    assert [each.topic_id for each in answer.assignment.topic_partitions] == [topic.id]


@pytest.mark.rules("AU-6")
def test_a_group_with_hidden_topics_is_hidden() -> None:
    """Who may describe the group but not the topics that it has gets 29 and nothing else."""
    lab = guarded_lab()
    root = client_of(lab, "root")
    assert joined(root, "g", SubscribedTopicNames=["t"]).assignment is not None
    allow(lab, "DESCRIBE", "GROUP", "g")
    client = client_of(lab)

    def described() -> tuple[int, int]:
        (group,) = ask(client, "ConsumerGroupDescribe", 1, GroupIds=["g"]).groups
        return group.error_code, len(group.members)

    assert described() == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0)
    allow(lab, "DESCRIBE", name="t")
    assert described() == (0, 1)


@pytest.mark.rules("AU-6")
def test_internal_topics_are_made_with_create() -> None:
    """Without the right they stay missing, and the status says so."""
    lab = guarded_lab()
    client = client_of(lab)
    for name in ("g", "h"):
        allow(lab, "READ", "GROUP", name)
    allow(lab, "DESCRIBE", name="t")
    assert streams(client, "g").error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    allow(lab, "DESCRIBE", name="changelog")
    answer = streams(client, "g")
    assert answer.error_code == 0
    details = [each.status_detail for each in answer.status]
    assert any("Unauthorized to CREATE on topics changelog." in each for each in details)
    assert lab.cluster.topics.get("changelog") is None
    allow(lab, "CREATE", name="changelog")
    assert streams(client, "h").error_code == 0
    assert lab.cluster.topics.get("changelog") is not None
