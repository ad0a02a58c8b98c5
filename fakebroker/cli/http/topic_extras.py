"""What the page shows of a topic: its newest records of all partitions, and the groups that read it."""

from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fakebroker.cli.http.answers import to_json
from fakebroker.cli.http.extra import Extra, Served
from fakebroker.cli.http.overview import group_lag
from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.testing.handles.topic_view import BrowsedRecord, browse

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.topics import Topic

NEWEST: Final = 100
MAX_LOOKED_AT: Final = 5000  # records of a topic in one request, in equal shares of its partitions


async def _newest(served: Served, request: Request) -> Response:
    """The newest 100 records of all partitions of a topic, newest first.

    `search` is a part of the key or the value, in any case. The newest 5000 records are looked at.
    """
    topic = _topic(served, request)
    words = request.query_params.get("search", "").lower().encode()
    share = max(1, (MAX_LOOKED_AT if words else NEWEST * len(topic.partitions)) // len(topic.partitions))
    found = (
        record
        for partition in topic.partitions
        for record in browse(partition, -share, share).records
        if _has(record, words)
    )
    newest = nlargest(NEWEST, found, key=lambda record: (record.timestamp_ms, record.offset))
    return JSONResponse(to_json(newest, frozenset()))


def _has(record: BrowsedRecord, words: bytes) -> bool:
    return not words or any(words in (data or b"").lower() for data in (record.key, record.value))


async def _groups(served: Served, request: Request) -> Response:
    """The groups that have committed offsets of a topic, with their state, members and lag in it."""
    engine, topic = served.broker_of(request)._engine, _topic(served, request)
    readers = [group for group in engine.cluster.groups(engine.now) if topic.name in group.offsets.topics]
    return JSONResponse([_reader(group, topic) for group in readers])


def _reader(group: "Group", topic: "Topic") -> dict[str, Any]:
    return {
        "group_id": group.group_id,
        "kind": group.kind.value,
        "state": str(group.state),
        "lag": group_lag(group, [topic]),
    }


def _topic(served: Served, request: Request) -> "Topic":
    name = request.path_params["name"]
    topic = served.broker_of(request)._engine.cluster.topics.get(name)
    if topic is None:
        raise Problem(404, "not-found", f"there is no topic {shown_value(name)!r}", field="name")
    return topic


TOPIC_EXTRAS = (
    Extra("GET", "/topics/{name}/newest", _newest, schema="NewestRecords", of_broker=True, query=("search",)),
    Extra("GET", "/topics/{name}/groups", _groups, schema="TopicGroups", of_broker=True),
)
TOPIC_SCHEMAS: dict[str, Any] = {
    "NewestRecords": {"type": "array", "items": {"$ref": "#/components/schemas/BrowsedRecord"}},
    "TopicGroups": {
        "type": "array",
        "items": {
            "type": "object",
            "description": "A group that reads the topic.",
            "properties": {
                "group_id": {"type": "string"},
                "kind": {"type": "string"},
                "state": {"type": "string"},
                "lag": {"type": "integer", "description": "In this topic."},
            },
            "required": ["group_id", "kind", "state", "lag"],
        },
    },
}
TOPIC_QUERY: dict[str, dict[str, Any]] = {
    "search": {"type": "string"},
}
