"""Raw requests as scenarios write them: fields by name, bytes as text, hexadecimal, records or a subscription."""

from collections.abc import Mapping
from typing import Any

from fakebroker.client.record_steps import RecordSteps, rows_of
from fakebroker.protocol.errors import InvalidArgument, UnknownThing, nearest
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    encode_assignment,
    encode_subscription,
)
from fakebroker.protocol.schema.jsonable import uuid_from_text
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive
from fakebroker.scenarios.playing.arguments import as_taken

Json = Any


def request_fields(cls: type[Declaration], fields: Mapping[str, Json], path: str = "") -> dict[str, Any]:
    """The fields of a request with everything in them as the schema has it.

    Names may be ours ("group_id") or Kafka's ("GroupId"). Bytes are text, {hex: "..."}, {subscription: [topics]} or
    {assignment: {topic: [partitions]}}; records are a list as of the step `produce`. Raises UnknownThing for a field
    that does not exist, InvalidArgument for a value that cannot be one of its kind.
    """
    specs = {name: spec for spec in cls.fields for name in (spec.name, spec.kafka_name)}
    found = {}
    for name, value in fields.items():
        if name not in specs:
            known = [spec.name for spec in cls.fields]
            text = f"{path}{name}: {cls.kafka_name} has no such field; {nearest(name, known)}"
            raise UnknownThing(f"{path}{name}", value, text)
        spec = specs[name]
        found[spec.name] = _value(spec, value, f"{path}{spec.name}")
    return found


def _value(spec: FieldSpec, value: Json, path: str) -> Any:
    if value is None:
        return None
    if not isinstance(spec.type, ArrayOf):
        return _element(spec.type, value, path)
    if not isinstance(value, list | tuple):
        raise InvalidArgument(path, value, f"{path}={value!r} is not a list")
    return [_element(spec.type.element, each, f"{path}[{index}]") for index, each in enumerate(value)]


def _element(kind: "Primitive | type[Declaration]", value: Json, path: str) -> Any:
    if not isinstance(kind, Primitive):
        if not isinstance(value, Mapping):
            raise InvalidArgument(path, value, f"{path}={value!r} is not a mapping of the fields of {kind.kafka_name}")
        return request_fields(kind, value, f"{path}.")
    if kind is UUID:
        return value if isinstance(value, bytes) else _uuid(value, path)
    if kind is RECORDS and isinstance(value, list):
        return build_batch(rows_of(as_taken(RecordSteps.produce, "records", value), -1), leader_epoch=-1)
    if kind is STRING or kind.char:
        return value
    return as_bytes(value, path)


def as_bytes(value: Json, path: str) -> bytes | None:
    """Bytes of text, of {hex: "..."}, of {subscription: [...]} or of {assignment: {...}}."""
    match value:
        case None | bytes():
            return value
        case str():
            return value.encode()
        case {"hex": str(digits)}:
            return bytes_of_hex(digits, path)
        case {"subscription": list(topics)}:
            return encode_subscription(ConsumerProtocolSubscription(topics=topics))
        case {"assignment": dict(partitions)}:
            rows = [(topic, list(indexes)) for topic, indexes in partitions.items()]
            return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=rows))
    raise InvalidArgument(path, value, f'{path}={value!r} is not bytes: a text or {{hex: "..."}}')


def bytes_of_hex(digits: str, path: str) -> bytes:
    """Bytes of hexadecimal digits, with white space if wanted. Raises InvalidArgument."""
    try:
        return bytes.fromhex(digits)
    except ValueError as error:
        raise InvalidArgument(path, digits, f"{path}: {digits!r} is not hexadecimal: {error}") from None


def _uuid(value: Json, path: str) -> bytes:
    try:
        return uuid_from_text(str(value))
    except ValueError as error:
        raise InvalidArgument(path, value, f"{path}: {error}") from None
