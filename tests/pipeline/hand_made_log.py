"""Records of groups that are made by hand: our broker has no consumer, share and streams groups."""

import json
from typing import Any

Row = dict[str, Any]


class HandMadeLog:
    """Records of a group, one after the other; those of one `at` are one change."""

    def __init__(self, source: str = "log") -> None:
        self.source = source
        self.rows: list[Row] = []

    def add(self, at: int, kind: str, key: Row, value: Row | None) -> None:
        """Append a record."""
        self.rows.append(
            {
                "source": self.source, "group_id": "g", "log_partition": 3, "log_offset": len(self.rows), "kind": kind,
                "key": json.dumps({"groupId": "g", **key}), "value": None if value is None else json.dumps(value),
                "at": at,
            }
        )  # fmt: skip


def member_said(topics: list[str], pattern: str | None = None) -> Row:
    """The value of a member's metadata."""
    return {"subscribedTopicNames": topics, "subscribedTopicRegex": pattern, "clientId": "a", "clientHost": "/h"}


def newer_groups() -> list[Row]:
    """A group of each newer type, from its first member to its end."""
    rows: list[Row] = []
    for kind, tasks in (
        ("Consumer", "assignedPartitions"),
        ("Share", "assignedPartitions"),
        ("Streams", "activeTasks"),
    ):
        log = HandMadeLog(kind)
        part = {"topicId": "T", "subtopologyId": "0", "partitions": [1, 2]}
        topology = {"sourceTopics": ["b"], "sourceTopicRegex": [], "repartitionSourceTopics": [{"name": "a"}]}
        for at, member in enumerate("mnm", 1):
            log.add(at, f"{kind}GroupMemberMetadata", {"memberId": member}, member_said([member, "x"], "z.*"))
            log.add(at, f"{kind}GroupMetadata", {}, {"epoch": at})
            log.add(at + 10, f"{kind}GroupTargetAssignmentMetadata", {}, {"assignmentEpoch": at})
            current = {"memberEpoch": at, "state": 0, tasks: [part]}
            log.add(at + 20, f"{kind}GroupCurrentMemberAssignment", {"memberId": member}, current)
        log.add(30, "StreamsGroupTopology" if kind == "Streams" else "ConsumerGroupRegularExpression",
                {"regularExpression": "z.*"}, {"topics": ["z1"], "subtopologies": [topology]})  # fmt: skip
        for member in "mn":
            log.add(31, f"{kind}GroupCurrentMemberAssignment", {"memberId": member}, None)
            log.add(32, f"{kind}GroupMemberMetadata", {"memberId": member}, None)
        log.add(33, f"{kind}GroupMetadata", {}, None)
        rows += log.rows
    return rows
