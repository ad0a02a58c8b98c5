"""Messages on one line, for transcripts: what they say, in the notation of scenario files, without defaults.

    group_id: billing, member_id: member-1, orders-0: {committed_offset: 42}

Field names are those that a scenario writes. Topics with partitions are written as one entry for each partition, lists
of named things by their names, errors by their names, embedded consumer protocol and record batches as what they hold.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fakebroker.protocol.errors import WireError, error_name
from fakebroker.protocol.records.consumer_protocol import assigned_partitions, decode_subscription
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.schema.entities import field_of, fields_of, inner_of
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import RECORDS, ArrayOf, Entity, FieldSpec, Primitive
from fakebroker.protocol.wire.registry import api as find_api

Json = Any

NO_ID = uuid_to_text(ZERO_UUID)
MAX_ENTRIES = 12  # of one list
MAX_PARTITIONS = 6  # of one topic
MAX_BYTES_CHARS = 80
MAX_TEXT_CHARS = 400

# What every request of a scripted client carries unless a step says otherwise, or says nothing to a reader.
_USUAL: Mapping[str, tuple[Json, ...]] = {
    "acceptable_recovery_lag": (0,),
    "acknowledge_error_code": (0,),
    "acks": (-1,),
    "allow_auto_topic_creation": (True,),
    "batch_size": (500,),
    "cluster_authorized_operations": (-(2**31),),
    "topic_authorized_operations": (-(2**31),),
    "current_leader": ({"LeaderId": 0, "LeaderEpoch": 0}, {"LeaderId": -1, "LeaderEpoch": -1}),
    "current_leader_epoch": (-1,),
    "committed_leader_epoch": (-1,),
    "error_code": (0,),
    "forgotten_topics_data": ([],),
    "generation_id": (-1,),
    "generation_id_or_member_epoch": (-1,),
    "isolation_level": (0,),
    "last_fetched_epoch": (-1,),
    "log_append_time_ms": (-1,),
    "log_start_offset": (-1, 0),
    "max_bytes": (2**31 - 1, 1 << 20),
    "max_records": (500,),
    "max_wait_ms": (0,),
    "min_bytes": (1,),
    "partition_max_bytes": (1 << 20,),
    "preferred_read_replica": (-1,),
    "protocol_type": ("consumer",),
    "rebalance_timeout_ms": (300_000, -1),
    "replica_id": (-1,),
    "retention_time_ms": (-1,),
    "session_epoch": (-1,),
    "session_id": (0,),
    "session_timeout_ms": (45_000,),
    "share_acquire_mode": (0,),
    "task_offset_interval_ms": (0,),
    "throttle_time_ms": (0,),
    "timeout_ms": (30_000, 0),
}
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_$./+-][A-Za-z0-9_$./+@-]*(?: [A-Za-z0-9_$./+@-]+)*")


_LEFT_OUT = {("CreatableTopicResult", "configs")}  # all settings of a topic that was created, mostly defaults


def request_text(api: str, version: int, request: Json) -> str:
    """The fields of a request; "" when all are usual. None stands for bytes that are no request."""
    if request is None:
        return "bytes as they are"
    return flow(_fields(find_api(api).request, request)) if _is_known(api, version) else flow(request)


def answer_text(api: str, version: int, answer: Json) -> str:
    """The fields of an answer after its outcome: "ok", or the name of the first error in it."""
    if not _is_known(api, version):
        return flow(answer)
    fields = _fields(find_api(api).response, answer)
    first = next(_errors(fields), None)
    if fields.get("error") == first:
        fields.pop("error", None)
    return "  ".join(text for text in (first or "ok", flow(fields)) if text)


def flow(fields: Json) -> str:
    """The entries of a mapping as the notation of scenario files has them; any other value as it stands there."""
    if not isinstance(fields, Mapping):
        return value_text(fields)
    return ", ".join(_entry_text(name, value) for name, value in fields.items())


def value_text(value: Json) -> str:
    """A value in the notation of scenario files, on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case Mapping():
            return f"{{{flow(value)}}}"
        case list() | tuple():
            more = f", ... {len(value) - MAX_ENTRIES} more" if len(value) > MAX_ENTRIES else ""
            return f"[{', '.join(_item_text(each) for each in value[:MAX_ENTRIES])}{more}]"
        case _:
            return str(value)


