"""Whether an answer is the one that Kafka gave in a dialogue.

The recorded answer contains references: "$name" is a value that an earlier answer of this run gave, "~" the tag of this
run, "now-5000" a time relative to the present. They are replaced before values are compared.
"""

import re
from typing import Any

from fakebroker.scenarios.comparison import fields
from fakebroker.scenarios.comparison.names import Names
from fakebroker.scenarios.comparison.topic_scopes import Json, Where
from fakebroker.scenarios.comparison.walk import (
    Difference,
    InPairs,
    Walk,
    difference_unless,
    in_order,
    short,
    sorted_both,
)

_GENERATED_ID = re.compile(r"(.*-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def differences(recorded: Any, ours: Any, names: Names, wall_ms: int) -> list[Difference]:
    """The differences between our answer and the recorded one, which may have references.

    Both are JSON data with Kafka's field names; `wall_ms` is the time that "now" in the recording stands for.
    """
    return _Comparison(names, wall_ms).compare("", "", recorded, ours)


class _Comparison(Walk):
    """Values are equal, but for those that no broker can predict; what refers to a saved value is that value."""

    def __init__(self, names: Names, wall_ms: int) -> None:
        self._names = names
        self._wall_ms = wall_ms

    def compare(self, path: str, key: str, recorded: Json, ours: Json, where: Where = ()) -> list[Difference]:
        is_reference = isinstance(recorded, str) and recorded.startswith("$")
        if isinstance(recorded, str):
            recorded = self._fill(recorded)
        if key in fields.LOOSE and not (is_reference and key in fields.EXACT_IF_SAVED):
            return difference_unless(path, recorded, ours, fields.are_loosely_alike(key, recorded, ours))
        if not is_reference and _are_generated_alike(recorded, ours):
            return []
        return super().compare(path, key, recorded, ours, where)

    def lists(self, path: str, key: str, recorded: list[Json], ours: list[Json], where: Where) -> list[Difference]:
        """As one difference if the lists have not the same length."""
        if len(recorded) != len(ours):
            counts = (f"{len(each)} entries {short(each)}" for each in (ours, self._fill(recorded)))
            return [Difference(path, *counts)]
        return super().lists(path, key, recorded, ours, where)

    def in_pairs(self, key: str, recorded: list[Json], ours: list[Json], where: Where) -> InPairs:  # noqa: ARG002
        """Sorted by the values that references stand for; the references stay, because they decide what is exact."""
        return in_order(*sorted_both(key, recorded, ours, self._fill))

    def _fill(self, value: Json) -> Json:
        return self._names.fill(value, self._wall_ms)


def _are_generated_alike(recorded: Json, ours: Json) -> bool:
    """Whether both are ids made of the same prefix and a random UUID, as member ids are.

    Called for ids that the recording does not refer to by name.
    """
    ids = [isinstance(value, str) and _GENERATED_ID.fullmatch(value) for value in (recorded, ours)]
    return all(ids) and len({match[1] for match in ids if match}) == 1
