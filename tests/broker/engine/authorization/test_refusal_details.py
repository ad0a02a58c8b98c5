"""What refusals say beside their code, as a user without rights saw it on Kafka 4.3.1."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from tests.support.rights import allow, ask, client_of, guarded_lab

TOPIC, BROKER, LOGGER = 2, 4, 8
INVALID, REFUSED = ErrorCode.INVALID_REQUEST, ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def altered(api: str, *resources: tuple[int, str], user: str = "alice") -> list[tuple[int, str | None]]:
    """The error of each resource, and its text."""
    lab = guarded_lab()
    version, config = (1, {"ConfigOperation": 0}) if api == "IncrementalAlterConfigs" else (2, {})
    entries = [
        {
            "ResourceType": resource_type,
            "ResourceName": name,
            "Configs": [{"Name": "log.cleaner.threads", "Value": "1"} | config],
        }
        for resource_type, name in resources
    ]
    answer: Any = ask(client_of(lab, user), api, version, Resources=entries, ValidateOnly=False)
    assert lab.engine.errors == []
    return [(each.error_code, each.error_message) for each in answer.responses]


@pytest.mark.rules("CLU-16")
@pytest.mark.parametrize("api", ["AlterConfigs", "IncrementalAlterConfigs"])
@pytest.mark.parametrize("name", ["7", "-1", "abc", " 1", "2147483648", "9" * 5000])
def test_another_broker_is_invalid_whatever_the_rights(api: str, name: str) -> None:
    """Kafka looks at the id first."""
    for user in ("alice", "root"):
        assert altered(api, (BROKER, name), user=user) == [(INVALID, f"this is broker 1, not {name!r}")]


@pytest.mark.rules("CLU-16")
@pytest.mark.parametrize("api", ["AlterConfigs", "IncrementalAlterConfigs"])
@pytest.mark.parametrize("name", ["1", "01", "+1", "0" * 5000 + "1"])
def test_the_own_id_as_java_reads_it(api: str, name: str) -> None:
    """With a sign or leading zeros it is the same."""
    assert altered(api, (BROKER, name)) == [(REFUSED, "Cluster authorization failed.")]
    assert altered(api, (BROKER, name), user="root") == [(0, None)]


def test_loggers_are_no_resource_of_alter_configs() -> None:
    """Their type is unknown there; IncrementalAlterConfigs refuses them without a text."""
    assert altered("AlterConfigs", (LOGGER, "1")) == [(INVALID, "Unknown resource type 8")]
    assert altered("IncrementalAlterConfigs", (LOGGER, "1"), (LOGGER, "7")) == [(REFUSED, None)] * 2
    assert altered("IncrementalAlterConfigs", (BROKER, "7"), (BROKER, "1")) == [
        (INVALID, "this is broker 1, not '7'"),
        (REFUSED, "Cluster authorization failed."),
    ]


@pytest.mark.parametrize("version", [0, 1])
def test_share_group_offsets_of_refused_topics(version: int) -> None:
    """Each partition has no offset, and the error with its text."""
    lab = guarded_lab()
    allow(lab, "DESCRIBE", "GROUP", "g")
    groups = [{"GroupId": "g", "Topics": [{"TopicName": name, "Partitions": [0, 9]} for name in ("t", "nope")]}]
    (group,) = ask(client_of(lab), "DescribeShareGroupOffsets", version, Groups=groups).groups

    assert [topic.topic_name for topic in group.topics] == ["t", "nope"]
    assert {
        (each.start_offset, each.error_code, each.error_message) for topic in group.topics for each in topic.partitions
    } == {(-1, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")}
