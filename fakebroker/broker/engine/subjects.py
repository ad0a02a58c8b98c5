"""What a message is about: its groups, its topics and partitions, and its errors where they stand.

Found by what the declarations say of fields, so that a new API needs nothing here. Topics that are named by id get
their name from the function that the caller has for it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fakebroker.protocol.errors import error_name
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.entities import (
    Entry,
    Value,
    entries_in,
    field_of,
    fields_of,
    inner_of,
    texts_of,
    value_in,
    values_in,
    values_of,
)
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import ZERO_UUID

TopicName = Callable[[bytes], str | None]

FORGOTTEN = "forgotten_topics_data"  # what a fetch session drops: the request does not ask about it
GROUP_KEY = 0  # of FindCoordinator's key types
TOPIC_RESOURCE, GROUP_RESOURCE = 2, 32  # that have settings


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
    return tuple(dict.fromkeys(groups_in(request)))


def groups_in(request: Message) -> Iterator[str]:
    """The same one by one, as often as the request names them."""
    yield from texts_of(request, "groupId")
    if GROUP_KEY in values_of(request, "coordinatorKeyType"):
        yield from filter(None, texts_of(request, "coordinatorKey"))
    yield from _resources(request, GROUP_RESOURCE)


def topics_of(message: Message, topic_name: TopicName = no_name) -> dict[str, list[int]]:
    """The topics that a message names, each with the partitions that it names of it."""
    found = dict[str, dict[int, None]]()  # of each the partitions in their order, which may be many, and come twice
    for name, partitions in _topics_in(message, topic_name):
        found.setdefault(name, {}).update(dict.fromkeys(partitions))
    return {name: list(partitions) for name, partitions in found.items()}


def topic_names_in(message: Message, topic_name: TopicName = no_name) -> Iterator[str]:
    """The names of the topics one by one, as often as the message names them."""
    return (name for name, _ in _topics_in(message, topic_name))


def _topics_in(message: Message, topic_name: TopicName) -> Iterator[tuple[str, Iterable[int]]]:
    for name in _resources(message, TOPIC_RESOURCE):
        yield name, ()
    yield from _topics_at(type(message), message, topic_name)


def _topics_at(
    declaration: type[Declaration], entry: Entry, topic_name: TopicName
) -> Iterator[tuple[str, Iterable[int]]]:
    if field_of(declaration, "topicName", "topicId") is not None:
        name = topic_in(declaration, entry, topic_name)
        if name is not None:
            yield name, _numbers(values_in(declaration, entry, "partitionIndex"))
        return
    for spec in declaration.fields:
        inner = inner_of(spec)
        if inner is None and spec.entity == "topicName":
            for named in value_in(declaration, entry, spec) or ():
                yield named, ()
        elif inner is not None and (fields_of(inner, "topicName") or fields_of(inner, "topicId")):
            for each in entries_in(declaration, entry, spec):
                yield from _topics_at(inner, each, topic_name)


def errors_of(answer: Message, topic_name: TopicName = no_name) -> Iterator[FoundError]:
    """Every error code other than 0, in the order of the fields, with the topic and partition it stands at."""
    return _errors_in(type(answer), answer, None, topic_name)


def _errors_in(
    declaration: type[Declaration], entry: Entry, topic: str | None, topic_name: TopicName
) -> Iterator[FoundError]:
    topic = topic_in(declaration, entry, topic_name) or topic
    index = field_of(declaration, "partitionIndex")
    partition = None if index is None else value_in(declaration, entry, index)
    for spec in declaration.fields:
        inner = inner_of(spec)
        if spec.entity == "errorCode":
            if code := value_in(declaration, entry, spec):
                yield FoundError(code, topic, partition)
        elif inner is not None and fields_of(inner, "errorCode"):
            for each in entries_in(declaration, entry, spec):
                yield from _errors_in(inner, each, topic, topic_name)


def topic_in(declaration: type[Declaration], entry: Entry, topic_name: TopicName) -> str | None:
    """The name of the topic that a structure is about, its id as Kafka prints it if that has none; None for none."""
    by_name, by_id = field_of(declaration, "topicName"), field_of(declaration, "topicId")
    name: str | None = None if by_name is None else value_in(declaration, entry, by_name)
    if name or by_id is None:
        return name or None
    topic_id: bytes = value_in(declaration, entry, by_id)
    return None if topic_id == ZERO_UUID else topic_name(topic_id) or uuid_to_text(topic_id)


def _resources(message: Message, kind: int) -> Iterator[str]:
    """The names of the resources of one kind in DescribeConfigs, AlterConfigs and the like."""
    kinds = values_of(message, "configResourceType")
    return (name for name, each in zip(texts_of(message, "configResource"), kinds, strict=True) if each == kind)


def _numbers(values: Iterable[Value]) -> Iterator[int]:
    return (value for value in values if isinstance(value, int))
