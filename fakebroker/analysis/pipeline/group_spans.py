"""The states of groups from their records: what `group_states` has of a log, but for the ends of the spans."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from fakebroker.analysis.pipeline import group_records as records
from fakebroker.analysis.pipeline.contract import Row, time_or_none
from fakebroker.analysis.pipeline.member_bytes import CONSUMER, subscribed_topics

_RECONCILED: Final = 0  # a member's state in its current assignment: it has what it shall have


def _shown(
    state: str, generation: int | None, protocol_type: str | None, members: int, topics: list[str] | None, **more: Any
) -> Row:
    """A group as a span shows it; only some have a `protocol`, a `leader`, and a time of their own (`state_at`)."""
    said = {"state": state, "generation": generation, "protocol_type": protocol_type, "members": members}
    return {**said, "subscribed_topics": topics, "protocol": None, "leader": None, "state_at": None, **more}


DEAD: Final = _shown("Dead", None, None, 0, [])


def spans(of_group: Iterable[Row]) -> Iterator[Row]:
    """The spans that begin with the records of a group.

    A record of a classic group begins a span. A newer group writes several for one change, all with one timestamp: the
    last of them begins a span if the state, the epoch, the number of members or their topics are others than before.
    """
    newer = NewerGroup()
    last: Row | None = None
    began_at = None
    for at, together in groupby(of_group, key=_change_of):
        began_at = at[0] if at[0] is not None else began_at
        for record in together:
            newer.apply(record)
        is_classic = record["kind"] == records.CLASSIC_KIND
        if is_classic and newer.is_known:
            newer = NewerGroup()
        shown = _classic(records.value_of(record)) if is_classic else newer.shown()
        if is_classic or shown != last:
            last = shown
            yield _span(record, shown, began_at)


def _change_of(record: Row) -> tuple[int | None, int | None]:
    """Equal for records that are one change."""
    return record["at"], record["log_offset"] if record["kind"] == records.CLASSIC_KIND else None


def _span(record: Row, shown: Row, began_at: int | None) -> Row:
    return {
        "group_id": record["group_id"],
        "group_type": records.group_type(record["kind"]),
        **shown,
        "began_at": began_at,
        **records.origin_of(record),
    }


def _classic(value: Any) -> Row:
    """What the record of a classic group says: it is stored with members when Stable, without when Empty."""
    if value is None:
        return DEAD
    members = value["members"]
    topics: list[str] | None = None
    if not members:
        topics = []
    elif value["protocolType"] == CONSUMER:
        topics = subscribed_topics(member["subscription"] for member in members)
    state_ms = value.get("currentStateTimestamp", -1)
    state_at = None if state_ms == -1 else time_or_none(state_ms)
    more = {"protocol": value["protocol"], "leader": value["leader"], "state_at": state_at}
    state = "Stable" if members else "Empty"
    return _shown(state, value["generation"], value["protocolType"], len(members), topics, **more)


class NewerGroup:
    """A consumer, share or streams group as its records have built it so far (KIP-848).

    `epoch` is None before its first record and after its last one.
    """

    def __init__(self) -> None:
        self._type = ""
        self._exists = False
        self.epoch: int | None = None
        self._target_epoch: int | None = None
        self.members: dict[str, Row] = {}  # what members say of themselves, by member id
        self.current: dict[str, Row] = {}  # the current assignments of members
        self._behind: set[str] = set()  # members that do not have what the target assignment gives them
        self._names: Counter[str] = Counter()  # topics that members name
        self._patterns: Counter[str] = Counter()  # expressions that members subscribe with
        self._resolved: dict[str, list[str]] = {}  # the topics that an expression stands for
        self._topology: list[str] | None = None  # what a streams group reads

    @property
    def is_known(self) -> bool:
        """Whether a record has said something of the group."""
        return bool(self._type)

    def apply(self, record: Row) -> None:
        """Take in the next record of the group; one of a classic group says nothing here."""
        if record["kind"] == records.CLASSIC_KIND:
            return
        self._type = records.group_type(record["kind"]) or ""
        value = records.value_of(record)
        match records.part_of(record["kind"]):
            case "Metadata":
                self._exists = value is not None
                self.epoch = value["epoch"] if value else None
            case "TargetAssignmentMetadata":
                self._target_epoch = value["assignmentEpoch"] if value else None
                self._behind = {member for member in self.members if self._is_behind(member)}
            case "MemberMetadata":
                self._set_member(records.key_of(record)["memberId"], value)
            case "CurrentMemberAssignment":
                self._set_current(records.key_of(record)["memberId"], value)
            case "RegularExpression":
                self._resolved[records.key_of(record)["regularExpression"]] = value["topics"] if value else []
            case "Topology":
                self._topology = _topics_of_topology(value) if value else None

    def shown(self) -> Row:
        """The group as a span shows it."""
        if not self._exists and not self.members:
            return DEAD
        return _shown(self._state(), self.epoch, self._type, len(self.members), self._topics())

    def _state(self) -> str:
        if not self.members:
            return "Empty"
        if self._type == "share":
            return "Stable"
        if self.epoch is None or self.epoch > (self._target_epoch or 0):
            return "Assigning"
        return "Reconciling" if self._behind else "Stable"

    def _topics(self) -> list[str] | None:
        if not self.members:
            return []
        if self._type == "streams":
            return self._topology
        found = {topic for pattern in self._patterns for topic in self._resolved.get(pattern, ())}
        return sorted(found.union(self._names))

    def _set_member(self, member_id: str, value: Any) -> None:
        before = self.members.get(member_id)
        if before is not None:
            _forget(self._names, before.get("subscribedTopicNames", ()))
            _forget(self._patterns, _patterns_of(before))
        _set(self.members, member_id, value)
        if value is not None:
            self._names.update(value.get("subscribedTopicNames", ()))
            self._patterns.update(_patterns_of(value))
        self._look_at(member_id)

    def _set_current(self, member_id: str, value: Any) -> None:
        _set(self.current, member_id, value)
        self._look_at(member_id)

    def _look_at(self, member_id: str) -> None:
        if member_id in self.members and self._is_behind(member_id):
            self._behind.add(member_id)
        else:
            self._behind.discard(member_id)

    def _is_behind(self, member_id: str) -> bool:
        has = self.current.get(member_id)
        return has is None or (has["memberEpoch"], has["state"]) != (self._target_epoch or 0, _RECONCILED)


def _set(known: dict[str, Row], member_id: str, value: Any) -> None:
    if value is None:
        known.pop(member_id, None)
    else:
        known[member_id] = value


def _forget(counter: Counter[str], names: Iterable[str]) -> None:
    """Count one less of each; what is not there any more is gone."""
    counter.subtract(names)
    for name in set(names):
        if counter[name] <= 0:
            del counter[name]


def _patterns_of(member: Row) -> list[str]:
    pattern = member.get("subscribedTopicRegex")
    return [pattern] if pattern else []


def _topics_of_topology(value: Any) -> list[str] | None:
    """The topics that a topology reads; None if it has expressions, which are not resolved in the log."""
    parts = value["subtopologies"]
    if any(part["sourceTopicRegex"] for part in parts):
        return None
    named = {topic for part in parts for topic in part["sourceTopics"]}
    return sorted(named.union(topic["name"] for part in parts for topic in part["repartitionSourceTopics"]))
