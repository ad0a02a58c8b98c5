"""What a page, or any caller, has to know first: which broker this is, and the names that it may use."""

from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fakebroker.broker.engine.faults.actions import ACTIONS, APPLIED, RECEIVED
from fakebroker.broker.engine.faults.fields import FIELD_KINDS, FIELDS, PYTHON_ONLY
from fakebroker.broker.engine.faults.spec import EFFECTS
from fakebroker.cli.http.extra import Extra, Served
from fakebroker.cli.http.live import live
from fakebroker.protocol.arguments.kinds import NULL, Choice, Kind, Number
from fakebroker.protocol.arguments.structures import OneOf
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.registry import APIS
from fakebroker.serve.listener_options import bootstrap
from fakebroker.testing.handles.group_wait import STATE_NAMES
from fakebroker.testing.journal.schema import KINDS

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


async def _about(served: Served, request: Request) -> Response:
    """Which broker this is: version, release, bootstrap address, nodes, and its run, of which journal numbers are."""
    broker = served.broker_of(request)
    return JSONResponse(
        {
            "version": version_of_package(),
            "release": broker._engine.cluster.release.name,
            "bootstrap": bootstrap(broker.listeners, is_advertised=True),
            "nodes": list(broker._engine.cluster.nodes),
            "run": served.run,
            "is_running": broker.is_running,
            "is_read_only": False,
            "source": None,
            "broker_id": request.path_params.get("broker_id"),
            "brokers": [each.broker_id for each in served.brokers],
        }
    )


async def _names(served: Served, request: Request) -> Response:
    """The names that forms offer: APIs and their versions, errors, what faults can do, states of groups, kinds of
    journal lines.
    """
    return JSONResponse(names(served.broker_of(request)._engine.cluster.release.versions))


def version_of_package() -> str:
    """The version of fakebroker."""
    return version("fakebroker")


def names(versions: Any) -> dict[str, Any]:
    """The names by what they are of; `versions` are those that are served, by API key."""
    return {
        "apis": [
            {"name": APIS[key].name, "key": key, "versions": list(served)}
            for key, served in sorted(versions.items())
            if key in APIS
        ],
        "errors": [{"name": code.name, "code": int(code)} for code in ErrorCode if code],
        "actions": [{"name": name, "about": action.about, "needs": action.needs} for name, action in ACTIONS.items()],
        "moments": [RECEIVED, APPLIED],
        "fault_fields": [
            {
                "name": name,
                "about": field.about,
                "part": field.part,
                "is_effect": name in EFFECTS,
                **_form_of(FIELD_KINDS[name]),
            }
            for name, field in FIELDS.items()
            if name not in PYTHON_ONLY
        ],
        "kinds": [{"name": kind.name, "about": kind.about} for kind in KINDS.values()],
        "group_states": list(STATE_NAMES),
    }


def _form_of(kind: Kind) -> dict[str, Any]:
    """How a form asks for a value."""
    kinds = [each for each in kind.kinds if each is not NULL] if isinstance(kind, OneOf) else [kind]
    is_number = all(isinstance(each, Number) for each in kinds)
    return {
        "type": "number" if is_number else "text",
        "values": [name for each in kinds if isinstance(each, Choice) for name in each.names],
    }


ABOUT = (
    Extra("GET", "/about", _about, schema="About", of_broker=True),
    Extra("GET", "/names", _names, schema="Names", of_broker=True),
    Extra(
        "GET", "/live", live, media_type="text/event-stream", of_broker=True, query=("since", "groups_since", "what")
    ),
)


def _object(about: str, /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": about, "properties": properties, "required": list(properties)}


def _list(item: Any) -> dict[str, Any]:
    return {"type": "array", "items": item}


ABOUT_SCHEMAS = {
    "About": _object(
        "The identity of the broker.",
        version={**_TEXT, "description": "Version of fakebroker."},
        release={**_TEXT, "description": "The emulated Kafka release."},
        bootstrap={
            **_TEXT,
            "description": "The value of bootstrap.servers: the advertised addresses, if there are any.",
        },
        nodes=_list(_NUMBER),
        run={**_TEXT, "description": "The id of this run; journal numbers are only valid within a run."},
        is_running={"type": "boolean"},
        is_read_only={"type": "boolean", "description": "Whether this is a saved journal instead of a broker."},
        source={"anyOf": [_TEXT, {"type": "null"}], "description": "The file of a saved journal."},
        broker_id={"anyOf": [_TEXT, {"type": "null"}], "description": "The id of an isolated broker."},
        brokers=_list(_TEXT),
    ),
    "Names": _object(
        "Names that the broker knows.",
        apis=_list(_object("A supported API.", name=_TEXT, key=_NUMBER, versions=_list(_NUMBER))),
        errors=_list(_object("A Kafka error.", name=_TEXT, code=_NUMBER)),
        actions=_list(_object("An action of a fault.", name=_TEXT, about=_TEXT, needs=_list(_TEXT))),
        moments=_list(_TEXT),
        fault_fields=_list(
            _object(
                "A field of a fault.",
                name=_TEXT,
                about=_TEXT,
                part={"enum": ["match", "count", "do"], "description": "Which requests, which of them, what happens."},
                is_effect={"type": "boolean", "description": "Whether a fault with this field does something."},
                type={"enum": ["text", "number"]},
                values={**_list(_TEXT), "description": "The names that it may have; none where others are right, too."},
            )
        ),
        kinds=_list(_object("A kind of journal line.", name=_TEXT, about=_TEXT)),
        group_states=_list(_TEXT),
    ),
}
QUERY_SCHEMAS: dict[str, dict[str, Any]] = {
    "since": {"type": "integer", "minimum": 0},
    "groups_since": {"type": "integer", "minimum": 0},
    "what": {"type": "string"},
}
