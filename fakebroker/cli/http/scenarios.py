"""Scenarios by HTTP: sent as text, played in virtual time or under the clients of a running broker."""

from collections.abc import Mapping
from inspect import Parameter
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from fakebroker.cli.http.arguments import Arguments
from fakebroker.cli.http.endpoint import no_query, wants_text, while_connected
from fakebroker.cli.http.extra import Extra, Served
from fakebroker.cli.http.plays import Play
from fakebroker.cli.http.request_body import body_of, media_type_of, read_body
from fakebroker.protocol.arguments.types import TimeoutS

WAIT_S = 30.0
QUERY = ("seed", "virtual", "name")
YAML = ("application/yaml", "text/yaml")
_EXAMPLE = """about: A consumer commits.
topics: {orders: {partitions: 1}}
actors: [a]
timeline:
  - {a: join billing, topics: [orders]}
  - {a: sync, assignments: {a: {orders: [0]}}}
  - {a: commit, offsets: {orders-0: 42}}
  - {expect: {group: billing, offsets: {orders-0: 42}}}
"""


def _keyword(name: str, kind: Any, default: Any = None) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def play_arguments() -> Arguments:
    """A scenario, and how it is to be played."""
    return Arguments(
        [
            _keyword("scenario", str, Parameter.empty),
            _keyword("seed", int | None),
            _keyword("parameters", Mapping[str, object] | None),
            _keyword("virtual", bool, False),
            _keyword("name", str | None),
        ],
        "ScenarioArguments",
        "play",
    )


def wait_arguments() -> Arguments:
    """How long is waited."""
    return Arguments([_keyword("timeout_s", TimeoutS, WAIT_S)], "ScenarioWaitArguments", "wait")


async def _play(served: Served, request: Request) -> Response:
    """Play a scenario, which is sent as its text (docs/reference/scenarios.md).

    It is played on this broker, in the background and in real time, while clients are connected: the answer is 202
    with its `scenario_id`, as soon as the timeline waits for something. With `virtual` it is played on a broker of its
    own in virtual time, and the answer is 200 with what came of it. `name` stands for the file in places of steps.
    Includes are refused, and without a token a `config` that names files or addresses. The text may also be the body
    itself, as application/yaml; then the query has the other fields, but for parameters.
    """
    given = await _sent(request)
    is_virtual = given.get("virtual", False)
    broker = served.broker_of(request)
    play = served.plays.begin(
        given["scenario"],
        given.get("name") or "scenario",
        given.get("seed"),
        given.get("parameters") or {},
        None if is_virtual else broker,
        request.path_params.get("broker_id"),
        served.check_options,
    )
    if not is_virtual:
        await play.prepare()
        return await _answer(play, request, 202, {"Location": play.path})
    try:
        await while_connected(play.wait(float("inf")), request)
    finally:
        if not play.is_done:
            await play.cancel()
    return await _answer(play, request)


async def _sent(request: Request) -> dict[str, Any]:
    """The fields of a scenario to play, from JSON, or from YAML and the query."""
    if media_type_of(request) not in YAML:
        no_query(request)
        return play_arguments().from_body(await body_of(request))[1]
    in_query = Arguments([play_arguments().parameters[name] for name in QUERY], "ScenarioQuery", "play")
    _, given = in_query.from_query(request.query_params.multi_items())
    return {**given, "scenario": await read_body(request)}


async def _answer(
    play: Play, request: Request, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    shown = await play.shown()
    if wants_text(request):
        from fakebroker.scenarios.running.play_text import text_of

        return PlainTextResponse(text_of(shown), status, headers)
    return JSONResponse(shown, status, headers)


async def _list(served: Served, request: Request) -> Response:
    """The scenarios that are being played, and the latest of those that are over, without their transcripts.

    The first is that of `fakebroker serve --scenario`, if there is one. For an isolated broker: those sent to it.
    """
    plays = served.plays.of(_broker_id(served, request))
    return JSONResponse([each.brief() for each in plays])


def _broker_id(served: Served, request: Request) -> str | None:
    """The isolated broker of a path. Raises UnknownThing."""
    served.broker_of(request)
    broker_id: str | None = request.path_params.get("broker_id")
    return broker_id


def _found(served: Served, request: Request) -> Play:
    return served.plays.find(request.path_params["scenario_id"], _broker_id(served, request))


async def _show(served: Served, request: Request) -> Response:
    """One scenario: whether it is over, the step that it is at, what did not come out as it says, the transcript."""
    return await _answer(_found(served, request), request)


async def _wait(served: Served, request: Request) -> Response:
    """Wait until a scenario is over, and tell what came of it. 408 that names the step it is at if that takes longer.

    The answer is good for one that failed, too: look at `state` and `problems`.
    """
    play = _found(served, request)
    _, given = wait_arguments().from_body(await body_of(request))
    await while_connected(play.wait(given.get("timeout_s", WAIT_S)), request)
    return await _answer(play, request)


async def _remove(served: Served, request: Request) -> Response:
    """End a scenario where it is, and forget it. What it did to the broker stays."""
    await served.plays.remove(request.path_params["scenario_id"], _broker_id(served, request))
    return Response(status_code=204)


_ONE = "/scenarios/{scenario_id}"
SCENARIOS = (
    Extra("GET", "/scenarios", _list, schema="Scenarios", of_broker=True),
    Extra(
        "POST",
        "/scenarios",
        _play,
        schema="Scenario",
        has_text=True,
        status=202,
        also=(200,),
        of_broker=True,
        arguments=play_arguments,
        query=QUERY,
        text_types=YAML,
        example={"scenario": _EXAMPLE, "virtual": True},
    ),
    Extra("GET", _ONE, _show, schema="Scenario", has_text=True, of_broker=True),
    Extra(
        "POST",
        f"{_ONE}/wait",
        _wait,
        schema="Scenario",
        has_text=True,
        of_broker=True,
        arguments=wait_arguments,
        example={"timeout_s": 10.0},
    ),
    Extra("DELETE", _ONE, _remove, status=204, of_broker=True),
)
