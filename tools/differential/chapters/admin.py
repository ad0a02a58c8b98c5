"""Topics and their settings."""

from collections.abc import Mapping
from typing import ClassVar

from tools.differential.chapters.chapter import Chapter, Json
from tools.differential.pair import Asked

CONFIGS = ("retention.ms", "segment.bytes", "cleanup.policy", "max.message.bytes", "compression.type", "no.such", "")
REMOVED_MS = 400  # in which a topic is gone from ZooKeeper in old releases, after they have answered
VALUES = ("2000", "5000", "50000", None, "odd", "-1", "compact", "compact,delete", "gzip", "")


class Admin(Chapter):
    """Topics and their settings: created, grown, described, altered, deleted; names that are odd or taken."""

    needs = ("CreateTopics", "DeleteTopics", "DescribeConfigs")
    actions: ClassVar[Mapping[str, int]] = {
        "create": 4, "create_assigned": 1, "grow": 2, "delete": 2, "metadata": 3, "configs": 2, "alter": 3,
        "alter_old": 2, "pages": 1, "elect": 1, "reassign": 1, "list_reassignments": 1,
    }  # fmt: skip
    topic_count = 0

    def topic(self) -> str:
        """A name of this history, sometimes an odd one."""
        return self.mostly(
            f"{self.name}-a", f"{self.name}-b", f"{self.name}.b", f"{self.name}_b", "", "..", "a b", "x" * 250,
        )  # fmt: skip

    def _config(self) -> dict[str, Json]:
        return {"Name": self.pick(CONFIGS), "Value": self.pick(VALUES)}

    def create(self) -> Asked | None:
        """A topic, or one twice, or two."""
        topics = [
            {
                "Name": self.topic(),
                "NumPartitions": self.mostly(1, 2, 3, -1, 0, -5),
                "ReplicationFactor": self.mostly(1, -1, 2, 0),
                "Assignments": [],
                "Configs": [self._config()] if self.is_rare(3) else [],
            }
            for _ in range(self.mostly(1, 2))
        ]
        request = {"Topics": topics, "timeoutMs": 5000, "validateOnly": self.is_rare(4)}
        return self.ask("a", "CreateTopics", request)

    def create_assigned(self) -> Asked | None:
        """A topic whose replicas are chosen."""
        rows: list[tuple[int, list[int]]] = self.mostly(
            [(0, [1])], [(0, [1]), (1, [1])], [(1, [1])], [(0, [1, 1])], [(0, [7])], [(0, [])], [(0, [1]), (2, [1])]
        )
        topic = {
            "Name": self.topic(),
            "NumPartitions": self.mostly(-1, 1),
            "ReplicationFactor": self.mostly(-1, 1),
            "Assignments": [{"PartitionIndex": index, "BrokerIds": nodes} for index, nodes in rows],
            "Configs": [],
        }
        return self.ask("a", "CreateTopics", {"Topics": [topic], "timeoutMs": 5000, "validateOnly": False})

    def grow(self) -> Asked | None:
        """More partitions, or no more than there are."""
        topics = [
            {
                "Name": self.topic(),
                "Count": self.pick([2, 3, 4, 1, 0, -1]),
                "Assignments": self.mostly(None, [], [{"BrokerIds": [1]}], [{"BrokerIds": [7]}]),
            }
            for _ in range(self.mostly(1, 2))
        ]
        return self.ask("a", "CreatePartitions", {"Topics": topics, "TimeoutMs": 5000, "ValidateOnly": self.is_rare(4)})

    def delete(self) -> Asked | None:
        """By name."""
        names = [self.topic() for _ in range(self.mostly(1, 2, 0))]
        request = {"TopicNames": names, "Topics": [{"Name": name} for name in names], "TimeoutMs": 5000}
        then_ms = 0 if "DescribeCluster" in self.versions else REMOVED_MS
        return self.ask("a", "DeleteTopics", request, is_plain=True, then_ms=then_ms)

    def metadata(self) -> Asked | None:
        """Of topics by name."""
        request: dict[str, Json] = {
            "Topics": [{"Name": self.topic()} for _ in range(self.mostly(1, 2))],
            "AllowAutoTopicCreation": False,
            "IncludeTopicAuthorizedOperations": self.is_rare(3),
        }
        return self.ask("a", "Metadata", request, least=1)

    def pages(self) -> Asked | None:
        """Page by page."""
        request: dict[str, Json] = {
            "Topics": [{"Name": self.topic()} for _ in range(self.mostly(1, 2))],
            "ResponsePartitionLimit": self.mostly(2000, 1, 0, -1),
            "Cursor": self.mostly(None, {"TopicName": self.topic(), "PartitionIndex": self.pick([0, 1, 7, -1])}),
        }
        return self.ask("a", "DescribeTopicPartitions", request, is_plain=True)

    def configs(self) -> Asked | None:
        """Of a topic, or of something odd."""
        resource = {
            "ResourceType": self.pick([2] * 10 + [4, 9, 8, 0]),
            "ResourceName": self.topic(),
            "ConfigurationKeys": self.pick([["retention.ms"], ["retention.ms", "segment.bytes"], [], ["no.such"]]),
        }
        request = {"Resources": [resource], "IncludeSynonyms": self.is_rare(2), "IncludeDocumentation": False}
        return self.ask("a", "DescribeConfigs", request)

    def alter(self) -> Asked | None:
        """Some configs."""
        configs = [
            {**self._config(), "ConfigOperation": self.pick([0, 0, 0, 1, 2, 3, 9])} for _ in range(self.mostly(1, 2, 0))
        ]
        resource = {
            "ResourceType": self.pick([2] * 12 + [32, 16, 9]),
            "ResourceName": self.topic(),
            "Configs": configs,
        }
        return self.ask("a", "IncrementalAlterConfigs", {"Resources": [resource], "ValidateOnly": self.is_rare(4)})

    def alter_old(self) -> Asked | None:
        """All configs."""
        resource = {
            "ResourceType": 2,
            "ResourceName": self.topic(),
            "Configs": [self._config() for _ in range(self.mostly(1, 2, 0))],
        }
        return self.ask("a", "AlterConfigs", {"Resources": [resource], "ValidateOnly": self.is_rare(4)})

    def elect(self) -> Asked | None:
        """Leaders."""
        rows = [{"Topic": self.topic(), "Partitions": self.mostly([0], [0, 1], [9], [])}]
        request = {"ElectionType": self.mostly(0, 1, 5), "TopicPartitions": rows, "TimeoutMs": 5000}
        return self.ask("a", "ElectLeaders", request, is_plain=True)

    def reassign(self) -> Asked | None:
        """Replicas."""
        replicas = self.mostly([1], None, [], [7], [1, 1])
        rows = [{"PartitionIndex": self.mostly(0, 1, 9), "Replicas": replicas}]
        request = {"TimeoutMs": 5000, "Topics": [{"Name": self.topic(), "Partitions": rows}]}
        return self.ask("a", "AlterPartitionReassignments", request, is_plain=True)

    def list_reassignments(self) -> Asked | None:
        """Of a topic."""
        topics = [{"Name": self.topic(), "PartitionIndexes": self.mostly([0], [0, 1], [9])}]
        return self.ask("a", "ListPartitionReassignments", {"TimeoutMs": 5000, "Topics": topics}, is_plain=True)
