"""Which groups, topics and partitions a request names: found by the names of its fields, whatever the API.

A request names a triple for each entry of its lists: OffsetCommit the group with each of its partitions, Heartbeat just
the group, Metadata each topic.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.engine.error_response import value_of
from fakebroker.protocol.schema.types import ArrayOf, Primitive
from fakebroker.protocol.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topics

FIND_COORDINATOR = ApiKey.FIND_COORDINATOR
_GROUP_KEY, _TRANSACTION_KEY = 0, 1  # FindCoordinator's key types
_TOPIC_RESOURCE, _GROUP_RESOURCE = 2, 32

_GROUP_LISTS = ("groups", "groups_names", "group_ids", "coordinator_keys")
_TOPIC_LISTS = ("topics", "topic_data", "topic_partitions", "topic_names", "v3_and_below_topics")
_PARTITION_LISTS = ("partitions", "partition_data", "partition_indexes")
# The fields that hold transactional ids: one, a list, or structures that have one each (AddPartitionsToTxn, v4).
_TRANSACTIONAL_IDS = ("transactional_id", "v3_and_below_transactional_id", "transactional_ids", "transactions")
_LISTS = (
    *_GROUP_LISTS,
    *_TOPIC_LISTS,
    *_PARTITION_LISTS,
    "dirs",
    "resources",
    "transactional_ids",
    "markers",
)


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


def nameable(declaration: Any) -> Names:
    """What requests of this declaration can name, in some version."""
    if declaration.api_key == FIND_COORDINATOR:
        return Names(group=True, transactional_id=True)
    paths = list(_paths(declaration))
    return Names(
        group=any(
            path[-1] in ("group_id", "groups_names") or path[-2:] in (("groups", ""), ("group_ids", ""))
            for path in paths
        )
        or any(path[0] == "resources" for path in paths),
        topic=any(name in _TOPIC_LISTS for path in paths for name in path)
        or any(path[0] == "resources" for path in paths),
        partition=any(name in _PARTITION_LISTS for path in paths for name in path),
        transactional_id=any(path[0] in _TRANSACTIONAL_IDS for path in paths),
    )


def _paths(declaration: Any) -> Iterator[tuple[str, ...]]:
    for spec in declaration.fields:
        if not isinstance(spec.type, ArrayOf):
            yield (spec.name,)
        elif spec.name in _LISTS:
            element = spec.type.element
            inner = [("",)] if isinstance(element, Primitive) else _paths(element)
            yield from ((spec.name, *path) for path in inner)


def names_of(request: Any, topics: "Topics") -> Iterator[Named]:
    """Everything that a request names."""
    if request is None:  # its body was not looked at
        yield NOTHING
        return
    declaration = type(request)
    if declaration.api_key == FIND_COORDINATOR:
        for key in [request.key, *request.coordinator_keys]:
            yield Named(group=key if key and request.key_type == _GROUP_KEY else None)
        return
    yield from _walk(declaration, request, named_by(declaration, request, NOTHING, "", topics), topics)


def transactional_ids_of(request: Any) -> list[str]:
    """The transactional ids that a request names."""
    if request is None:
        return []
    if type(request).api_key == FIND_COORDINATOR:
        keys = [request.key, *request.coordinator_keys] if request.key_type == _TRANSACTION_KEY else []
        return [key for key in keys if key]
    found = [getattr(request, name, None) or [] for name in _TRANSACTIONAL_IDS]
    return [each for one in found for each in ([one] if isinstance(one, str) else map(_transactional_id, one))]


def _transactional_id(entry: Any) -> str:
    """Of an entry of a list: the id itself, or a transaction of AddPartitionsToTxn v4 and later."""
    return entry if isinstance(entry, str) else str(entry.transactional_id)


def _walk(declaration: Any, entry: Any, named: Named, topics: "Topics") -> Iterator[Named]:
    is_leaf = True
    for spec in declaration.fields:
        if spec.name not in _LISTS or not isinstance(spec.type, ArrayOf):
            continue
        element = spec.type.element
        for each in value_of(declaration, entry, spec.name) or ():
            is_leaf = False
            here = named_by(element, each, named, spec.name, topics)
            if isinstance(element, Primitive):
                yield here
            else:
                yield from _walk(element, each, here, topics)
    if is_leaf:
        yield named


def named_by(declaration: Any, entry: Any, named: Named, list_name: str, topics: "Topics") -> Named:
    """What an entry of a request's list of that name is about, as part of what is about `named`."""
    if list_name in _PARTITION_LISTS:
        return named._replace(partition=_first(declaration, entry, ("partition_index", "index", "partition")))
    if list_name in _TOPIC_LISTS:
        return named._replace(topic=_topic(declaration, entry, topics))
    if list_name in _GROUP_LISTS:
        return named._replace(group=_first(declaration, entry, ("group_id",)))
    if list_name == "resources":
        if entry.resource_type == _TOPIC_RESOURCE:
            return named._replace(topic=entry.resource_name)
        return named._replace(group=entry.resource_name) if entry.resource_type == _GROUP_RESOURCE else named
    group_id = _first(declaration, entry, ("group_id",))
    return named._replace(group=group_id) if group_id else named


def _topic(declaration: Any, entry: Any, topics: "Topics") -> str | None:
    name: str | None = _first(declaration, entry, ("name", "topic"))
    topic_id = None if name else _first(declaration, entry, ("topic_id",))
    if topic_id:
        topic = topics.by_id(topic_id)
        return None if topic is None else topic.name
    return name


def _first(declaration: Any, entry: Any, names: tuple[str, ...]) -> Any:
    """The value of the first of these fields that the declaration has; the entry itself if it is a bare value."""
    if isinstance(declaration, Primitive):
        return entry
    for spec in declaration.fields:
        if spec.name in names:
            return value_of(declaration, entry, spec.name)
    return None
