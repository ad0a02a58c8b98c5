"""What handles and powers give, as a scenario speaks of it."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.schema.jsonable import bytes_to_json
from fakebroker.testing.handles.handle import Handle

Json = Any


def is_data(value: Any) -> bool:
    """Whether a value says something by itself; a handle and a snapshot are things, which have a name at best."""
    is_plain = value is None or isinstance(value, bool | int | float | str | bytes | list | tuple | Mapping | datetime)
    return is_plain or is_dataclass(value)


def value_view(value: Any) -> Json:
    """A value as data. Partitions, as keys too, are "orders-0", bytes are text; a handle is what it says of itself."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return bytes_to_json(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, Handle | TopicPartition) else _collection(value)


def _collection(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {_key(key): value_view(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: value_view(getattr(value, name)) for name in value._fields}
    if is_dataclass(value):
        return {each.name: value_view(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list | tuple):
        return [value_view(each) for each in value]
    return repr(value)


def _key(key: Any) -> str:
    return "-".join(map(str, key)) if isinstance(key, tuple) else str(key)
