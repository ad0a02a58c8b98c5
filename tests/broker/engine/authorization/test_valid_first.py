"""What Kafka 4.3.1 looks at before it asks for rights: a request of a client without any is invalid, not refused."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from tests.support.rights import allow, ask, client_of, guarded_lab

TOPIC, BROKER, GROUP = 2, 4, 32
INVALID = ErrorCode.INVALID_REQUEST
Config = tuple[str, int, str | None]  # name, operation, value


def asked(name: str, version: int, *needed: tuple[str, str, str], **fields: Any) -> Any:
    """The answer to alice, who has the rights that are needed for the first questions, but none on topic "t"."""
    lab = guarded_lab()
    for operation, resource_type, resource in needed:
        allow(lab, operation, resource_type, resource)
    answer = ask(client_of(lab), name, version, **fields)
    assert lab.engine.errors == []
    return answer


@pytest.mark.rules("SG-1")
@pytest.mark.parametrize(("kind", "name"), [(None, "range"), ("consumer", None), (None, None)])
def test_sync_group_without_a_protocol(kind: str | None, name: str | None) -> None:
    """Before v5 there is none."""
    fields = {"GroupId": "g", "MemberId": "m", "GenerationId": 1, "Assignments": []}
    answer = asked("SyncGroup", 5, **fields, ProtocolType=kind, ProtocolName=name)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    refused = asked("SyncGroup", 5, **fields, ProtocolType="", ProtocolName="")
    assert refused.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert asked("SyncGroup", 4, **fields).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize("api", ["ShareFetch", "ShareAcknowledge"])
def test_share_requests_without_a_group(api: str) -> None:
    """An empty group is asked about."""
    fields = {"MemberId": "m", "ShareSessionEpoch": 0, "Topics": []}
    assert asked(api, 1, GroupId=None, **fields).error_code == INVALID
    assert asked(api, 1, GroupId="", **fields).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize("member_id", ["", "m" * 37])
def test_a_member_of_a_share_group_has_an_id(member_id: str) -> None:
    """The right on the group comes first, that on topics later."""
    fields = {"GroupId": "g", "MemberEpoch": 0, "RackId": None, "SubscribedTopicNames": ["t"]}
    group = ("READ", "GROUP", "g")
    heartbeat = "ShareGroupHeartbeat"
    assert asked(heartbeat, 1, group, MemberId=member_id, **fields).error_code == INVALID
    assert asked(heartbeat, 1, MemberId=member_id, **fields).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert asked(heartbeat, 1, group, MemberId="m", **fields).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.rules("STH-1")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("bad name!", ErrorCode.STREAMS_INVALID_TOPOLOGY),
        ("", ErrorCode.STREAMS_INVALID_TOPOLOGY),
        ("__consumer_offsets", ErrorCode.STREAMS_INVALID_TOPOLOGY),
        ("t", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ],
)
def test_topics_that_no_application_can_have(name: str, code: ErrorCode) -> None:
    """The right on the group comes first, those on topics later."""
    subtopology = {"SubtopologyId": "0", "SourceTopics": [name], "CopartitionGroups": []}
    subtopology |= {f"{kind}Topics": [] for kind in ("StateChangelog", "RepartitionSink", "RepartitionSource")}
    fields = {"GroupId": "g", "MemberId": "m", "Topology": {"Epoch": 0, "Subtopologies": [subtopology]}}
    group = ("READ", "GROUP", "g")
    assert asked("StreamsGroupHeartbeat", 0, group, **fields).error_code == code
    assert asked("StreamsGroupHeartbeat", 0, **fields).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.mark.rules("OD-2")
@pytest.mark.parametrize("topics", [["t"], ["t", "u"], ["u"], []])
def test_offsets_of_a_group_that_is_not_there(topics: list[str]) -> None:
    """No topic is listed, not even one that is refused."""
    entries = [{"Name": name, "Partitions": [{"PartitionIndex": 0}]} for name in topics]
    needed = ("DELETE", "GROUP", "g"), ("READ", "TOPIC", "u")
    answer = asked("OffsetDelete", 0, *needed, GroupId="g", Topics=entries)
    assert (answer.error_code, answer.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


@pytest.mark.parametrize("name", ["", ".", "a b", "x" * 250, "x" * 5000])
def test_producers_of_a_topic_that_cannot_be(name: str) -> None:
    """Each partition says what is wrong with the name, as it does to who has the right; others are refused."""
    topics = [{"Name": each, "PartitionIndexes": [0, 0]} for each in (name, "t")]
    found = {each.name: each for each in asked("DescribeProducers", 0, Topics=topics).topics}
    assert {each.error_code for each in found["t"].partitions} == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    allowed = ask(client_of(guarded_lab(), "root"), "DescribeProducers", 0, Topics=topics).topics[0]
    assert allowed.partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert found[name] == allowed


@pytest.mark.rules("TK-2")
def test_a_token_for_another_needs_the_right_before_good_renewers() -> None:
    """Here it is the other way round: rights come before what the renewers are."""
    lab = guarded_lab(**{"delegation.token.secret.key": "key"})
    renewers = [{"PrincipalType": "Group", "PrincipalName": "x"}]
    fields = {"Renewers": renewers, "MaxLifetimeMs": -1, "OwnerPrincipalType": "User"}
    for owner, code in (
        ("bob", ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED),
        ("alice", ErrorCode.INVALID_PRINCIPAL_TYPE),
    ):
        answer = ask(client_of(lab), "CreateDelegationToken", 3, OwnerPrincipalName=owner, **fields)
        assert answer.error_code == code


TWICE: list[Config] = [("a", 0, "1"), ("a", 1, None)]
NULL: list[Config] = [("b", 0, "1"), ("a", 0, None)]
ODD: list[Config] = [("a", 9, "1")]


@pytest.mark.rules("IA-6", "AC-2")
@pytest.mark.parametrize("api", ["AlterConfigs", "IncrementalAlterConfigs"])
@pytest.mark.parametrize(
    "resource", [(TOPIC, "t"), (GROUP, "g"), (BROKER, "1"), (BROKER, ""), (BROKER, "7"), (99, "x")]
)
@pytest.mark.parametrize(
    ("configs", "text"), [(TWICE, "a is changed twice in one request"), (NULL, "a has no value")], ids=["twice", "null"]
)
def test_configs_that_come_twice_or_have_no_value(
    api: str, resource: tuple[int, str], configs: list[Config], text: str
) -> None:
    """Of any resource, even of one that cannot be; a resource beside it is judged."""
    found = altered(api, (resource, configs), ((TOPIC, "u"), [("a", 0, "1")]))
    assert found == {
        resource: (INVALID, text),
        (TOPIC, "u"): (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."),
    }


@pytest.mark.rules("IA-6")
def test_an_unknown_operation_on_a_broker() -> None:
    """That of other resources is found by who may change them."""
    found = altered("IncrementalAlterConfigs", ((BROKER, "1"), ODD), ((TOPIC, "t"), ODD))
    assert found == {
        (BROKER, "1"): (INVALID, "a: unknown operation 9"),
        (TOPIC, "t"): (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."),
    }


def altered(
    api: str, *resources: tuple[tuple[int, str], list[Config]]
) -> dict[tuple[int, str], tuple[int, str | None]]:
    """The error of each resource, and its text."""
    is_incremental = api == "IncrementalAlterConfigs"
    entries = [
        {
            "ResourceType": resource_type,
            "ResourceName": name,
            "Configs": [
                {"Name": config, "Value": value} | ({"ConfigOperation": operation} if is_incremental else {})
                for config, operation, value in configs
            ],
        }
        for (resource_type, name), configs in resources
    ]
    answer = asked(api, 1 if is_incremental else 2, Resources=entries, ValidateOnly=False)
    return {
        (each.resource_type, each.resource_name): (each.error_code, each.error_message) for each in answer.responses
    }
