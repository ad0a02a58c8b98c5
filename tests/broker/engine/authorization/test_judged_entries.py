"""No entry of a request spares another from being judged: what Kafka 4.3.1 answers to such requests."""

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.wire.registry import api
from tests.support.engine import SimEngine
from tests.support.rights import AUTHORIZER, allow, ask, client_of, guarded_lab

UNKNOWN = uuid_to_text(b"\x01" * 16)
NO_ID = uuid_to_text(ZERO_UUID)


@pytest.mark.rules("AU-4", "AU-6")
@pytest.mark.parametrize("name", ["IncrementalAlterConfigs", "AlterConfigs"])
def test_a_resource_of_an_unknown_type_spares_no_other(name: str) -> None:
    """It is refused as invalid, the topic beside it as not authorized, and nothing changes."""
    lab = guarded_lab()
    config = {"Name": "retention.ms", "Value": "7"} | ({"ConfigOperation": 0} if name.startswith("I") else {})
    resources = [
        {"ResourceType": 99, "ResourceName": "x", "Configs": []},
        {"ResourceType": 2, "ResourceName": "t", "Configs": [config]},
    ]
    answer = ask(client_of(lab), name, 1, Resources=resources, ValidateOnly=False)

    answered = sorted((each.resource_name, each.error_code, each.error_message) for each in answer.responses)
    assert answered == [("t", 29, "Topic authorization failed."), ("x", 42, "Unknown resource type 99")]
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    assert "retention.ms" not in topic.config.own


@pytest.mark.rules("AU-4", "XT-3")
def test_an_entry_with_name_and_id_spares_no_other_deletion() -> None:
    """The one is invalid, the other refused; the id of a topic beside its name is refused by itself."""
    lab = guarded_lab()
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    own_id = uuid_to_text(topic.id)

    def answered(*entries: tuple[str | None, str]) -> list[tuple[int, str | None]]:
        topics = [{"Name": name, "TopicId": topic_id} for name, topic_id in entries]
        answer = ask(client_of(lab), "DeleteTopics", 6, Topics=topics, TimeoutMs=1000)
        return sorted(((each.error_code, each.name) for each in answer.responses), key=str)

    assert answered(("t", UNKNOWN), ("t", NO_ID)) == [(29, "t"), (42, "t")]
    assert answered(("t", own_id), (None, own_id)) == [(29, None), (42, "t")]
    assert answered(("t", NO_ID), (None, own_id)) == [(29, "t"), (29, None)]
    assert answered((None, NO_ID), ("t", NO_ID), ("t", NO_ID)) == [(42, "t"), (42, None)]
    assert answered(("", NO_ID)) == [(29, "")]
    assert lab.cluster.topics.get("t") is topic


@pytest.mark.rules("AU-4")
def test_a_group_that_comes_twice_gets_the_refusals_of_each_entry() -> None:
    """Topics that may not be described are answered where they were asked for."""
    lab = guarded_lab()
    allow(lab, "DESCRIBE", "GROUP", "g")
    allow(lab, "DESCRIBE", name="t")
    client = client_of(lab)
    ask(client_of(lab, "root"), "FindCoordinator", 4, KeyType=0, CoordinatorKeys=["g"])

    def offsets(name: str, index: int) -> dict[str, object]:
        return {"Name": name, "PartitionIndexes": [index]}

    groups = [[offsets("u", 0), offsets("t", 0)], [offsets("u", 1)], None, [offsets("t", 1)]]
    answer = ask(client, "OffsetFetch", 8, Groups=[{"GroupId": "g", "Topics": topics} for topics in groups])
    answered = [[(topic.name, *topic.partitions[0][:1]) for topic in group.topics] for group in answer.groups]
    assert answered == [[("t", 0), ("u", 0)], [("u", 1)], [], [("t", 1)]]

    shares = [[("u", 0), ("t", 0)], [("u", 1)], None, [("t", 1)]]
    named = [
        None if topics is None else [{"TopicName": name, "Partitions": [index]} for name, index in topics]
        for topics in shares
    ]
    answer = ask(
        client, "DescribeShareGroupOffsets", 0, Groups=[{"GroupId": "g", "Topics": topics} for topics in named]
    )
    answered = [
        [(topic.topic_name, topic.partitions[0].partition_index) for topic in group.topics] for group in answer.groups
    ]
    assert answered == [[("t", 0), ("u", 0)], [("u", 1)], [], [("t", 1)]]


@pytest.mark.rules("AU-4", "MD-2")
@pytest.mark.parametrize("version", [12, 13])
def test_a_name_beside_an_id_is_not_looked_at(version: int) -> None:
    """Metadata answers the ids alone: the named topic is neither shown nor made."""
    lab = guarded_lab(**{"auto.create.topics.enable": True})
    topic = lab.cluster.topics.get("u")
    assert topic is not None
    for name in ("t", "made"):
        asked = [{"Name": name, "TopicId": NO_ID}, {"Name": None, "TopicId": uuid_to_text(topic.id)}]
        answer = ask(client_of(lab), "Metadata", version, Topics=asked, AllowAutoTopicCreation=True)
        assert [(each.error_code, each.name, each.topic_id) for each in answer.topics] == [
            (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, topic.id)
        ]
    assert lab.cluster.topics.get("made") is None


@pytest.mark.rules("AU-4", "AD-5")
def test_without_time_an_id_that_exists_is_as_one_that_does_not() -> None:
    """Ids are looked up before rights are judged: without time for that all is REQUEST_TIMED_OUT."""
    lab = guarded_lab()
    topic = lab.cluster.topics.get("t")
    assert topic is not None

    def answered(*ids: str) -> list[int]:
        topics = [{"Name": None, "TopicId": each} for each in ids]
        answer = ask(client_of(lab), "DeleteTopics", 6, Topics=topics, TimeoutMs=0)
        return [each.error_code for each in answer.responses]

    timed_out = int(ErrorCode.REQUEST_TIMED_OUT)
    assert answered(uuid_to_text(topic.id)) == answered(UNKNOWN) == [timed_out]
    assert answered(uuid_to_text(topic.id), UNKNOWN) == [timed_out] * 2
    assert lab.cluster.topics.get("t") is topic


@pytest.mark.rules("FT-17")
@pytest.mark.parametrize("release", ["2.0", "2.1", "2.8", "3.9"])
def test_what_is_not_there_is_refused_as_what_is(release: str) -> None:
    """A stranger's Fetch has the same error for both in each version: Kafka 2.1.1 has another one for the former."""
    lab = SimEngine(AUTHORIZER, as_release=release)
    lab.cluster.topics.create("secret")
    client = client_of(lab, "stranger")
    for version in range(min(13, lab.engine.listeners[0].versions[api("Fetch").key][1] + 1)):
        partitions = [{"Partition": index, "PartitionMaxBytes": 100} for index in (0, 7)]
        topics = [{"Topic": name, "Partitions": partitions} for name in ("secret", "none")]
        answer = ask(client, "Fetch", version, ReplicaId=-1, MaxWaitMs=0, Topics=topics)
        codes = {each.error_code for topic in answer.responses for each in topic.partitions}
        assert codes == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}, version
