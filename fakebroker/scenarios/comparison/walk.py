"""Two values of JSON side by side: where they differ. The walk of every comparison of answers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fakebroker.scenarios.comparison import fields
from fakebroker.scenarios.comparison.topic_scopes import Json, Where

InPairs = tuple[list[tuple[Json, Json]], list[Json], list[Json]]  # both, only recorded, only ours

_NAMES = ("Name", "ApiKey", "Topic", "TopicName", "GroupId", "PartitionIndex", "Partition", "Index", "MemberId")


class Difference(NamedTuple):
    """One place where our answer is not the recorded one: the field's path, both values as text."""

    path: str
    ours: str
    recorded: str

    def text(self, other: str) -> str:
        """The difference in words; `other` is what has the other value: "recorded", "Kafka"."""
        return f"{self.path}: {self.ours}, {other} {self.recorded}"

    def __str__(self) -> str:
        return self.text("recorded")


class Walk:
    """Walks through two values. Plain values are alike if they are equal, and lists have an order.

    Comparisons override what is alike (`is_alike`, `compare`), and which entries of lists belong together (`in_pairs`).
    `key` is the name of the field, also of the entries of its list, and `where` what `inside` gave for the struct.
    """

    def compare(self, path: str, key: str, recorded: Json, ours: Json, where: Where = ()) -> list[Difference]:
        """Every difference between two values of the field at `path`."""
        if isinstance(recorded, dict) and isinstance(ours, dict):
            return self._structs(path, recorded, ours, self.inside(recorded, where))
        if isinstance(recorded, list) and isinstance(ours, list):
            return self.lists(path, key, recorded, ours, where)
        return difference_unless(path, recorded, ours, self.is_alike(key, recorded, ours, where))

    def is_alike(self, key: str, recorded: Json, ours: Json, where: Where) -> bool:  # noqa: ARG002 - for subclasses
        """Whether two plain values of a field mean the same."""
        return bool(recorded == ours)

    def inside(self, recorded: dict[str, Json], where: Where) -> Where:  # noqa: ARG002 - for subclasses
        """What the fields of a struct speak of."""
        return where

    def in_pairs(self, key: str, recorded: list[Json], ours: list[Json], where: Where) -> InPairs:  # noqa: ARG002
        """Which entries of two lists belong together, and those that stand alone."""
        return in_order(recorded, ours)

    def lists(self, path: str, key: str, recorded: list[Json], ours: list[Json], where: Where) -> list[Difference]:
        """Every difference between two lists, entry by entry."""
        both, only_recorded, only_ours = self.in_pairs(key, recorded, ours, where)
        found = [Difference(f"{path}[{name_of(each)}]", "missing", short(each)) for each in only_recorded]
        found += [Difference(f"{path}[{name_of(each)}]", short(each), "not there") for each in only_ours]
        for index, (want, got) in enumerate(both):
            found += self.compare(f"{path}[{name_of(want, index)}]", key, want, got, where)
        return found

    def _structs(self, path: str, recorded: Json, ours: Json, where: Where) -> list[Difference]:
        found = [Difference(f"{path}.{key}", "missing", short(recorded[key])) for key in recorded if key not in ours]
        found += [Difference(f"{path}.{key}", short(ours[key]), "not there") for key in ours if key not in recorded]
        for key in recorded:
            if key in ours:
                found += self.compare(f"{path}.{key}", key, recorded[key], ours[key], where)
        return found


def difference_unless(path: str, recorded: Json, ours: Json, is_alike: bool) -> list[Difference]:
    """The difference between two values, unless they are alike."""
    return [] if is_alike else [Difference(path, short(ours), short(recorded))]


def in_order(recorded: list[Json], ours: list[Json]) -> InPairs:
    """The first with the first, and so on; the rest stands alone."""
    count = min(len(recorded), len(ours))
    return list(zip(recorded, ours, strict=False)), recorded[count:], ours[count:]


def sorted_both(
    key: str, recorded: Sequence[Json], ours: Sequence[Json], filled: Any = lambda entry: entry
) -> tuple[list[Json], list[Json]]:
    """Two lists in one order, if their order says nothing; `filled` gives what a recorded entry is sorted by."""
    order = fields.order_of(key, [*recorded, *ours])
    if order is None:
        return list(recorded), list(ours)
    return sorted(recorded, key=lambda entry: order(filled(entry))), sorted(ours, key=order)


def name_of(entry: Json, index: int | None = None) -> str:
    """How a path names an entry of a list: by its name or number, or its place."""
    if isinstance(entry, dict):
        for name in _NAMES:
            if name in entry and entry[name] != "":
                return str(entry[name])
    return "" if index is None else str(index)


def short(value: Json, limit: int = 160) -> str:
    """A value as text, not too long."""
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "..."
