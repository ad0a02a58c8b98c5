"""How an answer is compared with the recorded one: which fields must be equal, which lists are in any order.

The recorded answer (`want`) contains references: "$name" is a value that an earlier answer of this run gave, "~" the
tag of this run, "now-5000" a time relative to the present. They are replaced before values are compared.
"""

import re
from typing import Any

from fakebroker.scenarios.comparison.fields import EXACT_IF_SAVED, LOOSE, are_loosely_alike, order_of
from fakebroker.scenarios.dialogue.names import Names

_GENERATED_ID = re.compile(r"(.*-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def differences(want: Any, got: Any, names: Names, wall_ms: int) -> list[str]:
    """The differences between an answer (`got`) and the recorded one (`want`): a line for each, with its path.

    Both are JSON data with Kafka's field names; `wall_ms` is the time that "now" in the recording stands for.
    """
    return list(_Comparison(names, wall_ms).compare("", "", want, got))


class _Comparison:
    def __init__(self, names: Names, wall_ms: int) -> None:
        self._names = names
        self._wall_ms = wall_ms

    def _fill(self, value: Any) -> Any:
        return self._names.fill(value, self._wall_ms)

    def compare(self, path: str, key: str, want: Any, got: Any) -> list[str]:
        is_reference = isinstance(want, str) and want.startswith("$")
        if isinstance(want, str):
            want = self._fill(want)
        # `key` is the field's name; elements of a list have none, so numbers in a list are always compared exactly.
        if key in LOOSE and not (is_reference and key in EXACT_IF_SAVED):
            return _compare_loosely(path, key, want, got)
        if isinstance(want, dict) and isinstance(got, dict):
            return self._compare_structs(path, want, got)
        if isinstance(want, list) and isinstance(got, list):
            return self._compare_lists(path, key, want, got)
        if want == got or (not is_reference and _are_generated_alike(want, got)):
            return []
        return [f"{path}: {_short(got)}, Kafka {_short(want)}"]

    def _compare_structs(self, path: str, want: dict[str, Any], got: dict[str, Any]) -> list[str]:
        lines = [f"{path}.{key}: missing, Kafka {_short(want[key])}" for key in want if key not in got]
        lines += [f"{path}.{key}: {_short(got[key])}, not there in Kafka" for key in got if key not in want]
        for key in want:
            if key in got:
                lines += self.compare(f"{path}.{key}", key, want[key], got[key])
        return lines

    def _compare_lists(self, path: str, key: str, want: list[Any], got: list[Any]) -> list[str]:
        if len(want) != len(got):
            return [f"{path}: {len(got)} entries {_short(got)}, Kafka {len(want)} {_short(self._fill(want))}"]
        order = order_of(key, want + got)
        if order is not None:
            # Sorted by the filled-in values, yet kept with their references: whether a value is a reference decides
            # how it is compared.
            want = sorted(want, key=lambda entry: order(self._fill(entry)))
            got = sorted(got, key=order)
        lines: list[str] = []
        for index, (wanted, gotten) in enumerate(zip(want, got, strict=True)):
            lines += self.compare(f"{path}[{index}]", "", wanted, gotten)
        return lines


def _are_generated_alike(want: Any, got: Any) -> bool:
    """Whether both are ids made of the same prefix and a random UUID, as member ids are.

    Called for ids that the recording does not refer to by name.
    """
    ids = [isinstance(value, str) and _GENERATED_ID.fullmatch(value) for value in (want, got)]
    return all(ids) and len({match[1] for match in ids if match}) == 1


def _compare_loosely(path: str, key: str, want: Any, got: Any) -> list[str]:
    if are_loosely_alike(key, want, got):
        return []
    if type(want) is int and type(got) is int:
        return [f"{path}: {got}, Kafka {want}"]
    return [f"{path}: of type {type(got).__name__}, Kafka {type(want).__name__}"]


def _short(value: Any, limit: int = 160) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "..."
