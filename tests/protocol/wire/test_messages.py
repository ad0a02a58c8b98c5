"""Every declaration is compared with the facts of Kafka's message files (tests/data/messages)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from fakebroker.protocol.records import consumer_protocol, markers, offsets_schema
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.entities import inner_of
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import ArrayOf, Entity, FieldSpec, Primitive, Versions, parse_versions
from fakebroker.protocol.wire import drafts
from tests.protocol.wire.vectors import MESSAGES

FACTS = Path(__file__).resolve().parents[2] / "data" / "messages"
# Facts without effect on the wire, or about Kafka's own support of a version.
LEFT_OUT = {"kafka4Versions", "latestVersionUnstable"}
# Fields that have one of Kafka's words here although the message file is silent: their namesakes elsewhere have it.
SILENT = {
    "ConsumerProtocolSubscription.Topics",
    "DeleteShareGroupStateRequest.GroupId",
    "GroupMetadataKey.group",
    "InitializeShareGroupStateRequest.GroupId",
    "OffsetCommitKey.group",
    "OffsetCommitKey.topic",
    "ReadShareGroupStateRequest.GroupId",
    "ReadShareGroupStateSummaryRequest.GroupId",
    "ShareAcknowledgeResponse.Responses.Partitions.CurrentLeader.LeaderId",
    "ShareFetchResponse.Responses.Partitions.CurrentLeader.LeaderId",
    "WriteShareGroupStateRequest.GroupId",
}
# Names that mean different things from message to message.
SEVERAL_MEANINGS = {
    ("Epoch", "int32"),  # of a leader, of a topology of Streams
    ("Host", "string"),  # that an ACL is for
    ("Key", "string"),  # of a coordinator, a quota, a tag
    ("Name", "string"),  # of a topic, a setting, a user, a protocol, a feature, a listener
    ("Partition", "int32"),  # of a topic, a task of Streams
    ("Partitions", "[]int32"),
    ("ResourceName", "string"),  # with settings, with ACLs
    ("ResourceType", "int8"),
    ("Value", "string"),  # of a setting, of a tag
}
KAFKAS_WORDS = {"brokerId", "groupId", "producerId", "topicName", "transactionalId"}
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

DRAFTS = [each for each in vars(drafts).values() if isinstance(each, type) and issubclass(each, Message)][1:]


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
                *("ignorable", "mapKey", "flexibleVersions", "fields", "entityType"),
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
            "entity": fact.get("entityType"),
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


def without_our_words(message: type[Message]) -> dict[str, dict[str, Any]]:
    """What the declaration says, with just those entities that Kafka's message file could have."""
    found = declared(message)
    for path, facts in found.items():
        if facts["entity"] not in KAFKAS_WORDS or f"{message.kafka_name}.{path}" in SILENT:
            facts["entity"] = None
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
        assert without_our_words(message) == expected(facts["fields"]), message.kafka_name
        assert message.versions == parse_versions(facts["validVersions"]), message.kafka_name
        assert message.flexible == parse_versions(facts["flexibleVersions"]), message.kafka_name
        if facts["type"] in ("request", "response"):
            assert message.api_key == facts["apiKey"], message.kafka_name


def every_field(declaration: type[Declaration], path: str = "") -> Iterator[tuple[str, FieldSpec]]:
    for spec in declaration.fields:
        yield f"{path}.{spec.kafka_name}", spec
        inner = inner_of(spec)
        if inner is not None:
            yield from every_field(inner, f"{path}.{spec.kafka_name}")


def test_entities_are_words_of_the_one_list() -> None:
    """Every entity that a field has is in `Entity`, and every word of it is said by a field."""
    said = {spec.entity for message in (*MESSAGES, *STORED) for _, spec in every_field(message)}

    assert said - {None} == set(get_args(Entity))


def test_silent_fields_have_an_entity() -> None:
    """What stands in SILENT is there, and is declared with a word of Kafka's all the same."""
    all_fields = {path: spec for each in (*MESSAGES, *STORED) for path, spec in every_field(each, each.kafka_name)}

    assert {all_fields[path].entity for path in SILENT} <= KAFKAS_WORDS


def test_namesakes_mean_the_same() -> None:
    """Fields of one name and type have one entity in all messages, but for names that mean several things."""
    meanings: dict[tuple[str, str], dict[str | None, list[str]]] = {}
    for message in (*MESSAGES, *STORED, *DRAFTS):
        for path, spec in every_field(message, message.kafka_name):
            by_entity = meanings.setdefault((spec.kafka_name, type_name(spec)), {})
            by_entity.setdefault(spec.entity, []).append(path)

    several = {key: found for key, found in meanings.items() if len(found) > 1 and key not in SEVERAL_MEANINGS}
    assert several == {}


def test_what_sounds_secret_is_declared_so() -> None:
    """A field that is named like a password or a key has the entity by which it is redacted."""
    for message in (*MESSAGES, *STORED, *DRAFTS):
        for path, spec in every_field(message, message.kafka_name):
            if re.search(r"(?i)password|secret|hmac|salt|auth_?bytes", spec.kafka_name):
                assert spec.entity == "secret", path


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
