"""The OpenAPI document says everything that generators of clients and readers need."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fakebroker.cli.http import extras, openapi
from fakebroker.cli.http.openapi import document
from fakebroker.cli.http.operations import OPERATIONS
from fakebroker.cli.http.schema_enums import rows
from tests.support.control import Client, with_control


def test_the_document_says_everything() -> None:
    """Each row has a summary, a tag, and an example where it has arguments that must be given."""
    paths: dict[str, Any] = document()["paths"]
    for row in OPERATIONS:
        operation = paths[row.path][row.verb.lower()]
        assert operation["summary"], row
        assert operation["tags"], row
    # OpenAPI 3.1, Components Object: what generators of clients make names from.
    assert [name for name in document()["components"]["schemas"] if not re.fullmatch(r"[a-zA-Z0-9._-]+", name)] == []
    ids = [operation["operationId"] for verbs in paths.values() for operation in verbs.values()]
    assert len(ids) == len(set(ids))
    assert (
        json.loads((Path(__file__).parents[3] / "docs" / "reference" / "openapi.json").read_text())["openapi"]
        == "3.1.0"
    )


def nodes(node: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object of a document with its path; examples and enums are data."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            if key not in ("example", "enum"):
                yield from nodes(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, each in enumerate(node):
            yield from nodes(each, f"{path}/{index}")


def bodies() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas of request bodies, with those that they refer to."""
    schemas = document()["components"]["schemas"]
    seen: set[str] = set()
    waiting = [
        media["schema"]["$ref"]
        for verbs in document()["paths"].values()
        for operation in verbs.values()
        for media in operation.get("requestBody", {}).get("content", {}).values()
        if "$ref" in media["schema"]
    ]
    while waiting:
        name = waiting.pop().rpartition("/")[2]
        if name not in seen:
            seen.add(name)
            yield name, schemas[name]
            waiting += [node["$ref"] for _, node in nodes(schemas[name]) if "$ref" in node]


def test_generators_of_clients_can_read_it() -> None:
    """No schema is `true` or `false`, every number has a format, and no field of a request body has a default."""
    for path, node in nodes(document()):
        assert not isinstance(node.get("items"), bool), path
        types = node.get("type")
        kinds = [types] if isinstance(types, str) else types if isinstance(types, list) else []
        if "integer" in kinds or "number" in kinds:
            assert node.get("format") in ("int32", "int64", "double"), path
    for name, body in bodies():
        for path, node in nodes(body):
            fields = node.get("properties", {})
            assert [field for field, each in fields.items() if "default" in each] == [], name + path


def test_what_a_body_may_leave_out_has_one_type() -> None:
    """To send null is the same as to leave a field out: clients of other languages get an optional field."""
    for name, body in bodies():
        for field, schema in body["properties"].items():
            if field not in body.get("required", ()):
                assert {"type": "null"} not in schema.get("anyOf", ()), (name, field)
                assert "null" not in schema["type"] if "type" in schema else True, (name, field)


def test_names_are_enumerated() -> None:
    """Actions, moments, states, releases and profiles can be completed in an editor."""
    schemas = document()["components"]["schemas"]
    for row in rows():
        name, _, field = row.partition(".")
        schema = schemas[name]["properties"][field]
        assert [each for each in schema.get("enum", ()) if each is not None], row
    assert "drop-answer" in schemas["FaultArguments"]["properties"]["action"]["enum"]
    assert {"4.3", "4.3.1"} <= set(schemas["BrokerOptions"]["properties"]["as_release"]["enum"])


def test_isolated_brokers_are_a_server() -> None:
    """A generated client reaches the paths of an isolated broker by its base URL."""
    served, isolated = document()["servers"]

    assert (served["url"], isolated["url"]) == ("/", "/brokers/{broker_id}")
    assert isolated["variables"].keys() == {"broker_id"}


def test_the_document_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds of processor time in which the broker serves no client, and it is the same at each request."""
    made = []

    def document() -> dict[str, object]:
        made.append(1)
        return {"openapi": "3.1.0"}

    monkeypatch.setattr(openapi, "document", document)
    extras._document.cache_clear()

    async def test(control: Client) -> None:
        first, second = [await control.ask("GET", "/openapi.json") for _ in range(2)]
        assert first.json() == second.json() == {"openapi": "3.1.0"}

    try:
        with_control(test)
    finally:
        extras._document.cache_clear()
    assert len(made) == 1
