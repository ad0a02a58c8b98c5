"""Cuts a window out of the history of one group: the state at its start, and what happened in it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fakebroker.analysis.history.compile.consumer_states import CONSUMER
from fakebroker.analysis.history.compile.happened import (
    Commit,
    Ended,
    Event,
    Gone,
    Pending,
    Settled,
    TopicPartition,
    Window,
    apply,
    position_of,
)
from fakebroker.analysis.history.compile.settled import settled_of
from fakebroker.analysis.history.compile.transactions import is_played, transaction_events
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.protocol.errors import FakebrokerError

_OWN_RETENTION = "EX-2"  # the rule by which an offset expires that was committed with a retention of its own
PLAYABLE = ("classic", CONSUMER)
_DELETIONS = {"a client deleted it": "deleted", "its topic was deleted": "topic deleted"}  # by the reasons of journals
_GROUP_DELETED = "deleted"
_STRANGE_MS = 60_000  # a commit timestamp that is further from the record's was chosen by the client


class UnplayableGroup(FakebrokerError):
    """A group of a kind that scenarios cannot play."""


def window_of(tables: Mapping[str, Sequence[Row]], group_id: str, start_ms: int, end_ms: int) -> Window:
    """The window from `start_ms` to `end_ms` (time of day) of a group, from rows of the published tables.

    `tables` has the rows of this group (`events`: what was deleted, and of transactions) of one source up to the end of
    the window, or beyond; of the commits before the window the last of each partition suffices.
    Raises FakebrokerError for a group without any history until the end, or with that of several sources,
    UnplayableGroup for a share or streams group when the window begins, or in it, and for one that changes its type.
    """
    source = _source_of(tables, group_id)
    events = sorted(
        [*_events_of(tables, start_ms), *transaction_events(tables, start_ms)], key=lambda event: event.position
    )
    before, inside = _cut(events, start_ms, end_ms)
    if not before and not inside:
        raise FakebrokerError(f"there are no records of group {group_id} before the end of the window")
    offsets: dict[TopicPartition, Commit] = {}
    for event in before:
        apply(event, offsets)
    states = [event for event in before if isinstance(event, Settled)]
    shown = [*states[-1:], *(event for event in inside if isinstance(event, Settled))]
    for settled in shown:
        _check_playable(settled, group_id, source)
    _check_one_kind(shown, group_id)
    return Window(
        group_id,
        source,
        start_ms,
        end_ms,
        states[-1] if states else None,
        sorted(offsets.values(), key=lambda commit: commit.position),
        inside,
        _partitions(events),
        tuple(_retentions(tables.get("expiries", ()), [each for each in events if isinstance(each, Settled)])),
        sum(
            bool(row["transactional"]) and not is_played(row, start_ms)
            for row in tables.get("commits", ())
            if row["outcome"] == "committed"
        ),
        any(row["log_offset"] is not None for name in ("commits", "group_states") for row in tables.get(name, ())),
    )


def _check_playable(settled: Settled, group_id: str, source: str) -> None:
    """Scenarios of histories play classic and consumer groups, not those of KIP-932 and KIP-1071."""
    where = f"position {settled.position[0]} of {source}"
    if settled.group_type not in PLAYABLE:
        raise UnplayableGroup(
            f"{group_id} is a {settled.group_type} group at {where}:"
            " scenarios of histories support classic and consumer groups only"
        )
    if settled.group_type == CONSUMER and settled.state == "Stable" and not settled.members:
        raise UnplayableGroup(
            f"{group_id} is a consumer group at {where}, and these tables do not have its records: make them again"
        )


def _check_one_kind(states: Sequence[Settled], group_id: str) -> None:
    """A group that changes its kind does so by requests of members that no scenario has."""
    kinds = {each.group_type for each in states if each.state != "Dead"}
    if len(kinds) > 1:
        raise UnplayableGroup(
            f"{group_id} becomes a group of another type in this window: choose one before or after that"
        )


def _source_of(tables: Mapping[str, Sequence[Row]], group_id: str) -> str:
    named = ("commits", "group_states", "members", "assignments", "expiries")
    sources = sorted({row["source"] for name in named for row in tables.get(name, ())})
    if not sources:
        raise FakebrokerError(f"there is no group {group_id} in this history")
    if len(sources) > 1:
        raise FakebrokerError(f"group {group_id} is in several sources; choose one with --source: {', '.join(sources)}")
    return str(sources[0])


def _events_of(tables: Mapping[str, Sequence[Row]], start_ms: int) -> Iterator[Event]:
    for row in tables.get("commits", ()):
        if not is_played(row, start_ms):
            yield from _commits(row)
    yield from (_expiry(row) for row in tables.get("expiries", ()))
    lines = [row for row in tables.get("events", ()) if row["kind"] == "offset_deleted"]
    yield from (_deleted(row) for row in lines if row["reason"] in _DELETIONS)
    deleted_at = {row["began_at"] for row in tables.get("group_states", ()) if row["reason"] == _GROUP_DELETED}
    for settled in settled_of(tables):
        is_from_journal = tables["group_states"][0].get("log_offset") is None
        if settled.state == "Dead" and is_from_journal:
            settled = settled._replace(is_deletion=settled.at_ms in deleted_at)
        yield settled


def _commits(row: Row) -> Iterator[Commit | Gone]:
    """A commit that took effect, or a tombstone."""
    if row["outcome"] != "committed":
        return
    applied = row.get("applied_log_offset")
    position = (applied, row["log_offset"]) if row["transactional"] and applied is not None else position_of(row)
    at_ms = row["at"] if row["at"] is not None else row["committed_at"]
    if row["committed_offset"] is None:
        yield Gone(position, at_ms, row["topic"], row["partition"])
        return
    committed_ms = row["committed_at"]
    if committed_ms is not None and abs(committed_ms - at_ms) <= _STRANGE_MS and not row["transactional"]:
        at_ms = committed_ms
    if row["transactional"] and row["applied_at"] is not None:
        at_ms = row["applied_at"]
    yield Commit(
        position, at_ms, row["topic"], row["partition"], row["committed_offset"], row["metadata"] or "",
        row["expires_at"], row.get("member_id"),
    )  # fmt: skip


def _deleted(row: Row) -> Gone:
    """An offset that a line of a journal says was deleted; those of a deleted group go with it."""
    return Gone((row["seq"], row["part"]), row["wall_ms"], row["topic"], row["partition"], _DELETIONS[row["reason"]])


def _expiry(row: Row) -> Gone:
    return Gone((row["seq"], row["part"]), row["expired_at"], row["topic"], row["partition"], "expired")


def _cut(events: Sequence[Event], start_ms: int, end_ms: int) -> tuple[list[Event], list[Event]]:
    """What comes before the first event that is not before the window, and from there to the last one within it."""
    first = next((index for index, event in enumerate(events) if event.at_ms >= start_ms), len(events))
    within = [index for index, event in enumerate(events) if index >= first and event.at_ms <= end_ms]
    return list(events[:first]), list(events[first : within[-1] + 1]) if within else []


def _partitions(events: Iterable[Event]) -> dict[str, int]:
    """As many partitions of each topic as commits and assignments show."""
    found: dict[str, int] = {}
    for event in events:
        if isinstance(event, Settled):
            for member in event.members:
                for topic in member.topics or ():
                    found.setdefault(topic, 1)
                for topic, indexes in member.assignment.items():
                    found[topic] = max(found.get(topic, 1), *(index + 1 for index in indexes))
        elif not isinstance(event, Ended):
            topic, partition = event.commit.place if isinstance(event, Pending) else event.place
            found[topic] = max(found.get(topic, 1), partition + 1)
    return dict(sorted(found.items()))


def _retentions(expiries: Iterable[Row], states: Sequence[Settled]) -> Iterator[int]:
    """The retention in force, from what expired by it: each row knows from when it was due."""
    for row in expiries:
        if row["rule"] == _OWN_RETENTION:
            continue
        before = [each for each in states if each.position < (row["seq"], row["part"])]
        is_empty = bool(before) and before[-1].state == "Empty" and before[-1].protocol_type is not None
        base_ms = before[-1].since_ms if is_empty else row["committed_at"]
        if row["due_at"] - base_ms >= 60_000 and (row["due_at"] - base_ms) % 60_000 == 0:
            yield row["due_at"] - base_ms
