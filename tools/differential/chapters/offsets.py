"""Offsets of clients that are no members."""

from collections.abc import Mapping
from typing import ClassVar

from tools.differential.chapters.chapter import Chapter, Json
from tools.differential.pair import Asked


class Offsets(Chapter):
    """Commits, fetches and deletions of offsets without members, with odd partitions and metadata."""

    needs = ("OffsetCommit", "OffsetFetch")
    actions: ClassVar[Mapping[str, int]] = {
        "commit": 4, "fetch": 3, "fetch_groups": 3, "fetch_all": 2, "delete_offsets": 2, "delete_group": 1,
        "describe": 1, "find": 1, "find_many": 1, "list_groups": 1,
    }  # fmt: skip

    def group(self) -> str:
        """A group of this history; rarely a name that is too long."""
        return self.mostly(f"{self.name}-g", f"{self.name}-h", f"{self.name}-{'g' * 300}")

    def topic(self) -> dict[str, Json]:
        """The name and the id of a topic; rarely of one that is not there."""
        first, second = self.topics
        usual = {"Name": first.name, "TopicId": first.topic_id}
        return self.mostly(
            usual,
            {"Name": second.name, "TopicId": second.topic_id},
            {"Name": f"{self.name}-none", "TopicId": "00000000-0000-0000-0000-0000000000aa"},
        )

    def commit(self) -> Asked | None:
        """Of one or several partitions."""
        indexes = self.mostly([0], [1], [0, 1], [2], [0, 0], [-1], [])
        partitions = [
            {
                "PartitionIndex": index,
                "CommittedOffset": self.pick([1, 5, 0, 7, 100, -1, -2]),
                "CommittedLeaderEpoch": self.mostly(-1, 0, 5),
                "CommittedMetadata": self.mostly("", "m", None, "x" * 4097, "x" * 4096),
            }
            for index in indexes
        ]
        request = {
            "GroupId": self.group(),
            "GenerationIdOrMemberEpoch": self.mostly(-1, 0, 3),
            "MemberId": self.mostly("", "m"),
            "RetentionTimeMs": self.mostly(-1, 60_000),
            "Topics": [{**self.topic(), "Partitions": partitions}],
        }
        return self.ask("c", "OffsetCommit", request)

    def _indexes(self) -> list[int]:
        return self.pick([[0], [0, 1], [1, 5], [], [0, 0], [-1]])

    def fetch(self) -> Asked | None:
        """Of one group, in versions for one."""
        topics = [{**self.topic(), "PartitionIndexes": self._indexes()}]
        request = {"GroupId": self.group(), "Topics": topics, "RequireStable": self.is_rare(3)}
        return self.ask("c", "OffsetFetch", request, most=7)

    def fetch_groups(self) -> Asked | None:
        """Of one or two groups."""
        groups = [
            {"GroupId": self.group(), "Topics": [{**self.topic(), "PartitionIndexes": self._indexes()}]}
            for _ in range(self.mostly(1, 2))
        ]
        return self.ask("c", "OffsetFetch", {"Groups": groups, "RequireStable": self.is_rare(3)}, least=8)

    def fetch_all(self) -> Asked | None:
        """Everything that a group has."""
        request = {"GroupId": self.group(), "Topics": None, "Groups": [{"GroupId": self.group(), "Topics": None}]}
        return self.ask("c", "OffsetFetch", request, least=2, is_plain=True)

    def delete_offsets(self) -> Asked | None:
        """Of a topic."""
        partitions = [{"PartitionIndex": index} for index in self._indexes()]
        topics = [{"Name": self.topic()["Name"], "Partitions": partitions}]
        return self.ask("c", "OffsetDelete", {"GroupId": self.group(), "Topics": topics})

    def _groups(self) -> list[str]:
        return [self.group() for _ in range(self.mostly(1, 2))]

    def delete_group(self) -> Asked | None:
        """With all its offsets."""
        return self.ask("c", "DeleteGroups", {"GroupsNames": self._groups()})

    def describe(self) -> Asked | None:
        """As classic groups."""
        return self.ask("c", "DescribeGroups", {"Groups": self._groups()})

    def find(self) -> Asked | None:
        """A coordinator."""
        return self.ask("c", "FindCoordinator", {"Key": self.group(), "KeyType": self.mostly(0, 1, 2, 7)}, most=3)

    def find_many(self) -> Asked | None:
        """Coordinators."""
        request = {"CoordinatorKeys": self._groups(), "KeyType": self.mostly(0, 1, 2, 7)}
        return self.ask("c", "FindCoordinator", request, least=4)

    def list_groups(self) -> Asked | None:
        """In states and of types that no group has."""
        request = {"StatesFilter": self.pick([["Dead"], ["odd"]]), "TypesFilter": self.mostly([], ["odd"])}
        return self.ask("c", "ListGroups", request, least=4, is_plain=True)
