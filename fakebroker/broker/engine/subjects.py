"""What a message is about: its groups, its topics and partitions, and its errors where they stand.

Found by the names that Kafka gives to fields, so that a new API needs nothing here. Topics that are named by id get
their name from the function that the caller has for it.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fakebroker.protocol.errors import error_name
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.schema.types import ZERO_UUID, ArrayOf

ERROR_CODES = ("error_code", "partition_error_code")
"""The fields with error codes; the latter in AddPartitionsToTxn."""

TopicName = Callable[[bytes], str | None]

_GROUP_LISTS = ("groups", "groups_names", "group_ids")
_NAMES = ("name", "topic", "topic_name")
_INDEXES = ("partition_index", "partition", "index")
_GROUP_KEY, _TOPIC_RESOURCE, _GROUP_RESOURCE = 0, 2, 32


class FoundError(NamedTuple):
    """An error code of an answer; `topic` and `partition` say where it stood, if it stood at one."""

    code: int
    topic: str | None = None
    partition: int | None = None

    @property
    def name(self) -> str:
        """Kafka's name of the error, its number if there is no such error."""
        return error_name(self.code)


def no_name(_topic_id: bytes) -> str | None:
    """For callers that do not know which topics have which id."""
    return None


def groups_of(request: Message) -> tuple[str, ...]:
    """The ids of the groups that a request names, in its order."""
    found: list[str] = []
    if getattr(request, "group_id", ""):
        found.append(request.group_id)  # type: ignore[attr-defined]
    for name in _GROUP_LISTS:
        found += [each if isinstance(each, str) else each.group_id for each in getattr(request, name, None) or ()]
    if getattr(request, "key_type", None) == _GROUP_KEY:  # FindCoordinator
        found += [key for key in (request.key, *request.coordinator_keys) if key]  # type: ignore[attr-defined]
    found += _resources(request, _GROUP_RESOURCE)
    return tuple(dict.fromkeys(found))


def topics_of(message: Message, topic_name: TopicName = no_name) -> dict[str, list[int]]:
    """The topics that a message names, each with the partitions that it names of it."""
    found: dict[str, list[int]] = {name: [] for name in _resources(message, _TOPIC_RESOURCE)}
    for group in getattr(message, "groups", None) or ():  # OffsetFetch of several groups
        if not isinstance(group, str):
            _collect_topics(group, topic_name, found)
    _collect_topics(message, topic_name, found)
    return found


def _collect_topics(message: Any, topic_name: TopicName, found: dict[str, list[int]]) -> None:
    for spec in message.fields:
        if not isinstance(spec.type, ArrayOf) or not ("topic" in spec.name or spec.name == "responses"):
            continue
        for entry in getattr(message, spec.name) or ():
            name = entry if isinstance(entry, str) else _topic_of(entry, topic_name)
            if name is not None:
                partitions = found.setdefault(name, [])
                if not isinstance(entry, str):
                    partitions += (p for p in _partitions_of(entry) if p not in partitions)


def errors_of(answer: Message, topic_name: TopicName = no_name) -> Iterator[FoundError]:
    """Every error code other than 0, in the order of the fields, with the topic and partition it stands at."""
    return _errors_in(answer.fields, _values(answer), None, topic_name)


def _errors_in(specs: Any, values: Any, topic: str | None, topic_name: TopicName) -> Iterator[FoundError]:
    by_name = {spec.name: value for spec, value in zip(specs, values, strict=True)}
    topic = _named_topic(by_name, topic_name) or topic
    partition = next((by_name[name] for name in _INDEXES if name in by_name), None)
    for spec, value in zip(specs, values, strict=True):
        if spec.name in ERROR_CODES:
            if value:
                yield FoundError(value, topic, partition)
        elif isinstance(spec.type, ArrayOf) and value and hasattr(spec.type.element, "fields"):
            element: Any = spec.type.element
            for entry in value:
                inner = entry if isinstance(entry, tuple) else _values(entry)
                yield from _errors_in(element.fields, inner, topic, topic_name)


def _values(struct: Any) -> list[Any]:
    return [getattr(struct, spec.name) for spec in struct.fields]


def _topic_of(entry: Any, topic_name: TopicName) -> str | None:
    return _named_topic({spec.name: getattr(entry, spec.name) for spec in entry.fields}, topic_name)


def _named_topic(by_name: dict[str, Any], topic_name: TopicName) -> str | None:
    """The name of the topic that a structure with these fields is about, None if it is about none."""
    for name in _NAMES:
        if isinstance(by_name.get(name), str) and by_name[name]:
            return str(by_name[name])
    topic_id = by_name.get("topic_id", ZERO_UUID)
    return None if topic_id == ZERO_UUID else topic_name(topic_id) or uuid_to_text(topic_id)


def _partitions_of(entry: Any) -> Iterator[int]:
    """The partition numbers in the lists of a topic's structure."""
    for spec in entry.fields:
        if not isinstance(spec.type, ArrayOf) or "partition" not in spec.name:
            continue
        element: Any = spec.type.element
        place = _index_place(element.fields) if hasattr(element, "fields") else -1
        for each in getattr(entry, spec.name) or ():
            if isinstance(each, int):
                yield each
            elif place >= 0:
                yield each[place] if isinstance(each, tuple) else getattr(each, element.fields[place].name)


def _index_place(specs: Any) -> int:
    return next((place for place, spec in enumerate(specs) if spec.name in _INDEXES), -1)


def _resources(message: Message, kind: int) -> list[str]:
    """The names of the resources of one kind in DescribeConfigs, AlterConfigs and the like."""
    resources = getattr(message, "resources", None) or ()
    return [r.resource_name for r in resources if getattr(r, "resource_type", None) == kind]
