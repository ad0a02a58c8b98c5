"""JSON Schemas as generators of clients take them.

pydantic says what it checks; generators want names for it: formats of numbers, one type where a field may be absent,
no `default` in a request body (they would make the field required), and no schema that is `true` or `false`.
"""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from fakebroker.cli.http.schema_enums import declared_values

Schema = dict[str, Any]
NULL: Final[Schema] = {"type": "null"}
_INT64: Final = {"minimum": -(2**63), "maximum": 2**63 - 1}
# Kafka's int32 fields. Offsets, times, sequence numbers and the broker's own counters are int64.
_INT32: Final = frozenset(
    {
        "error_code", "generation", "index", "leader", "leader_epoch", "node", "node_id", "nodes", "partition",
        "partitions", "port", "replicas",
    }
)  # fmt: skip


def for_generators(document: Schema) -> Schema:
    """The whole document in this form; the schemas that it was made of stay as they are."""
    document = deepcopy(document)
    components: dict[str, Schema] = document["components"]["schemas"]
    for name, schema in components.items():
        for field, values in declared_values(name).items():
            _enumerate(schema.get("properties", {}).get(field, {}), values)
    _walk(document, _numbers)
    _walk(document, _one_type)
    return document


def optional_fields(schema: Schema) -> Schema:
    """The schema of a request body: fields with a default are optional, and their description says the default."""
    schema.pop("title", None)
    for name, field in schema.get("properties", {}).items():
        schema["properties"][name] = _optional(field)
    return schema


def _optional(field: Schema) -> Schema:
    """One field of a body. To send null is the same as to leave it out, where null is the default."""
    field = {key: value for key, value in field.items() if key != "title"}
    if "default" not in field:
        return field
    default = field.pop("default")
    if default is None:
        return without_null(field)
    shown = default if isinstance(default, str) else json.dumps(default)
    about = field.get("description", "")
    return {**field, "description": f"{about} Default: {shown}.".strip()}


def without_null(schema: Schema) -> Schema:
    """The schema of the values that are not null."""
    parts = [part for part in schema.get("anyOf", ()) if part != NULL]
    if not parts or len(parts) == len(schema["anyOf"]):
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**parts[0], **rest} if len(parts) == 1 else {"anyOf": parts, **rest}


def _enumerate(field: Schema, values: tuple[str, ...]) -> None:
    """Name the values of a text that does not name them itself."""
    for part in (field, *field.get("anyOf", ())):
        if part.get("type") == "string" and "enum" not in part:
            part["enum"] = list(values)


def _walk(node: Any, change: Callable[[str, Schema], None], name: str = "") -> None:
    """Change every schema, with the name of the field that it describes."""
    if isinstance(node, Mapping):
        change(name, node)  # type: ignore[arg-type]
        own = str(node.get("name", name)) if "in" in node else name  # a parameter has its name beside its schema
        for key, value in node.items():
            if key not in ("example", "examples", "enum"):
                _walk(value, change, own if key in _SAME_FIELD else str(key))
    elif isinstance(node, list):
        for each in node:
            _walk(each, change, name)


_SAME_FIELD: Final = frozenset({"schema", "items", "anyOf", "prefixItems"})


def _numbers(name: str, schema: Schema) -> None:
    if schema.get("type") == "integer":
        if all(schema.get(key) == value for key, value in _INT64.items()):
            for key in _INT64:
                del schema[key]
        schema.setdefault("format", "int32" if name in _INT32 else "int64")
    elif schema.get("type") == "number":
        schema.setdefault("format", "double")
    elif "enum" in schema and "type" not in schema and all(isinstance(each, str) for each in schema["enum"]):
        schema["type"] = "string"


def _one_type(_: str, schema: Schema) -> None:
    """`anyOf` of a plain type and null is one schema with both types."""
    parts = schema.get("anyOf", ())
    if len(parts) != 2 or NULL not in parts:
        return
    inner = parts[0] if parts[1] == NULL else parts[1]
    if isinstance(inner.get("type"), str):
        del schema["anyOf"]
        values = {"enum": [*inner["enum"], None]} if "enum" in inner else {}
        schema.update({**inner, **schema, **values, "type": [inner["type"], "null"]})