class _Named(dict[str, Json]):
    """A mapping that is an entry of a list, with its name as the only key."""


class _Alone:
    """What stands for "only the name is shown"."""


_ALONE = _Alone()


def _entry_text(name: str, value: Json) -> str:
    return _quoted(name) if value is _ALONE else f"{_quoted(name)}: {value_text(value)}"


def _item_text(value: Json) -> str:
    return flow(value) if isinstance(value, _Named) else value_text(value)


def _quoted(text: str) -> str:
    """A text; in quotes where it would be read as something else."""
    if len(text) > MAX_TEXT_CHARS:
        text = f"{text[:MAX_TEXT_CHARS]}... ({len(text):,} characters)"
    if _PLAIN_TEXT.fullmatch(text):
        return text
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text).replace('"', '\\"')
    return f'"{shown}"'


def _is_known(api: str, version: int) -> bool:
    try:
        return find_api(api).request.versions.includes(version)
    except KeyError:
        return False


def _errors(value: Json) -> Iterator[str]:
    """The names of the errors in fields, in their order."""
    if isinstance(value, Mapping):
        if "error" in value and isinstance(value["error"], str):
            yield value["error"]
        for each in value.values():
            yield from _errors(each)
    elif isinstance(value, list):
        for each in value:
            yield from _errors(each)


def _fields(kind: type[Declaration], data: Json) -> dict[str, Json]:
    """The fields that say something, under our names."""
    if not isinstance(data, Mapping):
        return {"": data}
    known = {spec.kafka_name: spec for spec in kind.fields if (kind.kafka_name, spec.name) not in _LEFT_OUT}
    left_out = {spec.kafka_name for spec in kind.fields} - known.keys()
    fields: dict[str, Json] = {}
    for name, value in data.items():
        spec = known.get(name)
        if name in left_out:
            continue
        if spec is None:
            fields[name] = value
        elif (partitions := _by_partition(spec, value)) is not None:
            fields |= partitions
        elif not _is_usual(spec, value):
            fields["error" if spec.entity == "errorCode" else spec.name] = _shown(spec, value)
    return _without_repeats(fields)


def _without_repeats(fields: dict[str, Json]) -> dict[str, Json]:
    """Without the numbers that only say that there was an error, and without the same number twice."""
    if "error" in fields:
        fields = {name: value for name, value in fields.items() if value != -1}
    if fields.get("last_stable_offset") == fields.get("high_watermark"):
        fields.pop("last_stable_offset", None)
    return fields


def _is_usual(spec: FieldSpec, value: Json) -> bool:
    """Whether a value says nothing: empty, false, or what is always sent."""
    if isinstance(value, bool):
        return value == bool(spec.default)
    return value is None or value in ("", [], {"hex": ""}, NO_ID) or value in _USUAL.get(spec.name, ())


def _shown(spec: FieldSpec, value: Json) -> Json:
    if spec.entity == "errorCode" and isinstance(value, int):
        return error_name(value)
    if isinstance(value, list) and isinstance(spec.type, ArrayOf):
        return [_element(spec.type.element, each, spec.entity) for each in value]
    return _element(spec.type, value, spec.entity)


def _element(kind: Primitive | ArrayOf | type[Declaration], value: Json, entity: Entity | None) -> Json:
    if isinstance(kind, type) and issubclass(kind, Declaration):
        fields = _fields(kind, value)
        return _by_name(kind, fields)
    if isinstance(value, Mapping) and value.keys() == {"hex"}:
        return _bytes(bytes.fromhex(value["hex"]), entity)
    if kind is RECORDS and isinstance(value, list):
        return [_record(each) for each in value]
    return value


def _record(record: Json) -> Json:
    """A record without what it has not."""
    if not isinstance(record, Mapping):
        return record
    shown = {name: value for name, value in record.items() if value is not None and value != {}}
    return {"timestamp" if name == "timestamp_ms" else name: value for name, value in shown.items()}


