"""Messages as data for JSON, and back: Kafka's field names, {"hex": "..."} for bytes, base64 for UUIDs, and "NaN",
"Infinity", "-Infinity" for what JSON has no numbers for.

`to_json` lists the fields of one version, tagged ones only when they say something, unknown tags as "tag7".
`from_json` takes what `to_json` gives; fields of other versions are ignored, missing ones have their default, and a
UUID may also be hexadecimal, with or without hyphens.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from functools import cache
from math import isfinite
from typing import Any, Final, NamedTuple, TypeVar

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema.message import Declaration, Message, Struct, made
from fakebroker.protocol.schema.types import FLOAT64, RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive

M = TypeVar("M", bound=Message)
Json = Any

_BASE64_UUID_LENGTH = 22
_NO_NUMBERS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def to_json(message: Struct, version: int, show_records: Callable[[bytes], Json] | None = None) -> dict[str, Json]:
    """A message as data. `show_records` says how record bytes are shown, instead of as {"hex": ...}."""
    kind: Any = type(message)
    return _struct_to_json(message, _writers(kind, version), show_records)


def number_to_json(value: float) -> Json:
    """A number as JSON has it, or the text for one that JSON does not have."""
    return value if isfinite(value) else _NO_NUMBERS[str(value)]


def from_json(cls: type[M], version: int, data: dict[str, Json]) -> M:
    """A message from data. Raises WireError for unknown field names and values that are nothing of the kind."""
    message: M = _struct(cls, version, data, cls.kafka_name)
    return message


_ShowRecords = Callable[[bytes], Json] | None
_Write = Callable[[Any, _ShowRecords], Json]


class _FieldWriter(NamedTuple):
    """How a field is written: from where, under which name, by what (None: as it is), unless it has its default."""

    position: int
    name: str
    kafka_name: str
    write: _Write | None
    tagged: FieldSpec | None


@cache
def _writers(kind: Any, version: int) -> tuple[_FieldWriter, ...]:
    """The fields that a version of a class of declarations has; found out once, since journals write every request."""
    return tuple(
        _FieldWriter(
            position,
            spec.name,
            spec.kafka_name,
            _list_writer(spec.type.element, version) if isinstance(spec.type, ArrayOf) else _writer(spec.type, version),
            None if spec.is_plain(version) else spec,
        )
        for position, spec in enumerate(kind.fields)
        if spec.is_plain(version) or spec.is_tagged(version)
    )


def _list_writer(kind: "Primitive | type[Declaration]", version: int) -> _Write:
    write = _writer(kind, version)
    if write is None:
        return lambda items, _show: list(items)
    return lambda items, show: [write(item, show) for item in items]


def _writer(kind: "Primitive | type[Declaration]", version: int) -> _Write | None:
    """What writes a value of that type, which is not None; None for what JSON has."""
    if not isinstance(kind, Primitive):
        declared: Any = kind
        writers = _writers(declared, version)
        of_kind: Any = _row_to_json if kind.is_row else _struct_to_json
        return lambda value, show: of_kind(value, writers, show)
    if kind is UUID:
        return lambda value, _show: uuid_to_text(value)
    if kind is RECORDS:
        return lambda value, show: show(bytes(value)) if show else _hex(value)
    if kind is FLOAT64:
        return lambda value, _show: number_to_json(value)
    return None if kind.char or kind is STRING else lambda value, _show: _hex(value)


def _struct_to_json(message: Struct, writers: tuple[_FieldWriter, ...], show: _ShowRecords) -> dict[str, Json]:
    data: dict[str, Json] = {}
    for _, name, kafka_name, write, tagged in writers:
        value = getattr(message, name)
        if tagged is None or value != tagged.fresh_default():
            data[kafka_name] = value if write is None or value is None else write(value, show)
    for tag, raw in (message.unknown_tags or {}).items():
        data[f"tag{tag}"] = _hex(raw)
    return data


def _row_to_json(row: Sequence[Any], writers: tuple[_FieldWriter, ...], show: _ShowRecords) -> dict[str, Json]:
    data: dict[str, Json] = {}
    for position, _, kafka_name, write, tagged in writers:
        value = row[position]
        if tagged is None or value != tagged.fresh_default():
            data[kafka_name] = value if write is None or value is None else write(value, show)
    return data


def _hex(value: bytes | bytearray | memoryview) -> Json:
    return {"hex": bytes(value).hex()}


def bytes_to_json(data: bytes | bytearray | memoryview | None) -> Json:
    """Bytes as their text if they are printable UTF-8, else {"hex": "..."}; None as None."""
    if data is None:
        return None
    try:
        text = bytes(data).decode()
    except UnicodeDecodeError:
        return {"hex": bytes(data).hex()}
    return text if text.isprintable() else {"hex": bytes(data).hex()}


def uuid_to_text(value: bytes) -> str:
    """The form in which Kafka prints a UUID: 22 characters of URL-safe base64."""
    return urlsafe_b64encode(value).decode().rstrip("=")


def uuid_from_text(text: str) -> bytes:
    """The 16 bytes of a UUID in Kafka's form or in hexadecimal. Raises ValueError."""
    try:
        if len(text) == _BASE64_UUID_LENGTH:
            value = urlsafe_b64decode(text + "==")
        else:
            value = bytes.fromhex(text.replace("-", ""))
    except (ValueError, Base64Error) as error:
        raise ValueError(f"{text!r} is not a UUID: {error}") from None
    if len(value) != 16:
        raise ValueError(f"{text!r} is not a UUID: it has {len(value)} bytes")
    return value


