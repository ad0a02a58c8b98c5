"""Answers as a scenario speaks of them: fields in snake_case, errors by their names, bytes as what they say.

Beside every error code stands `error`, its name. At the top `error` is that of the answer, or, for an answer without
one, the first error found inside; "NONE" if there is none. Subscriptions and assignments of consumers are read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fakebroker.protocol.errors import ErrorCode, FakebrokerError, WireError, error_name
from fakebroker.protocol.records.batch import parse_header, read_records, split_batches
from fakebroker.protocol.records.consumer_protocol import assigned_partitions, decode_subscription
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema.entities import Entry, entries_in, field_of, fields_of, inner_of, value_in
from fakebroker.protocol.schema.jsonable import bytes_to_json, to_json, uuid_to_text
from fakebroker.protocol.schema.message import Declaration, Message, Struct
from fakebroker.protocol.schema.types import RECORDS, UUID, ArrayOf, Entity, FieldSpec, Primitive
from fakebroker.scenarios.playing.secret_values import marked

Json = Any
NONE = ErrorCode.NONE.name


def answer_view(answer: Message, version: int) -> dict[str, Json]:
    """An answer of this version, with the error that it gives."""
    view = _struct(answer, version)
    view["error"] = next(_errors(answer), NONE)
    return view


def message_json(message: Struct, version: int) -> dict[str, Json]:
    """A message as data with Kafka's field names; record batches as lists of records, where they can be read."""
    return to_json(message, version, _records_json)


def record_view(record: Any) -> dict[str, Json]:
    """One record of a batch, or one that is stored in a topic: its offset, time, key, value and headers."""
    return {
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": bytes_to_json(record.key),
        "value": bytes_to_json(record.value),
        "headers": {_header_name(name): bytes_to_json(value) for name, value in record.headers},
    }


def _header_name(name: bytes | str) -> str:
    """Bytes in a batch, text in a stored record."""
    return name if isinstance(name, str) else str(bytes_to_json(name))


def _records_json(data: bytes) -> Json:
    try:
        return [each for batch in split_batches(data) for each in _batch_view(batch)]
    except FakebrokerError:
        return {"hex": data.hex()}


def _batch_view(batch: bytes) -> list[Json]:
    view = _marker_view if parse_header(batch).is_control else record_view
    return [view(each) for each in read_records(batch)]


def _marker_view(record: Record) -> Json:
    """A control record: how a transaction ended, by name, or a type that later releases may have brought."""
    number = control_record_type(record.key)
    names = {kind.value: kind.name.lower() for kind in ControlRecordType}
    return {"offset": record.offset, "timestamp_ms": record.timestamp_ms, "marker": names.get(number, str(number))}


def _struct(message: Struct, version: int) -> dict[str, Json]:
    return _fields(message.fields, [getattr(message, spec.name) for spec in message.fields], version)


def _fields(specs: Sequence[FieldSpec], values: Sequence[Any], version: int) -> dict[str, Json]:
    view = {}
    for spec, value in zip(specs, values, strict=True):
        if spec.versions.includes(version):
            shown = _value(spec, value, version)
            view[spec.name] = marked(shown) if spec.entity == "secret" else shown
            if spec.entity == "errorCode":
                view["error"] = error_name(value)
    return view


def _value(spec: FieldSpec, value: Any, version: int) -> Json:
    if value is None:
        return None
    if isinstance(spec.type, ArrayOf):
        element = spec.type.element
        return [_element(spec.entity, element, each, version) for each in value]
    return _element(spec.entity, spec.type, value, version)


def _element(entity: Entity | None, kind: "Primitive | type[Declaration]", value: Any, version: int) -> Json:
    if not isinstance(kind, Primitive):
        return _fields(kind.fields, value, version) if kind.is_row else _struct(value, version)
    if kind is UUID:
        return uuid_to_text(value)
    if kind is RECORDS:
        return _records_json(bytes(value))
    if isinstance(value, bytes | bytearray | memoryview):
        read: Callable[[bytes], Json] = _READERS.get(entity, bytes_to_json)
        return read(bytes(value))
    return value


def _assignment(data: bytes) -> Json:
    try:
        return assigned_partitions(data)
    except WireError:
        return bytes_to_json(data)


def _subscription(data: bytes) -> Json:
    try:
        return {"topics": list(decode_subscription(data).topics)}
    except WireError:
        return bytes_to_json(data)


_READERS: Mapping[Entity | None, Callable[[bytes], Json]] = {"assignment": _assignment, "subscription": _subscription}


def _errors(answer: Message) -> Iterator[str]:
    """The errors in an answer, the outermost first."""
    todo: list[tuple[type[Declaration], Entry]] = [(type(answer), answer)]
    for declaration, entry in todo:
        code = field_of(declaration, "errorCode")
        if code is not None and value_in(declaration, entry, code):
            yield error_name(value_in(declaration, entry, code))
        for spec in declaration.fields:
            inner = inner_of(spec)
            if inner is not None and fields_of(inner, "errorCode"):
                todo += ((inner, each) for each in entries_in(declaration, entry, spec))
