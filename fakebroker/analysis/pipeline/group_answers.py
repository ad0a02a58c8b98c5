"""What a broker answered to JoinGroup and SyncGroup, from the messages as journals have them."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

from fakebroker.analysis.pipeline.member_bytes import CONSUMER, assigned_partitions, subscribed_topics

Row = dict[str, Any]


class JoinAnswer(NamedTuple):
    """A member was admitted to a generation.

    Attributes:
        group_id: The group.
        generation: The generation.
        member_id: The member that was answered.
        group_instance_id: Its group instance id; None if it is not static.
        rebalance_timeout_ms: Its rebalance timeout; JoinGroup v0 has only a session timeout, which is both.
        session_timeout_ms: Its session timeout.
        protocol_type: The type of the group.
        protocol: The protocol that was chosen; None without one.
        topics: The topics that the member subscribes to; None if unknown.
    """

    group_id: str
    generation: int
    member_id: str
    group_instance_id: str | None
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocol: str | None
    topics: list[str] | None


class SyncAnswer(NamedTuple):
    """A member got its partitions: (topic, partition)."""

    group_id: str
    generation: int
    member_id: str
    partitions: list[tuple[str, int]]


def join_answer(request: str | None, response: str | None) -> JoinAnswer | None:
    """What an answered JoinGroup says; None for an error, and for messages that were too large to be kept."""
    asked, answered = _messages(request, response)
    if not answered:
        return None
    protocol_type, protocol = asked["ProtocolType"], answered["ProtocolName"] or None
    own = [each["Metadata"] for each in asked["Protocols"] if each["Name"] == protocol]
    return JoinAnswer(
        group_id=asked["GroupId"],
        generation=answered["GenerationId"],
        member_id=answered["MemberId"],
        group_instance_id=asked.get("GroupInstanceId"),
        rebalance_timeout_ms=asked.get("RebalanceTimeoutMs", asked["SessionTimeoutMs"]),
        session_timeout_ms=asked["SessionTimeoutMs"],
        protocol_type=protocol_type,
        protocol=protocol,
        topics=subscribed_topics(own) if protocol_type == CONSUMER and own else None,
    )


def sync_answer(request: str | None, response: str | None) -> SyncAnswer | None:
    """What an answered SyncGroup says; None for an error, and for messages that were too large to be kept."""
    asked, answered = _messages(request, response)
    if not answered:
        return None
    is_consumer = answered.get("ProtocolType") in (None, CONSUMER)  # before v5 it does not say
    partitions = assigned_partitions(answered["Assignment"]) if is_consumer else []
    return SyncAnswer(asked["GroupId"], asked["GenerationId"], asked["MemberId"], partitions)


TOGETHER: Final = ("run",)
ORDER: Final = ("seq", "part")


def answered(api: str) -> str:
    """A query for the lines of requests that were answered without an error, and for those that tell of which type
    groups are: classic members can be in a consumer group, whose records say more of them.
    """
    return f"""
        SELECT kind, run, seq, part, wall_ms, client, request, response, "group", "after"
        FROM events
        WHERE (
            kind = 'request' AND api = '{api}' AND ARRAY_LENGTH(errors) = 0
            AND request IS NOT NULL AND response IS NOT NULL
        ) OR (kind = 'transition' AND group_type = 'consumer')
    """


def joined_members(lines: Iterable[Row]) -> Iterator[Row]:
    """The members that answers to JoinGroup admit to classic groups, as `members` has them."""
    for row, consumer_groups in _requests(lines):
        answer = join_answer(row["request"], row["response"])
        if answer and answer.group_id not in consumer_groups:
            yield {
                "group_id": answer.group_id,
                "group_type": "classic",
                "generation": answer.generation,
                "member_id": answer.member_id,
                "group_instance_id": answer.group_instance_id,
                "client_id": row["client"],
                "client_host": None,
                "rebalance_timeout_ms": answer.rebalance_timeout_ms,
                "session_timeout_ms": answer.session_timeout_ms,
                "protocol": answer.protocol,
                "subscribed_topics": answer.topics,
                **_origin_of(row),
            }


def answered_assignments(lines: Iterable[Row]) -> Iterator[Row]:
    """The partitions that answers to SyncGroup give to members of classic groups, as `assignments` has them."""
    for row, consumer_groups in _requests(lines):
        answer = sync_answer(row["request"], row["response"])
        if answer is None or answer.group_id in consumer_groups:
            continue
        for topic, partition in answer.partitions:
            yield {
                "group_id": answer.group_id,
                "group_type": "classic",
                "generation": answer.generation,
                "member_id": answer.member_id,
                "topic": topic,
                "partition": partition,
                **_origin_of(row),
            }


def _requests(lines: Iterable[Row]) -> Iterator[tuple[Row, set[str]]]:
    """The requests of each run in their order, with the groups that are consumer groups then."""
    for _, of_run in groupby(lines, key=itemgetter("run")):
        consumer_groups: set[str] = set()
        for row in of_run:
            if row["kind"] == "request":
                yield row, consumer_groups
            elif row["after"] == "Dead":
                consumer_groups.discard(row["group"])
            else:
                consumer_groups.add(row["group"])


def _origin_of(row: Row) -> Row:
    return {
        "at": row["wall_ms"],
        "source": row["run"],
        "log_partition": None,
        "log_offset": None,
        "seq": row["seq"],
        "part": row["part"],
    }


def _messages(request: str | None, response: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both messages of a request that went well; else nothing."""
    asked = json.loads(request) if request else None
    answered = json.loads(response) if response else None
    if not isinstance(asked, dict) or not isinstance(answered, dict) or answered.get("ErrorCode") != 0:
        return {}, {}
    return asked, answered
