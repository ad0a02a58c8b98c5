"""The states of a consumer group, from its records: who its members are, whenever that or what they have changes.

A newer group is spread over many records (KIP-848), which the tables `coordinator_records` and `events` have.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from fakebroker.analysis.history.compile.happened import Member, Settled, position_of
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.group_records import group_type
from fakebroker.analysis.pipeline.group_spans import NewerGroup

CONSUMER = "consumer"
_ENDED_SESSIONS = ("timed out", "was evicted", "in time")  # what reasons say of members that did not leave


def consumer_states(records: Sequence[Row], states: Sequence[Row], topic_names: Mapping[str, str]) -> Iterator[Settled]:
    """Stable with members, Empty, and Dead, each time something changes.

    `records` are the group's, of a log or lines of a journal; the reasons of its `states` (rows of group_states) say
    whose session ended. `topic_names` are by topic id, as far as commits tell them.
    """
    of_group = [each for each in map(_as_record, records) if group_type(each["kind"]) == CONSUMER]
    expired = _expired(states)
    group = NewerGroup()
    last: Settled | None = None
    for _, together in groupby(sorted(of_group, key=position_of), key=_change_of):
        for record in together:
            group.apply(record)
        found = _settled(group, record, topic_names)
        if found is not None and (last is None or (found.generation, found.members) != (last.generation, last.members)):
            last = found
            yield found._replace(expired=expired)


def _as_record(row: Row) -> Row:
    """A line of a journal as `coordinator_records` has it."""
    if row.get("record") is None:
        return row
    return row | {"kind": row["record"], "at": row["wall_ms"]}


def _change_of(record: Row) -> tuple[object, object]:
    """Equal for the records of one change: a log has one timestamp for them, a journal one entry."""
    return record.get("seq"), record["at"]


def _expired(states: Iterable[Row]) -> frozenset[str]:
    """The members whose session ended; a member id never comes back."""
    reasons = (row["reason"] or "" for row in states)
    return frozenset(word for each in reasons if any(end in each for end in _ENDED_SESSIONS) for word in each.split())


def _settled(group: NewerGroup, record: Row, topic_names: Mapping[str, str]) -> Settled | None:
    """The group after that record; None before its first epoch is known."""
    if group.epoch is None and group.members:
        return None
    members = tuple(
        _member(member_id, said, _assignment(group.current.get(member_id, {}), topic_names))
        for member_id, said in group.members.items()
    )
    state = "Dead" if group.epoch is None else "Stable" if members else "Empty"
    protocol_type = None if state == "Dead" else CONSUMER
    return Settled(
        position_of(record), record["at"], state, group.epoch, record["at"], protocol_type, None, None, members,
        group_type=CONSUMER,
    )  # fmt: skip


def _member(member_id: str, said: Mapping[str, Any], assignment: dict[str, list[int]]) -> Member:
    pattern = said.get("subscribedTopicRegex") or None
    topics = None if pattern else tuple(sorted(said.get("subscribedTopicNames") or ()))
    of_client = (said.get("instanceId"), said.get("clientId"), said.get("rebalanceTimeoutMs"))
    return Member(member_id, *of_client, None, topics, assignment, pattern)


def _assignment(has: Mapping[str, Any], topic_names: Mapping[str, str]) -> dict[str, list[int]]:
    """What a member has, of the topics whose names are known."""
    found = {
        topic_names[each["topicId"]]: sorted(each["partitions"])
        for each in has.get("assignedPartitions", ())
        if each["topicId"] in topic_names
    }
    return dict(sorted(found.items()))
