"""Which groups, topics and partitions a request names: found by what its fields mean, whatever the API.

A request names a triple for each entry of its lists: OffsetCommit the group with each of its partitions, Heartbeat just
the group, Metadata each topic.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.engine.subjects import FORGOTTEN, GROUP_KEY, GROUP_RESOURCE, TOPIC_RESOURCE
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.entities import (
    Entry,
    FieldPath,
    Value,
    field_of,
    fields_of,
    inner_of,
    texts_of,
    value_in,
    values_of,
)
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import ArrayOf, Entity, FieldSpec

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topics

_TRANSACTION_KEY = 1  # of FindCoordinator's key types
_GROUP: tuple[Entity, ...] = ("groupId", "configResource", "coordinatorKey")
_TOPIC: tuple[Entity, ...] = ("topicName", "topicId", "configResource")
_PARTITION: tuple[Entity, ...] = ("partitionIndex",)
_TRANSACTIONAL_ID: tuple[Entity, ...] = ("transactionalId", "coordinatorKey")

_naming: dict[type[Declaration], tuple[FieldSpec, ...]] = {}  # the lists that name something


class Named(NamedTuple):
    """What one entry of a request is about; None for what it does not name."""

    group: str | None = None
    topic: str | None = None
    partition: int | None = None


NOTHING = Named()


class Names(NamedTuple):
    """What the requests of an API can name."""

    group: bool = False
    topic: bool = False
    partition: bool = False
    transactional_id: bool = False


def nameable(declaration: type[Message]) -> Names:
    """What requests of this declaration can name, in some version."""
    return Names(
        group=_has_any(declaration, _GROUP),
        topic=_has_any(declaration, _TOPIC),
        partition=_has_any(declaration, _PARTITION),
        transactional_id=_has_any(declaration, _TRANSACTIONAL_ID),
    )


def names_of(request: Message | None, topics: "Topics") -> Iterator[Named]:
    """Everything that a request names."""
    if request is None:  # its body was not looked at
        yield NOTHING
        return
    key_types = [*values_of(request, "coordinatorKeyType")]
    if key_types:  # FindCoordinator
        yield from _groups_looked_up(request, key_types)
        return
    yield from _walk(type(request), request, named_by(type(request), request, NOTHING, topics), topics)


def _groups_looked_up(request: Message, key_types: list[Value]) -> Iterator[Named]:
    named = NOTHING
    for key in texts_of(request, "coordinatorKey") if key_types == [GROUP_KEY] else ():
        named = Named(group=key)
        yield named
    if named is NOTHING:
        yield NOTHING


def transactional_ids_of(request: Message | None) -> Iterator[str]:
    """The transactional ids that a request names."""
    if request is None:
        return
    yield from texts_of(request, "transactionalId")
    if _TRANSACTION_KEY in values_of(request, "coordinatorKeyType"):
        yield from filter(None, texts_of(request, "coordinatorKey"))


def names_in(spec: FieldSpec, entry: Any, named: Named, topics: "Topics") -> Iterator[Named]:
    """Everything that an entry of the list in a field names, as part of what is about `named`."""
    here = named_in(spec, entry, named, topics)
    inner = inner_of(spec)
    return iter((here,)) if inner is None else _walk(inner, entry, here, topics)


def named_in(spec: FieldSpec, entry: Any, named: Named, topics: "Topics") -> Named:
    """What an entry of that list is about itself."""
    inner = inner_of(spec)
    if inner is not None:
        return named_by(inner, entry, named, topics)
    match spec.entity:
        case "topicName":
            return named._replace(topic=entry)
        case "partitionIndex":
            return named._replace(partition=entry)
        case "groupId" | "coordinatorKey":
            return named._replace(group=entry)
    return named


def named_by(declaration: type[Declaration], entry: Entry, named: Named, topics: "Topics") -> Named:
    """What a request, or a structure in it, is about by its own fields."""
    group, index = field_of(declaration, "groupId"), field_of(declaration, "partitionIndex")
    if group is not None:
        named = named._replace(group=value_in(declaration, entry, group) or named.group)
    if field_of(declaration, "topicName", "topicId") is not None:
        named = named._replace(topic=_topic(declaration, entry, topics))
    if index is not None:
        named = named._replace(partition=value_in(declaration, entry, index))
    resource, kind = field_of(declaration, "configResource"), field_of(declaration, "configResourceType")
    if resource is None or kind is None:
        return named
    name: str = value_in(declaration, entry, resource)
    resource_type: int = value_in(declaration, entry, kind)
    if resource_type == TOPIC_RESOURCE:
        return named._replace(topic=name)
    return named._replace(group=name) if resource_type == GROUP_RESOURCE else named


def _topic(declaration: type[Declaration], entry: Entry, topics: "Topics") -> str | None:
    by_name, by_id = field_of(declaration, "topicName"), field_of(declaration, "topicId")
    name: str | None = None if by_name is None else value_in(declaration, entry, by_name)
    return topic_named(name, None if name or by_id is None else value_in(declaration, entry, by_id), topics)


def topic_named(name: str | None, topic_id: bytes | None, topics: "Topics") -> str | None:
    """The topic of that name, or else of that id; None for an id that no topic has."""
    if name or not topic_id:
        return name
    topic = topics.by_id(topic_id)
    return None if topic is None else topic.name


def _walk(declaration: type[Declaration], entry: Entry, named: Named, topics: "Topics") -> Iterator[Named]:
    is_leaf = True
    for spec in _naming_lists(declaration):
        for each in value_in(declaration, entry, spec) or ():
            is_leaf = False
            yield from names_in(spec, each, named, topics)
    if is_leaf:
        yield named


def _naming_lists(declaration: type[Declaration]) -> tuple[FieldSpec, ...]:
    """The lists of a structure whose entries name something."""
    found = _naming.get(declaration)
    if found is None:
        lists = (spec for spec in declaration.fields if isinstance(spec.type, ArrayOf) and spec.name != FORGOTTEN)
        found = _naming[declaration] = tuple(filter(_names_something, lists))
    return found


def _names_something(spec: FieldSpec) -> bool:
    entities = (*_GROUP, *_TOPIC, *_PARTITION)
    inner = inner_of(spec)
    return spec.entity in entities if inner is None else _has_any(inner, entities)


def _has_any(declaration: type[Declaration], entities: tuple[Entity, ...]) -> bool:
    return any(_is_asked(path) for entity in entities for path in fields_of(declaration, entity))


def _is_asked(path: FieldPath) -> bool:
    """Whether a field is part of what a request asks about: its own, or in lists of lists."""
    return path[0].name != FORGOTTEN and all(isinstance(spec.type, ArrayOf) for spec in path[:-1])
