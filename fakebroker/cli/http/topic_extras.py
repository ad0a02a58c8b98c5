"""What the page shows of a topic: its newest records of all partitions, and the groups that read it."""

from collections.abc import Generator
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fakebroker.cli.http.answers import to_json
from fakebroker.cli.http.extra import Extra, Served
from fakebroker.cli.http.overview import group_lag
from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.cli.http.topic_steps import in_reading_turns
from fakebroker.cli.http.turns import in_turns
from fakebroker.protocol.pace import Pace
from fakebroker.testing.handles.topic_view import BrowsedRecord, browse

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.topics import Topic

NEWEST: Final = 100
OFFSETS_PER_STEP: Final = 2000  # of groups
OFFSETS_PER_READER: Final = 10  # that take as long as what is shown of a group beside its lag
MAX_LOOKED_AT: Final = 5000  # records of a topic in one request, in equal shares of its partitions


async def _newest(served: Served, request: Request) -> Response:
    """The newest 100 records of all partitions of a topic, newest first.

    `search` is a part of the key or the value, in any case. The newest 5000 records are looked at.
    """
    topic = _topic(served, request)
    words = request.query_params.get("search", "").lower().encode()
    newest = await in_reading_turns(_newest_records(topic, words))
    return JSONResponse(to_json(newest, frozenset()))


def _newest_records(topic: "Topic", words: bytes) -> Generator[None, None, list[BrowsedRecord]]:
    partitions = list(topic.partitions)
    share = max(1, (MAX_LOOKED_AT if words else NEWEST * len(partitions)) // len(partitions))
    newest: list[BrowsedRecord] = []
    for partition in partitions:
        browsed = yield from browse(partition, -share, share)
        found = (record for record in browsed.records if _has(record, words))
        newest = nlargest(NEWEST, chain(newest, found), key=lambda record: (record.timestamp_ms, record.offset))
        yield
    return newest


def _has(record: BrowsedRecord, words: bytes) -> bool:
    return not words or any(words in (data or b"").lower() for data in (record.key, record.value))


async def _groups(served: Served, request: Request) -> Response:
    """The groups that have committed offsets of a topic, with their state, members and lag in it."""
    engine, topic = served.broker_of(request)._engine, _topic(served, request)
    return JSONResponse(await in_turns(_readers(list(engine.cluster.groups(engine.now)), topic)))


def _readers(groups: "list[Group]", topic: "Topic") -> Generator[None, None, list[dict[str, Any]]]:
    pace = Pace(OFFSETS_PER_STEP)
    readers = []
    for group in groups:
        committed = group.offsets.topics.get(topic.name)
        if committed is not None:
            readers.append(_reader(group, topic))
        if pace.is_over(1 if committed is None else OFFSETS_PER_READER + len(committed)):
            yield
    return readers


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
