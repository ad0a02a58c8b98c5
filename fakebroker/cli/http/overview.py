"""What the page's overview shows that no power tells of all groups at once: holds, connections, lags."""

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fakebroker.cli.http.extra import Extra, Served
from fakebroker.cli.http.problems import Problem
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.handles.finding import find_group

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.topics import Topic
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.protocol.instant import Instant

MAX_LAGS = 200  # groups in one request: the lag of a group is counted partition by partition
MAX_CONNECTIONS = 1000


async def _overview(served: Served, request: Request) -> Response:
    """Holds of all groups, how many connections and clients there are, and the isolated brokers."""
    engine = served.broker_of(request)._engine
    connections = list(engine.connections.values())
    return JSONResponse(
        {
            "holds": _holds(engine.cluster),
            "connections": len(connections),
            "clients": len({each.call.client_id for each in connections if each.call.client_id}),
            "brokers": [each.shown() for each in served.brokers],
        }
    )


def _holds(cluster: "Cluster") -> list[dict[str, Any]]:
    return [
        {"group_id": group_id, "hold_id": hold.hold_id, "phase": str(phase), "text": hold.text(phase)}
        for group_id, holds in sorted(cluster.holds.items())
        for phase, hold in holds.items()
        if not hold.is_released
    ]


async def _connections(served: Served, request: Request) -> Response:
    """The connections of clients that are open, the first 1000: who, from where, with which request at last."""
    engine = served.broker_of(request)._engine
    shown = list(engine.connections.values())[:MAX_CONNECTIONS]
    return JSONResponse([_connection(each, engine.now.mono_ms) for each in shown])


def _connection(connection: "Connection", now_ms: int) -> dict[str, Any]:
    name, version = connection.software
    route = connection.route
    return {
        "connection": connection.connection_id,
        "node": connection.peer.node_id,
        "client": connection.call.client_id or None,
        "address": connection.peer.address,
        "software": f"{name} {version}".strip(),
        "principal": str(connection.principal),
        "api": None if route is None else APIS[route.api_key].name,
        "version": None if route is None else connection.call.version,
        "is_waiting": connection.parked_call is not None,
        "heard_ago_ms": max(0, now_ms - connection.received.mono_ms),
    }


async def _lags(served: Served, request: Request) -> Response:
    """The lag of each group that is named: records behind the high watermark, of all its committed offsets together.

    Null for a group without a committed offset. At most 200 groups are named.
    """
    group_ids = request.query_params.getlist("group")
    if len(group_ids) > MAX_LAGS:
        detail = f"group is given {len(group_ids)} times; at most {MAX_LAGS} groups are allowed per request"
        raise Problem(422, "invalid-argument", detail, field="group")
    engine = served.broker_of(request)._engine
    lags = {}
    for group_id in group_ids:
        lags[group_id] = lag_of(engine.cluster, group_id, engine.now)
        await asyncio.sleep(0)
    return JSONResponse(lags)


def lag_of(cluster: "Cluster", group_id: str, now: "Instant") -> int | None:
    """What a group has not committed of the partitions of which it has committed something; None without any."""
    group = find_group(cluster, group_id, now)
    if group is None or not len(group.offsets):
        return None
    return group_lag(group, [topic for name in group.offsets.topics if (topic := cluster.topics.get(name)) is not None])


def group_lag(group: "Group", topics: "Iterable[Topic]") -> int:
    """The lag of a group in these topics, of the partitions of which it has committed something."""
    lag = 0
    for topic in topics:
        for index in group.offsets.topics.get(topic.name, ()):
            partition, stored = topic.partition(index), group.offsets.get(topic.name, index)
            if partition is not None and stored is not None and partition.has_log:
                lag += max(0, partition.log.high_watermark - stored.offset)
    return lag


OVERVIEW = (
    Extra("GET", "/overview", _overview, schema="Overview", of_broker=True),
    Extra("GET", "/connections", _connections, schema="Connections", of_broker=True),
    Extra("GET", "/group_lags", _lags, schema="GroupLags", of_broker=True, query=("group",)),
)

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_OPTIONAL_TEXT = {"anyOf": [_TEXT, {"type": "null"}]}
_OPTIONAL_NUMBER = {"anyOf": [_NUMBER, {"type": "null"}]}


def _object(about: str, /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": about, "properties": properties, "required": list(properties)}


OVERVIEW_SCHEMAS = {
    "Overview": _object(
        "The broker at a glance.",
        holds={
            "type": "array",
            "items": _object("An active hold of a group.", group_id=_TEXT, hold_id=_NUMBER, phase=_TEXT, text=_TEXT),
        },
        connections={**_NUMBER, "description": "The number of open connections."},
        clients={**_NUMBER, "description": "The number of client ids."},
        brokers={"type": "array", "items": {"$ref": "#/components/schemas/Broker"}},
    ),
    "Connections": {
        "type": "array",
        "items": _object(
            "An open connection.",
            connection=_NUMBER,
            node=_NUMBER,
            client=_OPTIONAL_TEXT,
            address=_TEXT,
            software={**_TEXT, "description": "Name and version that the client sent; unknown otherwise."},
            principal=_TEXT,
            api={**_OPTIONAL_TEXT, "description": "The client id of its last request."},
            version=_OPTIONAL_NUMBER,
            is_waiting={"type": "boolean", "description": "Whether its last request is still unanswered."},
            heard_ago_ms={**_NUMBER, "description": "Time since its last request."},
        ),
    },
    "GroupLags": {
        "type": "object",
        "description": "Lags by group id.",
        "additionalProperties": _OPTIONAL_NUMBER,
    },
}
OVERVIEW_QUERY: dict[str, dict[str, Any]] = {
    "group": {"type": "array", "items": _TEXT},
}