def _struct(cls: type[Declaration], version: int, data: Json, path: str) -> Any:
    if not isinstance(data, dict):
        raise WireError(f"{path}: {data!r} is not an object with the fields of {cls.kafka_name}")
    tags = {int(name[3:]): _bytes(raw, path) for name, raw in data.items() if name[:3] == "tag" and name[3:].isdigit()}
    specs = {spec.kafka_name: spec for spec in cls.fields}
    for name in data:
        if name not in specs and not (name[:3] == "tag" and name[3:].isdigit()):
            raise WireError(f"{path} has no field {name}; its fields are {', '.join(specs) or 'none'}")
    values = {
        spec.name: _value(spec, version, data[name], f"{path}.{name}")
        for name, spec in specs.items()
        if name in data and spec.versions.includes(version)
    }
    struct = made(cls, values)
    if not cls.is_row:
        struct.unknown_tags = tags or None
    return struct


def _value(spec: FieldSpec, version: int, value: Json, path: str) -> Any:
    if value is None:
        return None
    if not isinstance(spec.type, ArrayOf):
        return _element(spec.type, version, value, path)
    if not isinstance(value, list | tuple):
        raise WireError(f"{path}: {value!r} is not a list")
    return [_element(spec.type.element, version, item, f"{path}[{index}]") for index, item in enumerate(value)]


def _element(kind: "Primitive | type[Declaration]", version: int, value: Json, path: str) -> Any:
    if not isinstance(kind, Primitive):
        return _struct(kind, version, value, path)
    if kind is UUID:
        if not isinstance(value, str):
            raise WireError(f"{path}: {value!r} is not a UUID")
        try:
            return uuid_from_text(value)
        except ValueError as error:
            raise WireError(f"{path}: {error}") from None
    if kind is FLOAT64 and value in _NO_NUMBERS.values():
        return float(value)
    if kind.char or kind is STRING:
        return value
    return _bytes(value, path)


def _bytes(value: Json, path: str) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, dict) and value.keys() == {"hex"}:
        try:
            return bytes.fromhex(value["hex"])
        except (TypeError, ValueError) as error:
            raise WireError(f"{path}: {error}") from None
    raise WireError(f'{path}: {value!r} is not bytes; write {{"hex": "..."}}')
