"""Messages as dialogues write them, and back: Kafka's field names, {"hex": ...} for bytes, base64 for ids.

A request may name fields that its version does not have; they are left out, as the recorder did. An answer has the
fields of its version, tagged ones only where they say something.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from fakebroker.dialogue.batches import read_batches
from fakebroker.dialogue.script import DialogueError, Json
from fakebroker.schema import Message
from fakebroker.schema.message import Declaration
from fakebroker.schema.types import RECORDS, UUID, ArrayOf, FieldSpec
from fakebroker.wire.registry import api

_BASE64_UUID_LENGTH = 22


def to_message(api_name: str, version: int, data: dict[str, Json]) -> Message:
    """A request of an API from its data. Raises DialogueError for unknown APIs and fields."""
    try:
        cls = api(api_name).request
    except KeyError:
        raise DialogueError(f"there is no API {api_name}") from None
    message: Message = _to_struct(cls, version, data)
    return message


def to_json(message: Message, version: int, wall_ms: int | None = None) -> dict[str, Json]:
    """A message as data. With `wall_ms` (now) record bytes are read as batches, see batches.py."""
    return _Writer(version, wall_ms).struct(message)


def _to_struct(cls: type[Declaration], version: int, data: dict[str, Json]) -> Any:
    specs = {spec.kafka_name: spec for spec in cls.fields}
    if unknown := data.keys() - specs.keys():
        raise DialogueError(f"{cls.kafka_name} has no {', '.join(sorted(unknown))}; it has {', '.join(specs)}")
    values = {
        spec.name: _to_value(spec, version, data[name])
        for name, spec in specs.items()
        if name in data and spec.versions.includes(version)
    }
    if cls.is_row:
        return tuple(values[spec.name] if spec.name in values else spec.fresh_default() for spec in cls.fields)
    return cls(**values)


def _to_value(spec: FieldSpec, version: int, value: Json) -> Any:
    if isinstance(spec.type, ArrayOf) and value is not None:
        return [_to_element(spec.type.element, version, entry) for entry in value]
    return _to_element(spec.type, version, value)


def _to_element(kind: Any, version: int, value: Json) -> Any:
    if isinstance(kind, type) and value is not None:
        return _to_struct(kind, version, value)
    if isinstance(value, dict) and value.keys() == {"hex"}:
        return bytes.fromhex(value["hex"])
    if kind == UUID:
        return _uuid_from_text(value)
    return value


def _uuid_from_text(text: str) -> bytes:
    """Both forms of writing an id: 22 characters of base64, or hexadecimal with or without hyphens."""
    return urlsafe_b64decode(text + "==") if len(text) == _BASE64_UUID_LENGTH else bytes.fromhex(text.replace("-", ""))


class _Writer:
    def __init__(self, version: int, wall_ms: int | None) -> None:
        self._version = version
        self._wall_ms = wall_ms

    def struct(self, message: Any) -> dict[str, Json]:
        data = self._fields(type(message).fields, [getattr(message, spec.name) for spec in type(message).fields])
        for tag, raw in (message.unknown_tags or {}).items():
            data[f"tag{tag}"] = {"hex": raw.hex()}
        return data

    def _fields(self, specs: tuple[FieldSpec, ...], values: Any) -> dict[str, Json]:
        return {
            spec.kafka_name: self._value(spec, value)
            for spec, value in zip(specs, values, strict=True)
            if spec.versions.includes(self._version) and (spec.tag is None or value != spec.fresh_default())
        }

    def _value(self, spec: FieldSpec, value: Any) -> Json:
        if isinstance(spec.type, ArrayOf) and value is not None:
            return [self._element(spec.type.element, entry) for entry in value]
        if spec.type == RECORDS and self._wall_ms is not None:
            return None if value is None else read_batches(bytes(value), self._wall_ms)
        return self._element(spec.type, value)

    def _element(self, kind: Any, value: Any) -> Json:
        if isinstance(kind, type) and issubclass(kind, Declaration) and value is not None:
            return self._fields(kind.fields, value) if isinstance(value, tuple) else self.struct(value)
        if kind == UUID:
            return urlsafe_b64encode(value).decode().rstrip("=")
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {"hex": bytes(value).hex()}
        return value
