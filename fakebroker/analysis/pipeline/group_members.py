"""Members of groups and their partitions, from records: what `members` and `assignments` have of a log."""

from collections.abc import Iterable, Iterator
from typing import Any

from fakebroker.analysis.pipeline.group_records import (
    CLASSIC_KIND,
    by_group,
    group_type,
    key_of,
    origin_of,
    part_of,
    value_of,
)
from fakebroker.analysis.pipeline.member_bytes import CONSUMER, assigned_partitions, subscribed_topics

Row = dict[str, Any]


def member_rows(records: Iterable[Row]) -> Iterator[Row]:
    """The members that these records, sorted as `group_records` says, name.

    A record of a classic group has all its members. A member of a newer group has a row whenever it says something new
    of itself, and whenever its epoch is another: what it said last, with its epoch then.
    """
    for group in by_group(records):
        said: dict[str, Row] = {}
        epochs: dict[str, int] = {}
        for record in group:
            if record["kind"] == CLASSIC_KIND:
                yield from _classic_members(record)
            else:
                yield from _newer_member(record, said, epochs)


def assignment_rows(records: Iterable[Row]) -> Iterator[Row]:
    """The partitions that these records, sorted as `group_records` says, assign."""
    for group in by_group(records):
        known: dict[str, Row] = {}
        for record in group:
            if record["kind"] == CLASSIC_KIND:
                yield from _classic_assignments(record)
            elif part_of(record["kind"]) == "CurrentMemberAssignment":
                yield from _newer_assignment(record, known)


def _classic_assignments(record: Row) -> Iterator[Row]:
    value = value_of(record)
    for member in value["members"] if value and value["protocolType"] == CONSUMER else ():
        partitions = assigned_partitions(member["assignment"])
        yield from _assigned(record, value["generation"], member["memberId"], partitions)


def _newer_assignment(record: Row, known: dict[str, Row]) -> Iterator[Row]:
    """The rows of the current assignment of a member. `known` are those by member id: a load finds what is known."""
    member_id, value = key_of(record)["memberId"], value_of(record)
    if value is None:
        known.pop(member_id, None)
    elif known.get(member_id) != value:
        known[member_id] = value
        yield from _assigned(record, value["memberEpoch"], member_id, _current_partitions(value))


def _classic_members(record: Row) -> Iterator[Row]:
    value = value_of(record)
    for member in value["members"] if value else ():
        yield {
            "group_id": record["group_id"],
            "group_type": "classic",
            "generation": value["generation"],
            "member_id": member["memberId"],
            "group_instance_id": member.get("groupInstanceId"),
            "client_id": member["clientId"],
            "client_host": member["clientHost"],
            "rebalance_timeout_ms": member.get("rebalanceTimeout"),
            "session_timeout_ms": member["sessionTimeout"],
            "protocol": value["protocol"],
            "subscribed_topics": subscribed_topics([member["subscription"]])
            if value["protocolType"] == CONSUMER
            else None,
            "at": record["at"],
            **origin_of(record),
        }


def _newer_member(record: Row, said: dict[str, Row], epochs: dict[str, int]) -> Iterator[Row]:
    """The row of a record of a newer group, if it has one. `said` and `epochs` are kept by member id."""
    part = part_of(record["kind"])
    if part not in ("MemberMetadata", "CurrentMemberAssignment"):
        return
    member_id, value = key_of(record)["memberId"], value_of(record)
    if value is None:
        (said if part == "MemberMetadata" else epochs).pop(member_id, None)
        return
    if part == "MemberMetadata":
        if said.get(member_id) == value:  # a load finds what is known
            return
        said[member_id] = value
    elif epochs.get(member_id) == value["memberEpoch"]:
        return
    else:
        epochs[member_id] = value["memberEpoch"]
    known = said.get(member_id, {})
    yield {
        "group_id": record["group_id"],
        "group_type": group_type(record["kind"]),
        "generation": epochs.get(member_id),
        "member_id": member_id,
        "group_instance_id": known.get("instanceId"),
        "client_id": known.get("clientId"),
        "client_host": known.get("clientHost"),
        "rebalance_timeout_ms": known.get("rebalanceTimeoutMs"),
        "session_timeout_ms": (known.get("classicMemberMetadata") or {}).get("sessionTimeoutMs"),
        "protocol": None,
        "subscribed_topics": known.get("subscribedTopicNames"),
        "at": record["at"],
        **origin_of(record),
    }


def _current_partitions(value: Row) -> list[tuple[str, int]]:
    """The partitions of a member's current assignment; of a streams group its active tasks."""
    if "activeTasks" in value:
        parts = [(each["subtopologyId"], each["partitions"]) for each in value["activeTasks"]]
    else:
        parts = [(each["topicId"], each["partitions"]) for each in value["assignedPartitions"]]
    return list(dict.fromkeys((topic, partition) for topic, partitions in parts for partition in partitions))


def _assigned(record: Row, generation: int, member_id: str, partitions: list[tuple[str, int]]) -> Iterator[Row]:
    for topic, partition in partitions:
        yield {
            "group_id": record["group_id"],
            "group_type": group_type(record["kind"]),
            "generation": generation,
            "member_id": member_id,
            "topic": topic,
            "partition": partition,
            "at": record["at"],
            **origin_of(record),
        }
