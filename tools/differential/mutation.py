"""Requests that are wrong in one place: a field has an odd value, or an entry of a list comes twice or not at all."""

from copy import deepcopy
from typing import Any

Json = Any

_NUMBERS = (-1, 0, 1, 32_767, -2)
# Waits and names that histories share: the brokers would be asked in different orders.
_KEPT = frozenset({"MaxWaitMs", "TimeoutMs", "timeoutMs"})
_NAMES = frozenset({"GroupId", "GroupIds", "Groups", "GroupsNames", "CoordinatorKeys", "Key", "TransactionalId"})


def mutated(request: dict[str, Json], number: int) -> dict[str, Json]:
    """A copy with one thing changed; `number` says where and how."""
    copy = deepcopy(request)
    places = list(_places(copy))
    if not places:
        return copy
    holder, key, field = places[number % len(places)]
    holder[key] = _odd(holder[key], number // len(places), field in _NAMES)
    return copy


def _places(value: Json, field: str = "") -> list[tuple[Any, Any, str]]:
    """Every field and entry that can be changed: what holds it, its key there, and the name of the field."""
    found: list[tuple[Any, Any, str]] = []
    if isinstance(value, dict):
        if "hex" in value or "batch" in value or "batches" in value:
            return []
        found = [(value, key, key) for key, each in value.items() if key not in _KEPT and _can_change(each)]
        return [*found, *(place for key, each in value.items() for place in _places(each, key))]
    if isinstance(value, list):
        found = [(value, index, field) for index, each in enumerate(value) if isinstance(each, (str, int))]
        return [*found, *(place for each in value for place in _places(each, field))]
    return []


def _can_change(value: Json) -> bool:
    return isinstance(value, (int, str, list)) and not isinstance(value, bool)


def _odd(value: Json, number: int, is_name: bool) -> Json:
    if isinstance(value, int):
        return _NUMBERS[number % len(_NUMBERS)]
    if isinstance(value, str):
        return [f"{value}{'x' * 300}", f"{value}\u00e9\u4e2d", value if is_name else "", f"{value} "][number % 4]
    return [[*value, *value[:1]], [], value[:1]][number % 3]
