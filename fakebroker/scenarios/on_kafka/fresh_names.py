"""The topics, groups and transactional ids of a scenario under names of their own, for a broker that others use, too.

A Kafka keeps groups and topics from one play to the next, and several scenarios that are played on it at the same time
all call their group "billing". `with_fresh_names` adds a suffix to these names wherever the scenario says them;
`without_suffix` takes it off again in what is shown to people.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

from fakebroker.protocol.errors import MAX_TOPIC_CHARS
from fakebroker.protocol.schema.types import Entity
from fakebroker.scenarios.comparison.fields import names_of_fields
from fakebroker.scenarios.playing.matching import is_matcher
from fakebroker.scenarios.script import Scenario, Step

Json = Any

INTERNAL = "__"  # how the names of Kafka's own topics begin
_NAMES: tuple[Entity, ...] = ("groupId", "topicName", "transactionalId", "coordinatorKey")
_STEPS = frozenset({"group", "groups", "topic", "topics"})  # what steps call them
# Inside the entries of such a list, the field that is the name.
_NAMES_OF_ENTRIES = ("name", "topic", "topic_name", "group_id", "transactional_id")
# What may be spelt like a topic or a group and is neither.
_OTHER = frozenset(
    {
        "client_id",
        "committed_metadata",
        "config",
        "configs",
        "error",
        "group_instance_id",
        "key",
        "member_id",
        "metadata",
        "protocol",
        "protocol_name",
        "protocol_type",
        "protocols",
        "reason",
        "records",
        "state",
        "value",
        "values",
    }
)
# What is expected of these is named by the scenario alone.
_NOT_OF_BROKER = frozenset({"actor", "fault", "hold", "snapshot"})
_PARTITION = re.compile(r"(.+)-(\d+)")


def with_fresh_names(scenario: Scenario, suffix: str) -> Scenario:
    """The scenario with `suffix` at the end of every topic, group and transactional id.

    A topic whose name would become too long keeps it, because its length may be what the story is about.
    """
    names = sorted(set(scenario.topics).union(_names_in(scenario.timeline)))
    renaming = {name: name + suffix for name in names if _can_be_longer(name, suffix)}
    renamer = _Renamer(renaming, frozenset(scenario.actors))
    topics = {renaming.get(name, name): arguments for name, arguments in scenario.topics.items()}
    return replace(scenario, topics=topics, timeline=[renamer.step(step) for step in scenario.timeline])


def without_suffix(text: str, suffix: str) -> str:
    """A text for people: the names as the scenario has them."""
    return text.replace(suffix, "")


def _can_be_longer(name: str, suffix: str) -> bool:
    is_other = name.startswith(("$", INTERNAL))  # what a step has saved, or a topic of Kafka's own
    return name != "" and not is_other and len(name) + len(suffix) <= MAX_TOPIC_CHARS


class _Renamer:
    """Puts new names into steps; keys that are actors stay, as in the assignments that a leader sends."""

    def __init__(self, names: Mapping[str, str], actors: frozenset[str]) -> None:
        self._names = names
        self._actors = actors

    def step(self, step: Step) -> Step:
        """A copy of a step. Its text stays as it was written."""
        changes: dict[str, Any] = {}
        for each in fields(step):
            value = getattr(step, each.name)
            if each.name == "steps":
                changes[each.name] = [self.step(inner) for inner in value]
            elif each.name == "identity" and getattr(step, "subject", "") not in _NOT_OF_BROKER:
                changes[each.name] = {key: self.value(inner) for key, inner in value.items()}
            elif each.name in ("arguments", "expected"):
                changes[each.name] = self.value(value)
        return replace(step, **changes)

    def value(self, value: Json) -> Json:
        """A copy of data."""
        if isinstance(value, str):
            return self._name(value)
        if isinstance(value, Mapping):
            return {
                self._key(key): inner if self._is_other(key, value) else self.value(inner)
                for key, inner in value.items()
            }
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return value._make(map(self.value, value))
        if isinstance(value, list | tuple):
            return type(value)(self.value(each) for each in value)
        return value

    def _key(self, key: Json) -> Json:
        if isinstance(key, tuple):
            return self.value(key)
        return self._name(key) if isinstance(key, str) and key not in self._actors else key

    def _name(self, text: str) -> str:
        if text in self._names:
            return self._names[text]
        found = _PARTITION.fullmatch(text)
        return f"{self._names[found[1]]}-{found[2]}" if found and found[1] in self._names else text

    def _is_other(self, key: Json, around: Mapping[Json, Json]) -> bool:
        """Whether the value under `key` names something else. FindCoordinator's key is a group, a record's is not."""
        return key in _OTHER and key not in self._names and not (key == "key" and "value" not in around)


@cache
def _naming() -> frozenset[str]:
    """Where names stand in steps and in requests: a text, a list of texts or of structs, keys of a mapping.

    Not "name" and "key", which name other things in other places.
    """
    return _STEPS | {name for name in names_of_fields(*_NAMES) if name not in ("name", "key")}


def _names_in(data: Any) -> Iterator[str]:
    """The names of topics, groups and transactions in steps and their arguments, whatever order."""
    if is_dataclass(data) and not isinstance(data, type):
        for each in fields(data):
            value = getattr(data, each.name)
            if each.name == "identity" and isinstance(value, Mapping):
                names = ("name", *_naming()) if getattr(data, "subject", "") not in _NOT_OF_BROKER else ()
                yield from (text for key, text in value.items() if key in names and isinstance(text, str))
            else:
                yield from _names_in(value)
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _named(value) if key in _naming() else _names_in(value)
    elif isinstance(data, list | tuple):
        for each in data:
            yield from _names_in(each)


def _named(value: Json) -> Iterator[str]:
    """The names in the value of a field that names things."""
    if isinstance(value, str):
        yield value
    elif is_matcher(value):
        yield from _named(list(value.values()))
    elif isinstance(value, Mapping):
        yield from (key for key in value if isinstance(key, str))
    elif isinstance(value, list | tuple):
        for each in value:
            if isinstance(each, Mapping) and not is_matcher(each):
                yield from (each[name] for name in _NAMES_OF_ENTRIES if isinstance(each.get(name), str))
            else:
                yield from _named(each)
