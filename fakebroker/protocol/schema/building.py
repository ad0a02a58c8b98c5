"""Messages from fields by name, with mappings for the structs in them: what people write in tests and scripts."""

from collections.abc import Mapping
from typing import Any

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.schema.message import Declaration, made
from fakebroker.protocol.schema.types import ArrayOf, FieldSpec, Primitive


def built(cls: type[Declaration], fields: Mapping[str, Any], path: str = "") -> Any:
    """A message, struct or row of class `cls`, e.g. from {"topics": [{"name": "orders", "partition_indexes": [0]}]}.

    Field names are the declaration's; those left out have their defaults. Values that are structs already stay. Raises
    InvalidArgument for a field that does not exist.
    """
    specs = {spec.name: spec for spec in cls.fields}
    for name in fields:
        if name not in specs:
            at = f"{path}.{name}".removeprefix(".")
            raise InvalidArgument(
                at, fields[name], f"{cls.kafka_name} has no field {at!r}; its fields are {', '.join(specs) or 'none'}"
            )
    values = {name: _value(specs[name], value, f"{path}.{name}".removeprefix(".")) for name, value in fields.items()}
    return made(cls, values)


def _value(spec: FieldSpec, value: Any, path: str) -> Any:
    if isinstance(spec.type, ArrayOf) and isinstance(value, list | tuple):
        return [_element(spec.type.element, each, f"{path}[{index}]") for index, each in enumerate(value)]
    return value if isinstance(spec.type, ArrayOf) else _element(spec.type, value, path)


def _element(kind: "Primitive | type[Declaration]", value: Any, path: str) -> Any:
    if isinstance(kind, Primitive) or not isinstance(value, Mapping):
        return value
    return built(kind, value, path)
