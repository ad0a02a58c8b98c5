"""The OpenAPI 3.1 document: made from the table, the signatures and the docstrings, never written by hand."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fakebroker.cli.http.about import ABOUT_SCHEMAS, QUERY_SCHEMAS, version_of_package
from fakebroker.cli.http.answers import Json, Schema, Schemas
from fakebroker.cli.http.argument_texts import argument_text
from fakebroker.cli.http.arguments import Arguments
from fakebroker.cli.http.endpoint import Endpoint, creates, has_text
from fakebroker.cli.http.extra import Extra
from fakebroker.cli.http.extras import EXTRAS
from fakebroker.cli.http.operation_texts import OPERATION_TEXTS
from fakebroker.cli.http.operations import OPERATIONS, Operation, separate_properties
from fakebroker.cli.http.overview import OVERVIEW_QUERY, OVERVIEW_SCHEMAS
from fakebroker.cli.http.schema_forms import for_generators, optional_fields, without_null
from fakebroker.cli.http.topic_extras import TOPIC_QUERY, TOPIC_SCHEMAS
from fakebroker.protocol.arguments.forms import JSON, JsonForm
from fakebroker.protocol.arguments.kinds import TEXT, Kind

_REF = "#/components/schemas/{model}"
ABOUT = """Control of a fakebroker: its clock, topics, groups, coordinators, nodes and journal.

Names are those of the Python API.

