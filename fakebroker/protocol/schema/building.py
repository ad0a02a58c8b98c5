"""Messages from fields by name, with mappings for the structs in them: what people write in tests and scripts."""

from collections.abc import Callable, Mapping
from typing import Any

from fakebroker.protocol.errors import InvalidArgument, UnknownThing, nearest
from fakebroker.protocol.schema.entities import has_secrets, inner_of
from fakebroker.protocol.schema.message import Declaration, Struct, made
from fakebroker.protocol.schema.types import ArrayOf, FieldSpec, Primitive

Read = Callable[[Primitive, Any, str], Any]  # a value of a type, written at a path, as the message has it


def built(cls: type[Declaration], fields: Mapping[str, Any], read: Read = lambda _, value, __: value) -> Any:
    """A message, struct or row of class `cls`, e.g. from {"topics": [{"name": "orders", "partition_indexes": [0]}]}.

    Names of fields are the declaration's, or Kafka's; those left out have their defaults. Values that are structs
    already stay, and `read` makes plain values. Raises UnknownThing for a field that does not exist, InvalidArgument
    for what is no list or no structure, and what `read` raises.
    """
    return _built(cls, fields, read, "")


def _built(cls: type[Declaration], fields: Mapping[str, Any], read: Read, path: str) -> Any:
    specs = {name: spec for spec in cls.fields for name in (spec.name, spec.kafka_name)}
    values = {}
    for name, value in fields.items():
        at = f"{path}{name}"
        if name not in specs:
            known = nearest(name, [spec.name for spec in cls.fields])
            raise UnknownThing(at, value, f"{at}: {cls.kafka_name} has no such field; {known}")
        values[specs[name].name] = _value(specs[name], value, read, at)
    return made(cls, values)


def _value(spec: FieldSpec, value: Any, read: Read, path: str) -> Any:
    if value is None:
        return None
    if not isinstance(spec.type, ArrayOf):
        return _element(spec.type, value, read, path)
    if not isinstance(value, list | tuple):
        raise InvalidArgument(path, value, f"{path}: should be a list, not {_shown(inner_of(spec), value)}")
    return [_element(spec.type.element, each, read, f"{path}[{index}]") for index, each in enumerate(value)]


def _element(kind: "Primitive | type[Declaration]", value: Any, read: Read, path: str) -> Any:
    if isinstance(kind, Primitive):
        return read(kind, value, path)
    if isinstance(value, Mapping):
        return _built(kind, value, read, f"{path}.")
    if isinstance(value, Struct | tuple | list):
        return value
    raise InvalidArgument(
        path, value, f"{path}: should be a mapping of the fields of {kind.kafka_name}, not {_shown(kind, value)}"
    )


def _shown(kind: "type[Declaration] | None", value: Any) -> str:
    """A wrong value in place of structures of this kind: only its type where it may hold a secret, as a setting may."""
    return type(value).__name__ if kind is not None and has_secrets(kind) else repr(value)
