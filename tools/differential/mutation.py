"""Requests that are wrong in one place: a field has an odd value, or an entry of a list comes twice or not at all."""

from copy import deepcopy
from typing import Any

Json = Any

_NUMBERS = (-1, 0, 1, 32_767, -2)
_TEXTS = ("", "x" * 300, "\u00e9\u4e2d", "..")


def mutated(request: dict[str, Json], number: int) -> dict[str, Json]:
    """A copy with one thing changed; `number` says where and how."""
    copy = deepcopy(request)
    places = list(_places(copy))
    if not places:
        return copy
    holder, key = places[number % len(places)]
    holder[key] = _odd(holder[key], number // len(places))
    return copy


def _places(value: Json) -> list[tuple[Any, Any]]:
    """Every field and entry that can be changed: what holds it, and its key there."""
    if isinstance(value, dict):
        if "hex" in value or "batch" in value:
            return []
        found = [(value, key) for key, each in value.items() if not isinstance(each, (dict, type(None), bool))]
        return [*found, *(place for each in value.values() for place in _places(each))]
    return [place for each in value for place in _places(each)] if isinstance(value, list) else []


def _odd(value: Json, number: int) -> Json:
    if isinstance(value, int):
        return _NUMBERS[number % len(_NUMBERS)]
    if isinstance(value, str):
        return _TEXTS[number % len(_TEXTS)]
    return [[*value, *value[:1]], [], value[:1]][number % 3] if isinstance(value, list) else value