def _by_name(kind: type[Declaration], fields: dict[str, Json]) -> Json:
    """A structure that begins with its name: by that name; its only other field without a name of its own."""
    first = kind.fields[0].name
    name = fields.get(first)
    if not isinstance(name, str) or kind.fields[0].entity == "errorCode":
        return fields
    rest = {key: value for key, value in fields.items() if key != first}
    only = next(iter(rest.values())) if len(rest) == 1 and rest.keys() <= {"metadata", "assignment", "value"} else rest
    return _Named({name: only if rest else _ALONE})


def _bytes(data: bytes, entity: Entity | None) -> Json:
    """Bytes as what they hold: a subscription, an assignment, text, else hexadecimal."""
    if not data:
        return ""
    if entity == "subscription":
        return _tried(data, _subscription)
    if entity == "assignment":
        return _tried(data, assigned_partitions)
    return _octets(data)


def _tried(data: bytes, read: Callable[[bytes], Json]) -> Json:
    try:
        return read(data)
    except (WireError, ValueError):
        return _octets(data)


def _subscription(data: bytes) -> Json:
    read = decode_subscription(data)
    shown: dict[str, Json] = {"topics": list(read.topics)}
    if read.user_data:
        shown["user_data"] = _octets(read.user_data)
    if read.owned_partitions:
        shown["owned"] = {topic: list(partitions) for topic, partitions in read.owned_partitions}
    if read.rack_id:
        shown["rack"] = read.rack_id
    return shown


def _octets(data: bytes | None) -> Json:
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and text:
        return text
    shown = data.hex()
    return shown if len(shown) <= MAX_BYTES_CHARS else f"{shown[:MAX_BYTES_CHARS]}... ({len(data):,} bytes)"


def _by_partition(spec: FieldSpec, value: Json) -> dict[str, Json] | None:
    """A list of topics with partitions as one entry for each; None for what is no such list, or names one twice."""
    if not isinstance(spec.type, ArrayOf) or not isinstance(value, list) or not value:
        return None
    kind = spec.type.element
    if isinstance(kind, Primitive):
        return None
    topic = [each for each in kind.fields if each.entity in ("topicName", "topicId")]
    lists = [each for each in kind.fields if _has_partitions(each)]
    if not topic or len(lists) != 1 or fields_of(kind, "configName"):  # with settings: a topic to be made
        return None
    found: dict[str, Json] = {}
    for entry in value:
        if not isinstance(entry, Mapping):
            return None
        name = next((str(entry[each.kafka_name]) for each in topic if entry.get(each.kafka_name)), "")
        rest = _fields(kind, {k: v for k, v in entry.items() if k != lists[0].kafka_name})
        for each in topic:
            if rest.get(each.name) == name or each.entity == "topicId":
                rest.pop(each.name, None)
        partitions = entry.get(lists[0].kafka_name) or []
        if rest or not partitions:
            found[name] = rest or _ALONE
        for key, shown in (_partition(name, lists[0], each) for each in partitions[:MAX_PARTITIONS]):
            if key in found:  # named twice: both are shown
                return None
            found[key] = shown
        if len(partitions) > MAX_PARTITIONS:
            found[f"{name}-..."] = f"{len(partitions) - MAX_PARTITIONS} more partitions"
    return found


def _has_partitions(spec: FieldSpec) -> bool:
    """Whether a field is a list of partitions: their numbers, or structures that have them."""
    inner = inner_of(spec)
    if not isinstance(spec.type, ArrayOf) or inner is None:
        return isinstance(spec.type, ArrayOf) and spec.entity == "partitionIndex"
    return field_of(inner, "partitionIndex") is not None


def _partition(topic: str, spec: FieldSpec, value: Json) -> tuple[str, Json]:
    kind = inner_of(spec)
    if kind is None or not isinstance(value, Mapping):
        return f"{topic}-{value}", _ALONE
    index = field_of(kind, "partitionIndex")
    number = "" if index is None else value.get(index.kafka_name, 0)
    rest = {name: each for name, each in value.items() if index is None or name != index.kafka_name}
    return f"{topic}-{number}", _fields(kind, rest) or _ALONE
