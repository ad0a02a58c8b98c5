"""A journal played again, group by group and line by line: when offsets expired, and when they should have."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from fakebroker.analysis.pipeline import expiry_facts
from fakebroker.analysis.pipeline.contract import Row, time_or_none
from fakebroker.analysis.pipeline.expiry_cases import Due
from fakebroker.analysis.pipeline.group_spans import NewerGroup
from fakebroker.analysis.pipeline.group_transitions import CLASSIC, OTHER_KIND, is_newer, is_unload

Key = tuple[str, str, int]
"""Group, topic and partition."""


END: Final = "end"
"""The kind of the line after the last one of a run."""


def audited(lines: Iterable[Row]) -> Iterator[Row]:
    """A row for each `offset_expired` line, and for each offset that should have expired and of which there is none.

    `lines` are those of a group, and those of its run that matter to all groups; behind them comes one of the kind END.
    That an offset should have expired is said only if it was due for longer than the interval of checks, while nothing
    about its group changed, its coordinator had it loaded, and the clock was not set back.
    """
    replay = _Replay()
    for row in lines:
        yield from replay.take(row)


@dataclass
class _Commit:
    """A committed offset that is there. `since_ms` is from when on it is watched, if it is."""

    row: Row
    since_ms: int
    is_watched: bool


@dataclass
class _Group:
    """A group, since when it is as it is, and whether a coordinator has it loaded."""

    facts: expiry_facts.GroupFacts
    since_ms: int
    is_loaded: bool = True
    newer: NewerGroup = field(default_factory=NewerGroup)
    commits: dict[tuple[str, int], _Commit] = field(default_factory=dict)
    uncertain: set[tuple[str, int]] = field(default_factory=set)


class _Replay:
    """One group of one run. `now_ms` is the time of day of the last line."""

    def __init__(self) -> None:
        self._found: list[Row] = []
        self._broker: expiry_facts.BrokerFacts | None = None
        self._groups: dict[str, _Group] = {}
        self._now_ms = 0
        self._watches = True  # for offsets that should have expired; not any more once brokers come and go

    def take(self, row: Row) -> list[Row]:
        """Take the next line; returns what it shows."""
        self._now_ms = row["wall_ms"]
        getattr(self, f"_on_{row['kind']}")(row)
        found, self._found = self._found, []
        return found

    # -- the lines -----------------------------------------------------------------------------------------------------

    def _on_end(self, _row: Row | None = None) -> None:
        for group in self._groups.values():
            self._look_for_missed(group, self._now_ms)

    def _on_broker_started(self, row: Row) -> None:
        self._on_end()
        self._groups.clear()
        self._broker, self._watches = expiry_facts.broker_facts(row["release"], row["settings"]), True

    def _on_node_changed(self, _row: Row) -> None:
        self._on_end()
        self._watches = False

    def _on_clock_moved(self, row: Row) -> None:
        if row["to_ms"] < row["from_ms"]:
            for group in self._groups.values():
                self._look_for_missed(group, row["from_ms"])
                group.since_ms = row["to_ms"]
                for commit in group.commits.values():
                    commit.since_ms = row["to_ms"]

    def _on_transition(self, row: Row) -> None:
        group = self._changed(row)
        if is_unload(row["after"], row["reason"]):
            group.is_loaded, group.newer = False, NewerGroup()
        elif row["after"] == "Dead":
            group.facts = expiry_facts.GroupFacts()
            if row["reason"] != OTHER_KIND:
                group.uncertain.clear()
        else:
            group.is_loaded = True
            group.facts = _changed_by(row, group)

    def _on_coordinator_record(self, row: Row) -> None:
        group = self._group(row["group"])
        group.newer.apply(row | {"kind": row["record"]})
        shown = group.newer.shown()
        if shown["state"] == "Dead":
            return
        state = group.facts.state if is_newer(group.facts.group_type) else shown["state"]
        facts = _facts_of_newer(state, shown["protocol_type"], group)
        if facts != group.facts or not group.is_loaded:
            self._changed(row)
            group.is_loaded, group.facts = True, facts

    def _on_group_stored(self, row: Row) -> None:
        group = self._changed(row)
        group.is_loaded = True
        topics = None if row["subscribed_topics"] is None else frozenset(row["subscribed_topics"])
        facts = group.facts._replace(
            protocol_type=row["protocol_type"], topics=topics, knows_topics=True, group_type=CLASSIC
        )
        if row["how"] == "loaded" and not row["members"]:
            facts = facts._replace(state="Empty")
        if facts.state == "Empty":
            facts = facts._replace(empty_ms=row["state_ms"])
        group.facts = facts

    def _on_offset_committed(self, row: Row) -> None:
        group, place = self._group(row["group"]), (row["topic"], row["partition"])
        if row["transactional"]:
            commit = group.commits.get(place)
            if commit is not None:
                self._look_at(group, commit, self._now_ms)
                commit.is_watched = False
            group.uncertain.add(place)
            return
        self._end_commit(group, place)
        group.commits[place] = _Commit(row, row["wall_ms"], place not in group.uncertain)

    def _on_offset_deleted(self, row: Row) -> None:
        group, place = self._group(row["group"]), (row["topic"], row["partition"])
        self._end_commit(group, place)
        group.uncertain.discard(place)

    def _on_offset_expired(self, row: Row) -> None:
        group, place = self._group(row["group"]), (row["topic"], row["partition"])
        commit = group.commits.pop(place, None)
        if commit is not None and commit.row["offset"] != row["offset"]:
            commit = None
        unknown = self._unknown(group, place, commit)
        if unknown is None and expiry_facts.may_be_newer(group.facts, row["rule"]):
            unknown = expiry_facts.TYPE_UNKNOWN
        due = None
        if unknown is None and commit is not None:
            due = self._due(group, commit)
        self._tell(row, commit, row, due, unknown)

    # -- what it means -------------------------------------------------------------------------------------------------

    def _group(self, group_id: str) -> _Group:
        return self._groups.setdefault(group_id, _Group(expiry_facts.GroupFacts(), self._now_ms))

    def _changed(self, row: Row) -> _Group:
        """The group of a line that changes it: what it was until now has been looked at."""
        group = self._group(row["group"])
        self._look_for_missed(group, self._now_ms)
        group.since_ms = self._now_ms
        return group

    def _end_commit(self, group: _Group, place: tuple[str, int]) -> None:
        commit = group.commits.pop(place, None)
        if commit is not None:
            self._look_at(group, commit, self._now_ms)

    def _look_for_missed(self, group: _Group, until_ms: int) -> None:
        for commit in group.commits.values():
            self._look_at(group, commit, until_ms)

    def _look_at(self, group: _Group, commit: _Commit, until_ms: int) -> None:
        """Tell of an offset that was due for longer than the interval of checks, and is still there."""
        if not self._watches or not group.is_loaded or not commit.is_watched:
            return
        if self._broker is None or expiry_facts.needs_topics(self._broker, group.facts):
            return
        due = self._due(group, commit)
        if due is not None and until_ms - max(due.due_ms, commit.since_ms, group.since_ms) > self._broker.interval_ms:
            commit.is_watched = False
            self._tell(commit.row, commit, None, due, None)

    def _unknown(self, group: _Group, place: tuple[str, int], commit: _Commit | None) -> str | None:
        if self._broker is None:
            return expiry_facts.BROKER_UNKNOWN
        if place in group.uncertain:
            return expiry_facts.TRANSACTION
        if commit is None:
            return expiry_facts.COMMIT_UNKNOWN
        return expiry_facts.TOPICS_UNKNOWN if expiry_facts.needs_topics(self._broker, group.facts) else None

    def _due(self, group: _Group, commit: _Commit) -> Due | None:
        assert self._broker is not None
        row = commit.row
        return expiry_facts.due_of(self._broker, group.facts, row["topic"], row["committed_ms"], row["expire_ms"])

    def _tell(
        self, line: Row, commit: _Commit | None, expiry: Row | None, due: Due | None, unknown: str | None
    ) -> None:
        agrees: bool | None = None
        if unknown is None:
            agrees = expiry is not None and due == Due(expiry["rule"], expiry["due_ms"])
            agrees = agrees and due is not None and due.due_ms <= self._now_ms
        named = {name: line[name] for name in ("topic", "partition")}
        found = {"source": line["run"], "group_id": line["group"], **named, "committed_offset": line["offset"]}
        found |= {"committed_at": time_or_none(line["committed_ms"]), "agrees": agrees, "unknown_because": unknown}
        if commit is not None:
            found |= {"commit_seq": commit.row["seq"], "commit_part": commit.row["part"]}
        if expiry is not None:
            found |= {"expiry_seq": expiry["seq"], "expiry_part": expiry["part"], "recorded_at": expiry["wall_ms"]}
            found |= {"recorded_due_at": time_or_none(expiry["due_ms"]), "recorded_rule": expiry["rule"]}
        if due is not None:
            found |= {"recomputed_due_at": time_or_none(due.due_ms), "recomputed_rule": due.rule}
        self._found.append(found)


def _facts_of_newer(state: str, group_type: str, group: _Group) -> expiry_facts.GroupFacts:
    """The facts of a newer group in that state. Its records say which topics its members read."""
    topics = group.newer.shown()["subscribed_topics"] if group.newer.is_known else None
    known = None if topics is None else frozenset(topics)
    return expiry_facts.GroupFacts(state, topics=known, knows_topics=topics is not None, group_type=group_type)


def _changed_by(row: Row, group: _Group) -> expiry_facts.GroupFacts:
    """The facts of a group after a `transition` to a state but Dead."""
    facts = group.facts
    if is_newer(row["group_type"]):
        return _facts_of_newer(row["after"], row["group_type"], group)
    empty_ms = row["wall_ms"] if row["after"] == "Empty" else -1
    knows_topics = facts.knows_topics and row["after"] != "CompletingRebalance"
    return facts._replace(state=row["after"], empty_ms=empty_ms, knows_topics=knows_topics, group_type=CLASSIC)
