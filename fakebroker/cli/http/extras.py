"""What the HTTP API has beside the powers: health, metrics, the OpenAPI document, isolated brokers."""

from functools import cache

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fakebroker.cli.http.about import ABOUT
from fakebroker.cli.http.arguments import Arguments
from fakebroker.cli.http.brokers import idle_ttl
from fakebroker.cli.http.extra import Extra, Served
from fakebroker.cli.http.journal import JOURNAL
from fakebroker.cli.http.overview import OVERVIEW
from fakebroker.cli.http.problems import Problem
from fakebroker.cli.http.request_body import body_of
from fakebroker.cli.http.scenarios import SCENARIOS
from fakebroker.cli.http.snapshots import SNAPSHOTS
from fakebroker.cli.http.topic_extras import TOPIC_EXTRAS
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.reflection.members import Member


def broker_arguments() -> Arguments:
    """The options of an isolated broker: those of AsyncFakeBroker and the time after which it counts as forgotten."""
    options = Member(AsyncFakeBroker, "__init__", AsyncFakeBroker.__init__, is_property=False).parameters
    return Arguments([*options, idle_ttl()], "BrokerOptions", "a broker")


async def _health(served: Served, request: Request) -> Response:
    """200 while the broker serves clients, 503 when it does not."""
    if not served.broker_of(request).is_running:
        raise Problem(503, "broker-stopped", "the broker does not serve clients")
    return JSONResponse({"status": "ok"})


async def _metrics(served: Served, request: Request) -> Response:
    """Prometheus metrics: requests by API and error, connections, groups by state, bytes of logs, the clock."""
    from fakebroker.cli.http.metrics import CONTENT_TYPE, metrics

    return Response(await metrics(served.broker_of(request)), media_type=CONTENT_TYPE)


async def _openapi(_served: Served, _request: Request) -> Response:
    """This document."""
    return Response(_document(), media_type=JSONResponse.media_type)


@cache
def _document() -> bytes:
    """The document as JSON; it is the same at each request, and takes long to make."""
    from fakebroker.cli.http.openapi import document

    return bytes(JSONResponse(document()).body)


async def _list_brokers(served: Served, _request: Request) -> Response:
    """The isolated brokers that were made here."""
    return JSONResponse([each.shown() for each in served.brokers])


async def _add_broker(served: Served, request: Request) -> Response:
    """Start an isolated broker with ports and state of its own.

    All paths exist for it under `/brokers/{broker_id}`. It is stopped and removed when it was idle for `idle_ttl_s`
    seconds: no request here, no client connected. Without a token `journal_dir`, `data`, `listen` on other than
    loopback, and files and addresses in `config` need `fakebroker serve --control-host-access`.
    """
    _, options = broker_arguments().from_body(await body_of(request))
    served.check_options(options)
    added = await served.brokers.add(**options)
    return JSONResponse(added.shown(), 201, {"Location": f"/brokers/{added.broker_id}"})


async def _show_broker(served: Served, request: Request) -> Response:
    """One isolated broker: its bootstrap address and nodes."""
    return JSONResponse(served.brokers.find(request.path_params["broker_id"]).shown())


async def _remove_broker(served: Served, request: Request) -> Response:
    """Stop an isolated broker and forget it. 500 if it had an internal error (a bug of the broker) meanwhile."""
    await served.brokers.remove(request.path_params["broker_id"])
    return Response(status_code=204)


async def _errors(served: Served, request: Request) -> Response:
    """The internal errors (bugs) of the broker so far, as text: a test is right to fail on any."""
    return JSONResponse([repr(error) for error in served.broker_of(request).errors])


EXTRAS = (
    Extra("GET", "/healthz", _health, schema="Health", of_broker=True, is_public=True, errors=(503,)),
    Extra("GET", "/metrics", _metrics, media_type="text/plain", of_broker=True),
    Extra("GET", "/openapi.json", _openapi, schema="Document"),
    Extra("GET", "/errors", _errors, schema="Errors", of_broker=True),
    Extra("GET", "/brokers", _list_brokers, schema="Brokers"),
    Extra(
        "POST",
        "/brokers",
        _add_broker,
        schema="Broker",
        status=201,
        arguments=broker_arguments,
        example={"nodes": 3, "config": {"num.partitions": 3}, "seed": 7},
    ),
    Extra("GET", "/brokers/{broker_id}", _show_broker, schema="Broker"),
    Extra("DELETE", "/brokers/{broker_id}", _remove_broker, status=204),
    *ABOUT,
    *OVERVIEW,
    *TOPIC_EXTRAS,
    *JOURNAL,
    *SNAPSHOTS,
    *SCENARIOS,
)
