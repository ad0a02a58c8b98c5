"""Whether an answer of ours means what a recorded one means, and what a recorded request is in our run.

Two runs of one story differ in ids, epochs, times and addresses. `Matching` learns from each pair of answers which of
our ids stands for which recorded one; whatever contradicts what was learned is a difference.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fakebroker.protocol.records.record_content import ReadRecord, bytes_of, records_of
from fakebroker.scenarios.comparison import fields
from fakebroker.scenarios.comparison.pairs import Pairs
from fakebroker.scenarios.comparison.topic_scopes import Json, TopicScopes, Where
from fakebroker.scenarios.comparison.walk import (
    Difference,
    InPairs,
    Walk,
    difference_unless,
    in_order,
    sorted_both,
)

TOLERANCE_MS = 5_000  # how far a time of day may be from the recorded one
MAX_TRIED = 64  # members that look alike: each is tried against each
_BY = (
    "TopicId",
    "Topic",
    "TopicName",
    "GroupId",
    "NodeId",
    "BrokerId",
    "ApiKey",
    "Name",
)  # identify entries where the usual fields are missing


class Around(NamedTuple):
    """What surrounds an answer: the recorded request, and the times of day at which the two were given."""

    request: Json
    recorded_ms: int
    our_ms: int


class Matching:
    """The growing correspondence between a recorded run (or its part so far) and ours."""

    def __init__(self) -> None:
        self.pairs = Pairs()
        self._scopes = TopicScopes()

    def differences(self, recorded: Json, ours: Json, around: Around) -> list[Difference]:
        """What differs by meaning between two answers, as JSON data. Learns from what does not."""
        return _Comparison(self.pairs, self._scopes, around).compare("", "", recorded, ours)

    def same(self, recorded: Json, ours: Json, around: Around) -> bool:
        """Whether two answers mean the same; learns only if they do."""
        mark = self.pairs.mark()
        if self.differences(recorded, ours, around):
            self.pairs.undo(mark)
            return False
        self.pairs.keep()
        return True

    def translated(self, request: Json) -> Json:
        """A recorded request as our run has to send it: our ids, epochs and generations in place of the recorded."""
        return self._translated("", request, (), _group_of(request))

    def _translated(self, key: str, value: Json, where: tuple[Json, ...], group: Json) -> Json:
        if isinstance(value, dict):
            inside = self._scopes.inside(value, where)
            group = value.get("GroupId", group)
            return {name: self._translated(name, each, inside, group) for name, each in value.items()}
        if isinstance(value, list):
            return [self._translated(key, each, where, group) for each in value]
        if value is None or isinstance(value, bool):
            return value
        return self._our_value(key, value, where, group)

    def _our_value(self, key: str, value: Json, where: tuple[Json, ...], group: Json) -> Json:
        kind = fields.thing_kind(key)
        if kind is not None:
            ours = self.pairs.ours(kind, value)
            return value if ours is None else ours
        if type(value) is int and value >= 0:
            if fields.entity_of(key) == "leaderEpoch":
                return self.pairs.our_count(("partition", *where), value)
            if fields.entity_of(key) == "generationId" and value > 0:
                return self.pairs.our_count(("group", group), value)
        return value


class _Comparison(Walk):
    """The comparison of one answer."""

    def __init__(self, pairs: Pairs, scopes: TopicScopes, around: Around) -> None:
        self._pairs = pairs
        self._scopes = scopes
        self._around = around
        self._group = _group_of(around.request)

    def compare(self, path: str, key: str, recorded: Json, ours: Json, where: Where = ()) -> list[Difference]:
        if recorded is None or ours is None:
            return difference_unless(path, recorded, ours, recorded is ours or key in fields.LOOSE)
        if key == "Records":
            return self._records(path, recorded, ours)
        return super().compare(path, key, recorded, ours, where)

    def inside(self, recorded: dict[str, Json], where: Where) -> Where:
        """The topic and partition that a struct speaks of."""
        return self._scopes.inside(recorded, where)

    def is_alike(self, key: str, recorded: Json, ours: Json, where: Where) -> bool:
        """Whether two plain values of a field mean the same: ids and counters by what they stand for."""
        if type(recorded) is not type(ours):
            return False
        kind = None if key == "ControllerId" else fields.thing_kind(key)
        if kind is not None:
            return self._is_same_thing(kind, recorded, ours)
        if type(recorded) is int:
            entity = fields.entity_of(key)
            if entity == "leaderEpoch":
                return self._counts_alike(("partition", *where), recorded, ours)
            if entity == "generationId":
                return self._counts_alike(("group", self._group), recorded or -1, ours or -1)
            if entity == "timestamp":
                return self._is_same_time(recorded, ours)
        return fields.are_loosely_alike(key, recorded, ours) if key in fields.LOOSE else bool(recorded == ours)

    def _is_same_thing(self, kind: str, recorded: Json, ours: Json) -> bool:
        none = {-1} if kind in ("producer", "node") else fields.NO_ID
        if recorded in none or ours in none:
            return bool(recorded == ours)
        return self._pairs.pair(kind, recorded, ours)

    def _counts_alike(self, counter: tuple[Json, ...], recorded: int, ours: int) -> bool:
        return recorded == ours if recorded < 0 or ours < 0 else self._pairs.count(counter, recorded, ours)

    def _is_same_time(self, recorded: int, ours: int) -> bool:
        """Equal, or equally long before or after the answer that tells it."""
        if recorded == ours or recorded < 0 or ours < 0:
            return recorded == ours
        apart_ms = (recorded - self._around.recorded_ms) - (ours - self._around.our_ms)
        return abs(apart_ms) <= TOLERANCE_MS

    def in_pairs(self, key: str, recorded: list[Json], ours: list[Json], where: Where) -> InPairs:
        """Entries with the same identity belong together, whatever ids it is made of."""
        names = _identity(key, recorded + ours)
        if names is None:
            return in_order(*self._sorted(key, recorded, ours))
        waiting: dict[tuple[Json, ...], list[Json]] = {}
        for each in ours:
            waiting.setdefault(tuple(each[name] for name in names), []).append(each)
        both, unknown = [], []
        for each in recorded:
            same = waiting.get(tuple(self._ours_of(name, each[name]) for name in names))
            if same:
                both.append((each, same.pop(0)))
            else:
                unknown.append(each)
        left = [each for group in waiting.values() for each in group]
        if any(map(fields.thing_kind, names)):
            return self._tried(both, unknown, left, key, where)
        return both, unknown, left

    def _tried(
        self,
        both: list[tuple[Json, Json]],
        unknown: list[Json],
        left: list[Json],
        key: str,
        where: Where,
    ) -> InPairs:
        """Pair entries whose ids were not seen before: with the first that is alike in everything, else in order."""
        alone = []
        for each in unknown:
            found = next((other for other in left[:MAX_TRIED] if self._would_match(key, each, other, where)), None)
            if found is None:
                alone.append(each)
            else:
                left.remove(found)
                self.compare("", key, each, found, where)  # the next one must not take the same id
                both.append((each, found))
        in_turn, alone, left = in_order(alone, left)
        return both + in_turn, alone, left

    def _would_match(self, key: str, recorded: Json, ours: Json, where: tuple[Json, ...]) -> bool:
        mark = self._pairs.mark()
        try:
            return not self.compare("", key, recorded, ours, where)
        finally:
            self._pairs.undo(mark)

    def _ours_of(self, name: str, value: Json) -> Json:
        kind = fields.thing_kind(name)
        return value if kind is None or value in fields.NO_ID else self._pairs.ours(kind, value)

    def _sorted(self, key: str, recorded: list[Json], ours: list[Json]) -> tuple[list[Json], list[Json]]:
        if key in ("IsrNodes", "OfflineReplicas", "EligibleLeaderReplicas"):
            return sorted(recorded, key=lambda node: self._pairs.ours("node", node) or node), sorted(ours)
        return sorted_both(key, recorded, ours)

    def _records(self, path: str, recorded: Json, ours: Json) -> list[Difference]:
        theirs, mine = records_of(bytes_of(recorded) or b""), records_of(bytes_of(ours) or b"")
        if [content_of(one) for one in theirs] == [content_of(one) for one in mine]:
            return []
        return [Difference(path, shown_records(mine), shown_records(theirs))]


def content_of(record: ReadRecord) -> tuple[Json, ...]:
    """What must be equal of two records: what a consumer sees of them, but for a time that the broker gave."""
    time_ms = 0 if record.is_append_time or record.is_control else record.timestamp_ms
    return (
        record.offset,
        time_ms,
        record.key,
        record.value,
        record.headers,
        record.is_transactional,
        record.is_control,
    )


def _identity(key: str, entries: Sequence[Json]) -> tuple[str, ...] | None:
    """The fields that identify the entries of a list in any order; None for other lists."""
    if not entries or not all(isinstance(entry, dict) for entry in entries):
        return None
    usual = fields.UNORDERED.get(key)
    for names in (usual, *((name,) for name in _BY)):
        if names and all(name in entry for entry in entries for name in names):
            return names
    return None


def _group_of(request: Json) -> Json:
    return request.get("GroupId") if isinstance(request, dict) else None


def shown_records(records: Sequence[ReadRecord]) -> str:
    """Records in few words: their offsets and values."""
    if not records:
        return "no records"
    listed = ", ".join(f"{record.offset} {record.value!r:.40}" for record in records[:4])
    return f"{len(records)} records ({listed}{', ...' if len(records) > 4 else ''})"