The paths are those of the served broker. Those about a broker also exist under `/brokers/{broker_id}`, the second
server of this document, for each isolated broker that `POST /brokers` made. Errors are problem documents (RFC 9457)
that name the field and its value; then nothing changed.
"""
_SERVERS = [
    {"url": "/", "description": "The served broker, and paths that belong to no single broker."},
    {
        "url": "/brokers/{broker_id}",
        "description": "An isolated broker: the paths about a broker's clock, topics, groups, faults, journal, ...",
        "variables": {"broker_id": {"default": "b1", "description": "The `broker_id` that `POST /brokers` answered."}},
    },
]
_STATUSES = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    403: "The caller is a page of another site.",
    404: "The path or an argument names something that does not exist.",
    408: "A wait timed out.",
    409: "The state of the broker does not allow it.",
    413: "The body is too large.",
    415: "The content type of the body is not JSON.",
    422: "An argument is invalid, or Kafka refuses.",
    503: "The broker does not serve clients.",
}
_PROBLEM: Schema = {
    "type": "object",
    "description": "A problem document (RFC 9457).",
    "properties": {
        "type": {"type": "string", "description": "urn:fakebroker:problem: and the kind of problem."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and what would be right."},
        "field": {"type": "string", "description": "The invalid argument."},
        "value": {"description": "Its value."},
        "error": {"type": "string", "description": "Kafka's name of the error."},
        "error_code": {"type": "integer"},
    },
    "required": ["type", "title", "status", "detail"],
}
_BROKER: Schema = {
    "type": "object",
    "description": "An isolated broker.",
    "properties": {
        "broker_id": {"type": "string"},
        "bootstrap": {
            "type": "string",
            "description": "The value of bootstrap.servers: the advertised addresses, if there are any.",
        },
        "nodes": {"type": "array", "items": {"type": "integer"}},
        "idle_ttl_s": {"type": "number"},
    },
    "required": ["broker_id", "bootstrap", "nodes", "idle_ttl_s"],
}
_SNAPSHOT: Schema = {
    "type": "object",
    "description": "The durable state of a broker at one moment.",
    "properties": {
        "snapshot_id": {"type": "string"},
        "taken": {"type": "string", "format": "date-time", "description": "The broker's time of day at that moment."},
        "topics": {"type": "array", "items": {"type": "string"}},
        "nodes": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["snapshot_id", "taken", "topics", "nodes"],
}
_DIFF: Schema = {
    "type": "object",
    "description": "The differences of two journals.",
    "properties": {"is_same": {"type": "boolean"}, "lines": {"type": "array", "items": {"type": "string"}}},
    "required": ["is_same", "lines"],
}
_TEXT: Schema = {"type": "string"}
_SCENARIO: Schema = {
    "type": "object",
    "description": "A scenario, running or ended.",
    "properties": {
        "scenario_id": _TEXT,
        "broker_id": {"anyOf": [_TEXT, {"type": "null"}], "description": "The isolated broker that plays it."},
        "name": _TEXT,
        "about": _TEXT,
        "state": {"enum": ["playing", "passed", "failed", "cancelled"]},
        "steps": {"type": "integer", "description": "The number of steps taken."},
        "step": {"anyOf": [_TEXT, {"type": "null"}], "description": "The last step taken, with its position."},
        "problems": {"type": "array", "items": _TEXT, "description": "Expectations that did not hold."},
        "skipped": {"type": "array", "items": _TEXT, "description": "Steps that could not be taken, and why."},
        "transcript": {**_TEXT, "description": "The transcript, as text for people; left out in lists."},
    },
    "required": ["scenario_id", "broker_id", "name", "about", "state", "steps", "step", "problems", "skipped"],
}
_EXTRA_SCHEMAS: dict[str, Schema] = {
    "Scenario": _SCENARIO,
    "Scenarios": {"type": "array", "items": {"$ref": "#/components/schemas/Scenario"}},
    "Problem": _PROBLEM,
    "Broker": _BROKER,
    "Brokers": {"type": "array", "items": {"$ref": "#/components/schemas/Broker"}},
    "Snapshot": _SNAPSHOT,
    "Snapshots": {"type": "array", "items": {"$ref": "#/components/schemas/Snapshot"}},
    "JournalDiff": _DIFF,
    "Trace": {"type": "object", "description": "A trace in Chrome's JSON format."},
    "Errors": {"type": "array", "items": {"type": "string"}},
    "Health": {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]},
    "Document": {"type": "object", "description": "An OpenAPI document."},
    **ABOUT_SCHEMAS,
    **OVERVIEW_SCHEMAS,
    **TOPIC_SCHEMAS,
}


def document() -> dict[str, Json]:
    """The whole document."""
    schemas = Schemas(separate_properties())
    schemas.components.update(_EXTRA_SCHEMAS)
    paths: dict[str, dict[str, Json]] = {}
    for row in OPERATIONS:
        paths.setdefault(row.path, {})[row.verb.lower()] = _operation(row, schemas)
    for extra in EXTRAS:
        paths.setdefault(extra.path, {})[extra.verb.lower()] = _extra(extra, schemas)
    return for_generators(
        {
            "openapi": "3.1.0",
            "info": {"title": "fakebroker", "version": version_of_package(), "description": ABOUT},
            "servers": _SERVERS,
            "security": [{}, {"token": []}],
            "paths": paths,
            "components": {
                "schemas": dict(sorted(schemas.components.items())),
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )


def _operation(row: Operation, schemas: Schemas) -> dict[str, Json]:
    endpoint = Endpoint(row)
    result: dict[str, Json] = {
        "operationId": operation_id(row.verb, row.path),
        "tags": [row.path.split("/")[1]],
        "summary": OPERATION_TEXTS[f"{row.verb} {row.path}"].rstrip("."),
        "description": row.members[-1].doc,
        "parameters": [_path_parameter(name, kind) for name, kind in endpoint.path_kinds.items()],
        "responses": {**_good(row, schemas), **_errors(row.has_body)},
    }
    if not row.has_body:
        result["parameters"] += _query(row, endpoint.arguments)
    elif endpoint.arguments.parameters:
        result["requestBody"] = _body(row, endpoint.arguments, schemas)
    return result


def _extra(extra: Extra, schemas: Schemas) -> dict[str, Json]:
    schema: Schema = {"$ref": _REF.format(model=extra.schema)} if extra.schema else {"type": "string"}
    media: dict[str, Json] = {extra.media_type: {"schema": schema}}
    if extra.has_text:
        media["text/plain"] = {"schema": {"type": "string"}}
    content = {"content": media} if extra.status != 204 else {}
    about = {"description": _texts(extra.doc)["summary"], **content}
    good = {str(status): about for status in sorted((extra.status, *extra.also))}
    in_path = [part[1:-1] for part in extra.path.split("/") if part[:1] == "{"]
    statuses = _errors(extra.verb == "POST") | {str(s): _problem(_STATUSES[s]) for s in extra.errors}
    result: dict[str, Json] = {
        "operationId": operation_id(extra.verb, extra.path),
        "tags": [extra.path.split("/")[1]],
        **_texts(extra.doc),
        "parameters": [_path_parameter(name, TEXT) for name in in_path],
        "responses": {**good, **statuses},
    }
    if extra.is_public:
        result["security"] = []
    if extra.arguments is None:
        result["parameters"] += [_query_parameter(extra.path, name) for name in extra.query]
    if extra.arguments is not None:
        arguments = extra.arguments()
        body = result["requestBody"] = _body(extra, arguments, schemas)
        if extra.text_types:
            body["content"] |= {each: {"schema": {"type": "string"}} for each in extra.text_types}
            about_query = f"With a body of type {extra.text_types[0]}."
            result["parameters"] += [
                {
                    "name": name,
                    "in": "query",
                    "description": about_query,
                    "schema": _of_query(arguments.schema(JSON)["properties"][name]),
                }
                for name in extra.query
            ]
    elif extra.verb == "POST":
        result["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": {}}}}
    return result


def _query_parameter(path: str, name: str) -> dict[str, Json]:
    """A field of the query of an operation that is no power."""
    schema = (QUERY_SCHEMAS | OVERVIEW_QUERY | TOPIC_QUERY)[name]
    return {"name": name, "in": "query", "description": argument_text(path, name), "schema": schema}


def operation_id(verb: str, path: str) -> str:
    """A name for what a verb does on a path: "post_groups_wait"."""
    words = [part for part in path.split("/") if part and part[0] != "{"]
    one = ["one"] if path.endswith("}") else []
    return re.sub(r"\W", "_", "_".join([verb.lower(), *words, *one]))


def _texts(doc: str) -> dict[str, str]:
    """The first sentence of a docstring, and all of it."""
    text = re.sub(r"[ \n]+", " ", doc.replace("``", "`").strip())
    summary = re.split(r"(?<=[.:])\s", text)[0].rstrip(".:")
    return {"summary": summary, "description": doc}


def _path_parameter(name: str, kind: Kind) -> dict[str, Json]:
    schema = kind.schema()
    about = {**schema, "minLength": 1} if schema.get("type") == "string" else schema
    return {"name": name, "in": "path", "required": True, "schema": about}


def _query(row: Operation, arguments: Arguments) -> Iterator[dict[str, Json]]:
    example = row.example or {}
    schemas = arguments.schema(JSON)["properties"]
    for name, parameter in arguments.parameters.items():
        schema = _of_query(schemas[name])
        needed = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
        entry: dict[str, Json] = {"name": name, "in": "query", "required": needed, "schema": schema}
        entry["description"] = argument_text(row.path, name)
        if name in example:
            entry["example"] = example[name]
        yield entry


def _of_query(schema: Schema) -> Schema:
    """A field of a query, which is left out where a body may have null or its default."""
    return without_null({key: value for key, value in schema.items() if key not in ("title", "minItems", "default")})


def _body(row: Operation | Extra, arguments: Arguments, schemas: Schemas) -> dict[str, Json]:
    schema = arguments.schema(_DocumentForm(schemas.components))
    for name, field in schema["properties"].items():
        schema["properties"][name] = {**field, "description": argument_text(row.path, name)}
    schemas.components[arguments.title] = optional_fields(schema)
    media = {"schema": {"$ref": _REF.format(model=arguments.title)}, "example": dict(row.example or {})}
    return {"required": bool(arguments.required), "content": {"application/json": media}}


class _DocumentForm(JsonForm):
    """Mappings with named fields are components of the document."""

    def __init__(self, components: dict[str, Schema]) -> None:
        self._components = components

    def component(self, name: str, about: str, schema: Schema, defaults: Mapping[str, Any]) -> Schema:
        """A reference; the schema is put among the components."""
        properties = {
            field: each | ({"default": defaults[field]} if field in defaults else {})
            for field, each in schema["properties"].items()
        }
        self._components[name] = optional_fields({**schema, "description": about, "properties": properties})
        return {"$ref": _REF.format(model=name)}


def _good(row: Operation, schemas: Schemas) -> dict[str, Json]:
    returns = row.returns
    if returns in (None, type(None)):
        return {"204": {"description": "Done."}}
    if returns is str and not row.members[-1].is_property:
        return {"200": {"description": "A text for people.", "content": {"text/plain": {"schema": {"type": "string"}}}}}
    content: dict[str, Json] = {"application/json": {"schema": schemas.of(returns)}}
    if has_text(row):
        content["text/plain"] = {"schema": {"type": "string"}}
    return {"201" if creates(row) else "200": {"description": "The result.", "content": content}}


def _errors(has_body: bool) -> dict[str, Json]:
    statuses = [401, 403, 404, 409, 422, *([400, 408, 413, 415] if has_body else [])]
    return {str(status): _problem(_STATUSES[status]) for status in sorted(statuses)}


def _problem(text: str) -> dict[str, Json]:
    return {
        "description": text,
        "content": {"application/problem+json": {"schema": {"$ref": _REF.format(model="Problem")}}},
    }
