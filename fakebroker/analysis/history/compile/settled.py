"""The settled states of a group, from the tables `group_states`, `members` and `assignments`.

A log has a record for each of them. A journal has every change of state: there the members of a generation are those
whose JoinGroup was answered since the rebalance began; a state that the coordinator read from its log is no new one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fakebroker.analysis.history.compile.consumer_states import CONSUMER, consumer_states
from fakebroker.analysis.history.compile.happened import Member, Position, Settled, position_of
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.group_transitions import RELOAD_REASONS

SETTLED_STATES = ("Stable", "Empty", "Dead")
_REBALANCE = "PreparingRebalance"
_ENDED_SESSIONS = ("exceeded its session timeout", "did not join after", "was evicted", "never joined")


def settled_of(tables: Mapping[str, Sequence[Row]]) -> list[Settled]:
    """The settled states in their order, with members and assignments.

    Of share and streams groups every state, without them; of consumer groups, too, where their records are not there.
    """
    every = sorted(tables.get("group_states", ()), key=position_of)
    states = [row for row in every if row["group_type"] == "classic"]
    newer = [*_newer(tables, [row for row in every if row["group_type"] != "classic"])]
    members = sorted(tables.get("members", ()), key=position_of)
    assignments = _assignments(tables.get("assignments", ()))
    if any(row.get("log_offset") is not None for row in states):
        found = [_of_record(row, members, assignments) for row in states if row["state"] in SETTLED_STATES]
    else:
        found = _Journal(states, members, assignments).settled()
    return list(_with_read_topics(sorted([*found, *newer], key=lambda each: each.position)))


def _newer(tables: Mapping[str, Sequence[Row]], states: Sequence[Row]) -> Iterator[Settled]:
    lines = [row for row in tables.get("events", ()) if row.get("record") is not None]
    records = [*tables.get("coordinator_records", ()), *lines]
    of_consumers = [row for row in states if row["group_type"] == CONSUMER]
    commits = tables.get("commits", ())
    topic_names = {row["topic_id"]: row["topic"] for row in commits if row.get("topic_id") is not None}
    found = [*consumer_states(records, of_consumers, topic_names)]
    yield from found
    for row in states:
        is_deleted = row["state"] == "Dead" and not (row["reason"] or "").startswith(RELOAD_REASONS)
        if row["group_type"] != CONSUMER or not found or (is_deleted and row["log_offset"] is None):
            yield _state(row, (), group_type=row["group_type"])


def _with_read_topics(states: Iterable[Settled]) -> Iterator[Settled]:
    """What members read. A static member that returns within a generation changes nothing of it (JG-23)."""
    before: Settled | None = None
    for each in states:
        topics: frozenset[str] | None = None
        if all(member.topics is not None for member in each.members):
            topics = frozenset(topic for member in each.members for topic in member.topics or ())
        if before is not None and each.state == before.state == "Stable" and each.generation == before.generation:
            topics = before.read_topics if topics is None or before.read_topics is None else topics & before.read_topics
        before = each._replace(read_topics=topics)
        yield before


Assignments = Mapping[str, Sequence[Row]]  # by member id


def _assignments(rows: Iterable[Row]) -> Assignments:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["member_id"], []).append(row)
    return found


def _member(row: Row, assigned: Iterable[Row]) -> Member:
    """A member with what these rows of `assignments` give it."""
    topics = row["subscribed_topics"]
    assignment: dict[str, set[int]] = {}
    for each in assigned:
        assignment.setdefault(each["topic"], set()).add(each["partition"])
    return Member(
        row["member_id"],
        row["group_instance_id"],
        row["client_id"],
        row["rebalance_timeout_ms"],
        row["session_timeout_ms"],
        None if topics is None else tuple(sorted(topics)),
        {topic: sorted(indexes) for topic, indexes in sorted(assignment.items())},
    )


def _state(row: Row, members: Sequence[Member], **more: object) -> Settled:
    began_ms = row["began_at"]
    known: Settled = Settled(
        position_of(row),
        began_ms,
        row["state"],
        row["generation"],
        began_ms if row.get("state_at") is None else row["state_at"],
        row["protocol_type"] or None,
        row["protocol"],
        row["leader"],
        tuple(members),
    )
    return known._replace(**more)  # type: ignore[arg-type]


def _of_record(row: Row, members: Sequence[Row], assignments: Assignments) -> Settled:
    """A settled state of a log: everything stands in one record."""
    position = position_of(row)
    found = [
        _member(each, [given for given in assignments.get(each["member_id"], ()) if position_of(given) == position])
        for each in members
        if position_of(each) == position
    ]
    return _state(row, found)


class _Journal:
    """Goes through the changes of state of one group."""

    def __init__(self, states: Sequence[Row], members: Sequence[Row], assignments: Assignments) -> None:
        self._states, self._members, self._assignments = states, members, assignments
        self._began: Position = (-1, -1)  # of the rebalance under way
        self._causes: list[str] = []
        self._found: list[Settled] = []

    def settled(self) -> list[Settled]:
        """The settled states, and the places that restarted static members took in between."""
        for index, row in enumerate(self._states):
            if row["state"] == _REBALANCE:
                if not self._causes:
                    self._began = position_of(row)
                self._causes.append(row["reason"] or "")
            elif row["state"] in SETTLED_STATES:
                self._settle(row, self._end_of(index))
        return sorted(self._found, key=lambda each: each.position)

    def _end_of(self, index: int) -> Position | None:
        """Where the span ends, whatever comes then; None for the last."""
        return position_of(self._states[index + 1]) if index + 1 < len(self._states) else None

    def _settle(self, row: Row, end: Position | None) -> None:
        reason = row["reason"] or ""
        if reason.startswith(RELOAD_REASONS):
            if row["state"] == "Dead":
                self._causes, self._began = [], position_of(row)
            if row["state"] != "Stable" or self._is_known(row):
                return  # the same group, at another coordinator
        if not row["protocol_type"] and row["state"] != "Dead":
            row = {**row, "protocol_type": "consumer"}  # groups that have or had members have one
        joined = self._joined(row, end) if row["state"] == "Stable" else []
        self._found.append(_state(row, joined, causes=tuple(self._causes), expired=self._expired()))
        self._causes = []
        if row["state"] == "Stable":
            self._add_returned(self._found[-1], row, end)

    def _is_known(self, row: Row) -> bool:
        last = self._found[-1] if self._found else None
        return last is not None and (last.state, last.generation) == (row["state"], row["generation"])

    def _expired(self) -> frozenset[str]:
        """The members whose session ended: reasons begin with `member MEMBER_ID`."""
        ended = [each for each in self._causes if any(words in each for words in _ENDED_SESSIONS)]
        return frozenset(word for each in ended for word in each.split())

    def _joined(self, row: Row, end: Position | None) -> list[Member]:
        """Those whose JoinGroup was answered in the rebalance that this state ends, by member and instance."""
        position = position_of(row)
        found: dict[str, Member] = {}
        for each in self._members:
            if self._began <= position_of(each) <= position and each["generation"] == row["generation"]:
                member = _member(each, self._assigned(each["member_id"], row["generation"], end))
                found[member.identity] = member
        return list(found.values())

    def _assigned(self, member_id: str, generation: int | None, end: Position | None) -> Iterator[Row]:
        for each in self._assignments.get(member_id, ()):
            where = position_of(each)
            if each["generation"] == generation and where >= self._began and (end is None or where < end):
                yield each

    def _add_returned(self, settled: Settled, row: Row, end: Position | None) -> None:
        """Static members that came back into the same generation, with new member ids."""
        for each in self._members:
            where = position_of(each)
            is_inside = where > settled.position and (end is None or where < end)
            if not is_inside or each["generation"] != row["generation"] or each["group_instance_id"] is None:
                continue
            settled = self._found[-1]
            returned = _member(each, ())
            before = next((old for old in settled.members if old.identity == returned.identity), None)
            if before is None or before.member_id == returned.member_id:
                continue
            members = [
                returned._replace(assignment=before.assignment) if old is before else old for old in settled.members
            ]
            leader = returned.member_id if settled.leader == before.member_id else settled.leader
            there = settled._replace(position=where, at_ms=each["at"], members=tuple(members), leader=leader)
            self._found.append(there._replace(causes=(), expired=frozenset()))
