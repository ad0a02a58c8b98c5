"""Recorded messages as scenarios write them: fields in snake_case, bytes as text, durations with units."""

from collections.abc import Callable, Mapping
from typing import Any

from fakebroker.protocol.errors import WireError, error_name
from fakebroker.protocol.records.consumer_protocol import (
    assigned_partitions,
    decode_assignment,
    decode_subscription,
)
from fakebroker.protocol.records.record_content import ReadRecord, bytes_of
from fakebroker.protocol.schema.jsonable import bytes_to_json
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import RECORDS, ArrayOf, FieldSpec, Primitive

Json = Any
Replace = Callable[[str, Json, Json], Json]  # (Kafka's field name, value, the struct around it) -> value to write

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


def fields_of(cls: type[Declaration], version: int, data: Json, replace: Replace) -> dict[str, Json]:
    """The fields of a struct that differ from their defaults, by our names."""
    found: dict[str, Json] = {}
    for spec in cls.fields:
        if spec.kafka_name in data and spec.versions.includes(version):
            value = _value(spec, version, replace(spec.kafka_name, data[spec.kafka_name], data), replace)
            if value != _default(spec):
                found[spec.name] = value
    return found


def _value(spec: FieldSpec, version: int, value: Json, replace: Replace) -> Json:
    if value is None:
        return None
    if isinstance(spec.type, ArrayOf):
        return [_element(spec.kafka_name, spec.type.element, version, each, replace) for each in value]
    return _element(spec.kafka_name, spec.type, version, value, replace)


def _element(name: str, kind: "Primitive | type[Declaration]", version: int, value: Json, replace: Replace) -> Json:
    if not isinstance(kind, Primitive):
        return fields_of(kind, version, value, replace)
    data = bytes_of(value)
    if data is not None:
        return {"hex": data.hex()} if kind is RECORDS else written(name, data)
    return value


def _default(spec: FieldSpec) -> Json:
    default = spec.fresh_default()
    return list(default) if isinstance(default, tuple) else default


def text_of(data: bytes | None) -> Json:
    """Bytes as text where they are printable and mean nothing else ("$" would), as {hex: ...} otherwise."""
    return {"hex": data.hex()} if data is not None and b"$" in data else bytes_to_json(data)


def written(name: str, data: bytes) -> Json:
    """Bytes of a field: a subscription or an assignment where they say nothing else."""
    form = _FORMS.get(name)
    found = form(data) if form is not None else None
    return text_of(data) if found is None else found


def _subscription(data: bytes) -> Json:
    """What a subscription says, if that is nothing but topics: its version does not matter to a broker."""
    try:
        found = decode_subscription(data)
    except WireError:
        return None
    is_plain = not found.user_data and not found.owned_partitions and not found.rack_id
    return {"subscription": list(found.topics)} if is_plain and found.generation_id == -1 else None


def _assignment(data: bytes) -> Json:
    try:
        found = decode_assignment(data)
    except WireError:
        return None
    return None if found.user_data else {"assignment": assigned(data)}


_FORMS: Mapping[str, Callable[[bytes], Json]] = {"Metadata": _subscription, "Assignment": _assignment}


def assigned(data: bytes) -> dict[str, list[int]] | None:
    """The partitions of a consumer's assignment by topic; None for other bytes."""
    try:
        return assigned_partitions(data)
    except WireError:
        return None


def record_step(record: ReadRecord) -> Json:
    """A record to produce: a text, or a mapping where there is more than a value."""
    value = text_of(record.value)
    if record.key is None and not record.headers and isinstance(value, str):
        return value
    made: dict[str, Json] = {"value": value}
    if record.key is not None:
        made = {"key": text_of(record.key), **made}
    if record.headers:
        made["headers"] = {name.decode("utf-8", "replace"): text_of(each) for name, each in record.headers}
    return made


def error_in(answer: Json) -> str:
    """The name of an answer's error, or of the first inside; "NONE" if there is none."""
    inner = [answer]
    for each in inner:
        if isinstance(each, dict):
            code = each.get("ErrorCode", 0)
            if code and isinstance(code, int):
                return error_name(code)
            inner += each.values()
        elif isinstance(each, list):
            inner += each
    return "NONE"


def duration_text(ms: int) -> str:
    """A duration as people write it: "3s", "1m 30s"."""
    parts = []
    for unit, unit_ms in _UNITS:
        if ms >= unit_ms:
            parts.append(f"{ms // unit_ms}{unit}")
            ms %= unit_ms
    return " ".join(parts) or "0ms"
