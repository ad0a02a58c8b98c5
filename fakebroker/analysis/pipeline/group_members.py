"""Members of groups and their partitions: what `members` and `assignments` have of records, and of answers in journals.

Records of classic groups are in logs alone. Of these groups a journal has the messages of JoinGroup and SyncGroup.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fakebroker.analysis.pipeline import group_records as records
from fakebroker.analysis.pipeline.contract import Row, Table
from fakebroker.analysis.pipeline.group_transitions import CLASSIC
from fakebroker.analysis.pipeline.member_bytes import CONSUMER, assigned_partitions, subscribed_topics
from fakebroker.analysis.pipeline.recipe import Recipe, Step

Maker = Callable[[Iterable[Row]], Iterator[Row]]


def recorded_and_answered(table: Table, of_records: Maker, api: str, of_answers: Maker) -> Recipe:
    """A table of what records of groups say, and what the members of classic groups got in answers of an API."""
    return Recipe(
        "SELECT * FROM recorded UNION ALL SELECT * FROM answered",
        (
            Step("recorded", table, records.EVERYWHERE, of_records, records.TOGETHER, records.ORDER),
            Step("answered", table, _answered(api), of_answers, ("run",), ("seq", "part")),
        ),
    )


def _answered(api: str) -> str:
    """A query for requests that were answered without an error, and for lines that tell of consumer groups.

    Classic members can be in these; their records say more of them.
    """
    return f"""
        SELECT kind, run, seq, part, wall_ms, client, request, response, "group", "after"
        FROM events
        WHERE (
            kind = 'request' AND api = '{api}' AND ARRAY_LENGTH(errors) = 0
            AND request IS NOT NULL AND response IS NOT NULL
        ) OR (kind = 'transition' AND group_type = 'consumer')
    """


def member_rows(of_group: Iterable[Row]) -> Iterator[Row]:
    """The members that the records of a group name.

    A record of a classic group has all its members. A member of a newer group has a row whenever it says something new
    of itself, and whenever its epoch is another: what it said last, with its epoch then.
    """
    said: dict[str, Row] = {}
    epochs: dict[str, int] = {}
    for record in of_group:
        is_classic = record["kind"] == records.CLASSIC_KIND
        yield from _classic_members(record) if is_classic else _newer_member(record, said, epochs)


def assignment_rows(of_group: Iterable[Row]) -> Iterator[Row]:
    """The partitions that the records of a group assign."""
    known: dict[str, Row] = {}
    for record in of_group:
        if record["kind"] == records.CLASSIC_KIND:
            yield from _classic_assignments(record)
        elif records.part_of(record["kind"]) == "CurrentMemberAssignment":
            yield from _newer_assignment(record, known)


def joined_members(of_run: Iterable[Row]) -> Iterator[Row]:
    """The members that answers to JoinGroup admit to classic groups, as `members` has them."""
    for row, asked, answer in _of_classic_groups(of_run):
        protocol = answer["ProtocolName"] or None
        own = [each["Metadata"] for each in asked["Protocols"] if each["Name"] == protocol]
        yield {
            **_of_line(row, asked["GroupId"], answer["GenerationId"], answer["MemberId"]),
            "group_instance_id": asked.get("GroupInstanceId"),
            "client_id": row["client"],
            "rebalance_timeout_ms": asked.get("RebalanceTimeoutMs", asked["SessionTimeoutMs"]),  # v0 has one for both
            "session_timeout_ms": asked["SessionTimeoutMs"],
            "protocol": protocol,
            "subscribed_topics": subscribed_topics(own) if asked["ProtocolType"] == CONSUMER and own else None,
        }


def answered_assignments(of_run: Iterable[Row]) -> Iterator[Row]:
    """The partitions that answers to SyncGroup give to members of classic groups, as `assignments` has them."""
    for row, asked, answer in _of_classic_groups(of_run):
        if answer.get("ProtocolType") in (None, CONSUMER):  # before v5 it does not say
            member = _of_line(row, asked["GroupId"], asked["GenerationId"], asked["MemberId"])
            yield from _assigned(member, assigned_partitions(answer["Assignment"]))


def _of_classic_groups(of_run: Iterable[Row]) -> Iterator[tuple[Row, Row, Row]]:
    """The requests of a run, with both messages, but for those of groups that are consumer groups then."""
    consumer_groups: set[str] = set()
    for row in of_run:
        if row["kind"] == "transition":
            change = consumer_groups.discard if row["after"] == "Dead" else consumer_groups.add
            change(row["group"])
            continue
        asked, answer = json.loads(row["request"]), json.loads(row["response"])
        are_whole = isinstance(asked, dict) and isinstance(answer, dict) and answer.get("ErrorCode") == 0
        if are_whole and asked["GroupId"] not in consumer_groups:
            yield row, asked, answer


def _of_line(row: Row, group_id: str, generation: int, member_id: str) -> Row:
    """The columns of both tables for a member of a classic group whose request stands in a line."""
    named = {"group_id": group_id, "group_type": CLASSIC, "generation": generation, "member_id": member_id}
    return {**named, "at": row["wall_ms"], **records.origin_of_line(row)}


def _of_record(record: Row, generation: int | None, member_id: str) -> Row:
    """The same of a member that a record names."""
    group_type = records.group_type(record["kind"])
    named = {"group_id": record["group_id"], "group_type": group_type, "generation": generation, "member_id": member_id}
    return {**named, "at": record["at"], **records.origin_of(record)}


def _assigned(member: Row, partitions: list[tuple[str, int]]) -> Iterator[Row]:
    for topic, partition in partitions:
        yield {**member, "topic": topic, "partition": partition}


def _classic_assignments(record: Row) -> Iterator[Row]:
    value = records.value_of(record)
    for member in value["members"] if value and value["protocolType"] == CONSUMER else ():
        of_member = _of_record(record, value["generation"], member["memberId"])
        yield from _assigned(of_member, assigned_partitions(member["assignment"]))


def _newer_assignment(record: Row, known: dict[str, Row]) -> Iterator[Row]:
    """The rows of the current assignment of a member. `known` are those by member id: a load finds what is known."""
    member_id, value = records.key_of(record)["memberId"], records.value_of(record)
    if value is None:
        known.pop(member_id, None)
    elif known.get(member_id) != value:
        known[member_id] = value
        yield from _assigned(_of_record(record, value["memberEpoch"], member_id), _current_partitions(value))


def _classic_members(record: Row) -> Iterator[Row]:
    value = records.value_of(record)
    for member in value["members"] if value else ():
        is_consumer = value["protocolType"] == CONSUMER
        yield {
            **_of_record(record, value["generation"], member["memberId"]),
            "group_instance_id": member.get("groupInstanceId"),
            "client_id": member["clientId"],
            "client_host": member["clientHost"],
            "rebalance_timeout_ms": member.get("rebalanceTimeout"),
            "session_timeout_ms": member["sessionTimeout"],
            "protocol": value["protocol"],
            "subscribed_topics": subscribed_topics([member["subscription"]]) if is_consumer else None,
        }


def _newer_member(record: Row, said: dict[str, Row], epochs: dict[str, int]) -> Iterator[Row]:
    """The row of a record of a newer group, if it has one. `said` and `epochs` are kept by member id."""
    part = records.part_of(record["kind"])
    if part not in ("MemberMetadata", "CurrentMemberAssignment"):
        return
    member_id, value = records.key_of(record)["memberId"], records.value_of(record)
    known: dict[str, Any] = said if part == "MemberMetadata" else epochs
    if value is None:
        known.pop(member_id, None)
        return
    new = value if part == "MemberMetadata" else value["memberEpoch"]
    if known.get(member_id) == new:  # a load finds what is known
        return
    known[member_id] = new
    member = said.get(member_id, {})
    yield {
        **_of_record(record, epochs.get(member_id), member_id),
        "group_instance_id": member.get("instanceId"),
        "client_id": member.get("clientId"),
        "client_host": member.get("clientHost"),
        "rebalance_timeout_ms": member.get("rebalanceTimeoutMs"),
        "session_timeout_ms": (member.get("classicMemberMetadata") or {}).get("sessionTimeoutMs"),
        "subscribed_topics": member.get("subscribedTopicNames"),
    }


def _current_partitions(value: Row) -> list[tuple[str, int]]:
    """The partitions of a member's current assignment; of a streams group its active tasks."""
    if "activeTasks" in value:
        parts = [(each["subtopologyId"], each["partitions"]) for each in value["activeTasks"]]
    else:
        parts = [(each["topicId"], each["partitions"]) for each in value["assignedPartitions"]]
    return list(dict.fromkeys((topic, partition) for topic, partitions in parts for partition in partitions))
