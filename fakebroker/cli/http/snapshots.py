"""Snapshots by HTTP: they are kept under an id, restored, forked into isolated brokers, sent and taken as files."""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fakebroker.cli.http.answers import to_json
from fakebroker.cli.http.arguments import Arguments
from fakebroker.cli.http.brokers import IDLE_TTL_S, idle_ttl
from fakebroker.cli.http.extra import Extra, Served
from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.cli.http.request_body import body_of, read_body
from fakebroker.cli.http.snapshot_limits import check_size
from fakebroker.protocol.errors import UnknownThing, nearest
from fakebroker.testing.reflection.members import Member
from fakebroker.testing.snapshot.snapshot import Snapshot

MAX_SNAPSHOTS = 256
FILE = "application/octet-stream"


def fork_arguments() -> Arguments:
    """Those of `Snapshot.async_fork`, and the time after which the broker counts as forgotten."""
    options = Member(Snapshot, "async_fork", Snapshot.async_fork, is_property=False).parameters
    named = [option for option in options if option.kind is not option.VAR_KEYWORD]
    return Arguments([*named, idle_ttl()], "ForkOptions", "fork")


def _no_arguments() -> Arguments:
    return Arguments((), "NoArguments", "a snapshot")


def _shown(snapshot_id: str, snapshot: Snapshot) -> dict[str, Any]:
    state = snapshot.state
    taken = to_json(snapshot.taken, frozenset())
    return {
        "snapshot_id": snapshot_id,
        "taken": taken,
        "topics": snapshot.topics,
        "nodes": list(state.options.node_ids),
    }


def _id(request: Request) -> str:
    return str(request.path_params["snapshot_id"])


def _find(served: Served, request: Request) -> Snapshot:
    snapshot = served.snapshots.get(_id(request))
    if snapshot is None:
        hint = nearest(_id(request), list(served.snapshots))
        detail = f"there is no snapshot {shown_value(_id(request))!r}; {hint}"
        raise UnknownThing("snapshot_id", _id(request), detail)
    return snapshot


def _keep(served: Served, snapshot: Snapshot) -> Response:
    if len(served.snapshots) >= MAX_SNAPSHOTS:
        raise Problem(409, "refused", f"there are already {MAX_SNAPSHOTS} snapshots; delete unused ones")
    served.snapshot_count += 1
    snapshot_id = f"s{served.snapshot_count}"
    served.snapshots[snapshot_id] = snapshot
    return JSONResponse(_shown(snapshot_id, snapshot), 201, {"Location": f"/snapshots/{snapshot_id}"})


async def _list(served: Served, _request: Request) -> Response:
    """The snapshots that were taken here."""
    return JSONResponse([_shown(*each) for each in served.snapshots.items()])


async def _take(served: Served, request: Request) -> Response:
    """Take a snapshot of the durable state: topics, records, committed offsets, settings, nodes, time."""
    _no_arguments().from_body(await body_of(request))
    return _keep(served, served.broker_of(request).snapshot())


async def _show(served: Served, request: Request) -> Response:
    """One snapshot: when it was taken, its topics and nodes."""
    return JSONResponse(_shown(_id(request), _find(served, request)))


async def _remove(served: Served, request: Request) -> Response:
    """Forget a snapshot."""
    _find(served, request)
    del served.snapshots[_id(request)]
    return Response(status_code=204)


async def _restore(served: Served, request: Request) -> Response:
    """Restore the state of a snapshot, including the time of day. Clients are disconnected."""
    _no_arguments().from_body(await body_of(request))
    broker, snapshot = served.broker_of(request), _find(served, request)
    served.brokers.check_room(len(snapshot.state.cluster.nodes) - len(broker._engine.cluster.nodes))
    broker.restore(snapshot)
    served.brokers.leftovers.add()
    return Response(status_code=204)


async def _fork(served: Served, request: Request) -> Response:
    """Start an isolated broker with the same history: under other settings, on another release, with lost commits.

    `lost_commits` are (group, topic, partition): the latest commit of each is undone.
    """
    snapshot = _find(served, request)
    _, options = fork_arguments().from_body(await body_of(request))
    served.check_options(options)
    idle_ttl_s = options.pop("idle_ttl_s", IDLE_TTL_S)
    nodes = len(snapshot.state.cluster.nodes)
    added = await served.brokers.start(lambda: snapshot.async_fork(**options), nodes, idle_ttl_s)
    return JSONResponse(added.shown(), 201, {"Location": f"/brokers/{added.broker_id}"})


async def _file(served: Served, request: Request) -> Response:
    """A snapshot as a file, as `Snapshot.save` writes it: for `fakebroker serve --from`, or to be sent to another."""
    return Response(await asyncio.to_thread(_find(served, request).to_bytes), media_type=FILE)


async def _from_file(served: Served, request: Request) -> Response:
    """Keep a snapshot that is sent as a file.

    Without a token one whose settings name files or addresses needs `fakebroker serve --control-host-access`.
    """
    snapshot = Snapshot.from_bytes(await read_body(request), "the body")
    served.check_snapshot(snapshot)
    check_size(snapshot, len(served.broker._engine.cluster.nodes))
    return _keep(served, snapshot)


_ONE = "/snapshots/{snapshot_id}"
SNAPSHOTS = (
    Extra("GET", "/snapshots", _list, schema="Snapshots"),
    Extra(
        "POST",
        "/snapshots",
        _take,
        schema="Snapshot",
        status=201,
        of_broker=True,
        arguments=_no_arguments,
        covers=("AsyncFakeBroker.snapshot",),
    ),
    Extra("POST", "/snapshots/file", _from_file, schema="Snapshot", status=201, covers=("AsyncFakeBroker.restore",)),
    Extra("GET", _ONE, _show, schema="Snapshot"),
    Extra("DELETE", _ONE, _remove, status=204),
    Extra("GET", f"{_ONE}/file", _file, media_type=FILE),
    Extra(
        "POST",
        f"{_ONE}/restore",
        _restore,
        status=204,
        of_broker=True,
        arguments=_no_arguments,
        covers=("AsyncFakeBroker.restore",),
    ),
    Extra(
        "POST",
        f"{_ONE}/fork",
        _fork,
        schema="Broker",
        status=201,
        arguments=fork_arguments,
        example={"config": {"offsets.retention.minutes": 1440}, "lost_commits": [["billing", "orders", 0]]},
    ),
)
