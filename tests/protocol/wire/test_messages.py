"""Every declaration is compared with the facts of Kafka's message files (tests/data/messages)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fakebroker.protocol.records import consumer_protocol, markers, offsets_schema
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import ArrayOf, FieldSpec, Primitive, Versions, parse_versions
from tests.protocol.wire.vectors import MESSAGES

FACTS = Path(__file__).resolve().parents[2] / "data" / "messages"
# Facts without effect on the wire, or about Kafka's own support of a version.
LEFT_OUT = {"entityType", "kafka4Versions", "latestVersionUnstable"}
ZERO = {"string": "", "bytes": b"", "records": None, "bool": False, "float64": 0.0, "uuid": bytes(16)}
ALL_VERSIONS = parse_versions("0+")
STORED: list[type[Message]] = [
    offsets_schema.OffsetCommitKey,
    offsets_schema.OffsetCommitValue,
    offsets_schema.GroupMetadataKey,
    offsets_schema.GroupMetadataValue,
    consumer_protocol.ConsumerProtocolSubscription,
    consumer_protocol.ConsumerProtocolAssignment,
    markers.ControlRecordTypeSchema,
    markers.EndTxnMarker,
]


def facts_of(message: type[Message]) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((FACTS / f"{message.kafka_name}.json").read_text())
    return facts


def within(inner: Versions, outer: Versions) -> Versions:
    """The versions in which a field is there, given those of the structure that holds it."""
    return Versions(max(inner.first, outer.first), min(inner.last, outer.last))


def expected(fields: list[dict[str, Any]], path: str = "", outer: Versions = ALL_VERSIONS) -> dict[str, dict[str, Any]]:
    """Field by field, in wire order, what the message file says."""
    found = {}
    for fact in fields:
        assert (
            not fact.keys()
            - LEFT_OUT
            - {
                *("name", "type", "versions", "nullableVersions", "tag", "taggedVersions", "default"),
                *("ignorable", "mapKey", "flexibleVersions", "fields"),
            }
        )
        assert fact.get("taggedVersions") in (None, fact["versions"])
        name = path + fact["name"]
        found[name] = {
            "type": fact["type"],
            "versions": within(parse_versions(fact["versions"]), outer),
            "nullable": parse_versions(fact.get("nullableVersions", "none")),
            "tag": fact.get("tag"),
            "default": default_of(fact),
            "ignorable": fact.get("ignorable", False),
            "flexible": fact.get("flexibleVersions") != "none",
            "map_key": fact.get("mapKey", False),
        }
        found |= expected(fact.get("fields", []), name + ".", found[name]["versions"])
    return found


def default_of(fact: dict[str, Any]) -> Any:
    """The default in Python's terms (GEN-2)."""
    text, kind = fact.get("default"), fact["type"]
    if text == "null":
        return None
    if kind.startswith("[]") or "fields" in fact:
        return ()
    if text is None:
        return ZERO.get(kind, 0)
    if kind == "string":
        return str(text)
    return str(text).lower() == "true" if kind == "bool" else int(str(text), 0)


def declared(
    declaration: type[Declaration], path: str = "", outer: Versions = ALL_VERSIONS
) -> dict[str, dict[str, Any]]:
    """Field by field, in the order declared, what our declaration says."""
    found = {}
    for spec in declaration.fields:
        name = path + spec.kafka_name
        facts = spec._asdict()
        found[name] = {key: facts[key] for key in facts if key not in ("name", "kafka_name", "varies")} | {
            "type": type_name(spec),
            "versions": within(spec.versions, outer),
        }
        inner = spec.type.element if isinstance(spec.type, ArrayOf) else spec.type
        if not isinstance(inner, Primitive):
            found |= declared(inner, name + ".", found[name]["versions"])
    return found


def type_name(spec: FieldSpec) -> str:
    inner = spec.type.element if isinstance(spec.type, ArrayOf) else spec.type
    name = inner.name if isinstance(inner, Primitive) else inner.kafka_name
    return f"[]{name}" if isinstance(spec.type, ArrayOf) else name


@pytest.mark.rules("GEN-1", "GEN-2", "GEN-7")
def test_declarations_agree_with_facts() -> None:
    """Every declaration has the fields of Kafka's message file, in its order, with all their facts."""
    for message in (*MESSAGES, *STORED):
        facts = facts_of(message)
        assert list(declared(message)) == list(expected(facts["fields"])), message.kafka_name
        assert declared(message) == expected(facts["fields"]), message.kafka_name
        assert message.versions == parse_versions(facts["validVersions"]), message.kafka_name
        assert message.flexible == parse_versions(facts["flexibleVersions"]), message.kafka_name
        if facts["type"] in ("request", "response"):
            assert message.api_key == facts["apiKey"], message.kafka_name


def snake_case(kafka_name: str) -> str:
    """`GroupId` is `group_id`; a run of capitals is one word."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kafka_name).lower()


def test_every_field_has_a_snake_case_name() -> None:
    """Names are Kafka's, mechanically: `GroupId` is `group_id` and nothing else."""
    todo: list[type[Declaration]] = [*MESSAGES, *STORED]
    others = set()
    while todo:
        declaration = todo.pop()
        for spec in declaration.fields:
            if spec.name != snake_case(spec.kafka_name):
                others.add((declaration.__name__, spec.name, spec.kafka_name))
            inner = spec.type.element if isinstance(spec.type, ArrayOf) else spec.type
            if not isinstance(inner, Primitive):
                todo.append(inner)

    assert others == set()


def test_every_module_tells_its_versions() -> None:
    """Each module of messages opens with notes that name its key and, if there are several, what versions changed."""
    for message in MESSAGES:
        notes = __import__(message.__module__, fromlist=["x"]).__doc__

        assert notes is not None
        assert f"key {message.api_key}" in notes
        assert "v1" in notes or message.versions.last == 0
