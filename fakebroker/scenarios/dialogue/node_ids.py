"""The id of a single broker: recorded ones had 1, and another broker may have any.

Only ids that say where something is are replaced; an id that no broker has stays what it is.
"""

from collections.abc import Mapping
from typing import Any

from fakebroker.scenarios.comparison import fields

RECORDED = 1
_BROKER, _LOGGER = 4, 8  # resource types whose names are ids of brokers


def filled(request: Any, node_id: int) -> Any:
    """A request with the id of this broker in place of the recorded one."""
    return request if node_id == RECORDED else _replaced(request, RECORDED, node_id)


def blanked(answer: Any, node_id: int) -> Any:
    """An answer with the recorded id in place of that of this broker."""
    return answer if node_id == RECORDED else _replaced(answer, node_id, RECORDED)


def _replaced(value: Any, before: int, after: int) -> Any:
    if isinstance(value, list):
        return [_replaced(each, before, after) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: _of_field(name, inner, before, after) for name, inner in value.items()}
    if _names_a_broker(value) and value.get("ResourceName") == str(before):
        found["ResourceName"] = str(after)
    return found


def _of_field(name: str, value: Any, before: int, after: int) -> Any:
    if fields.entity_of(name) != "brokerId":
        return _replaced(value, before, after)
    if isinstance(value, list):
        return [after if each == before else each for each in value]
    return after if value == before else value


def _names_a_broker(value: Mapping[str, Any]) -> bool:
    return value.get("ResourceType") in (_BROKER, _LOGGER)
