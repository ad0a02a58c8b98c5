"""Records of groups that are made by hand: our broker has no consumer, share and streams groups."""

from typing import Any

from fakebroker.analysis.history.decode import decode_record
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.protocol.records.record_types import RECORD_TYPES
from fakebroker.protocol.schema.jsonable import from_json

Row = dict[str, Any]

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
_TYPES = {each.name: each for each in RECORD_TYPES.values()}


class HandMadeLog:
    """Records of a group, one after the other; those of one `at` are one change.

    They are written as Kafka writes them and decoded again, so fields have the names that they really have.
    """

    def __init__(self, source: str = "log") -> None:
        self.source = source
        self.rows: list[Row] = []

    def add(self, at: int, kind: str, key: Row, value: Row | None) -> None:
        """Append a record; fields that are not given have their defaults."""
        record_type = _TYPES[kind]
        name = "group" if kind == "GroupMetadata" else "groupId"
        number = record_type.number.to_bytes(2, "big")
        version = record_type.value.versions.last
        encoded = None
        if value is not None:
            encoded = version.to_bytes(2, "big") + from_json(record_type.value, version, value).encode(version)
        key_bytes = number + from_json(record_type.key, 0, {name: "g", **key}).encode(0)
        record = LogRecord(self.source, "file", 0, 3, len(self.rows), at, key_bytes, encoded)
        (row,) = decode_record(record)
        assert row["what"] == "record", row
        self.rows.append(row)


def member_said(topics: list[str], pattern: str | None = None) -> Row:
    """The value of a member's metadata."""
    return {"subscribedTopicNames": topics, "subscribedTopicRegex": pattern, "clientId": "a", "clientHost": "/h"}


def newer_groups() -> list[Row]:
    """A group of each newer type, from its first member to its end."""
    rows: list[Row] = []
    for kind in ("Consumer", "Share", "Streams"):
        log = HandMadeLog(kind)
        is_streams = kind == "Streams"
        said = {"clientId": "c"} if is_streams else {"clientId": "c", "subscribedTopicNames": ["x"]}
        part = {"subtopologyId": "0"} if is_streams else {"topicId": TOPIC_ID}
        has = {"activeTasks" if is_streams else "assignedPartitions": [{**part, "partitions": [1, 2]}]}
        for at, member in enumerate("mnm", 1):
            log.add(at, f"{kind}GroupMemberMetadata", {"memberId": member}, said)
            log.add(at, f"{kind}GroupMetadata", {}, {"epoch": at})
            log.add(at + 10, f"{kind}GroupTargetAssignmentMetadata", {}, {"assignmentEpoch": at})
            log.add(at + 20, f"{kind}GroupCurrentMemberAssignment", {"memberId": member}, {"memberEpoch": at, **has})
        if is_streams:
            log.add(30, "StreamsGroupTopology", {}, {"subtopologies": [{"sourceTopics": ["b"]}]})
        for member in "mn":
            log.add(31, f"{kind}GroupCurrentMemberAssignment", {"memberId": member}, None)
            log.add(32, f"{kind}GroupMemberMetadata", {"memberId": member}, None)
        log.add(33, f"{kind}GroupMetadata", {}, None)
        rows += log.rows
    return rows


TIMEOUT_MS = 20_000


def transaction_record(offset: int, state: str | None, at: int, **more: Any) -> Row:
    """A row of `transaction_records` of the transactional id `t`, whose transaction began at 1000."""
    found = {
        "at": at, "transactional_id": "t", "state": state, "producer_id": 7, "producer_epoch": 0,
        "timeout_ms": TIMEOUT_MS, "partitions": 1, "topics": ["orders"], "started_at": 1000, "updated_at": at,
        "client_version": 0, "source": "log", "log_partition": 3, "log_offset": offset,
    }  # fmt: skip
    return found | more
