"""The fields of raw requests, from the declarations of the messages: what a scenario may say for each."""

from functools import cache

from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import BOOL, BYTES, FLOAT64, RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.language.kinds import (
    ANYTHING,
    FLAG,
    NULL,
    NUMBER,
    TEXT,
    Anything,
    FieldsOf,
    Kind,
    ListOf,
    OneOf,
    Reading,
    Schema,
    whole,
)
from fakebroker.scenarios.language.yaml_file import Items, Node, Scalar, Table

BYTES_FORMS = ("hex", "subscription", "assignment")


class _Bytes(Anything):
    """Bytes: a text, or a mapping that says how they are made."""

    def fits(self, node: Node) -> bool:
        if isinstance(node, Table):
            return len(node.keys) == 1 and next(iter(node.keys)) in BYTES_FORMS
        return isinstance(node, Scalar) and isinstance(node.value, str)

    def value(self, node: Node, reading: Reading) -> object:
        if not self.fits(node):
            raise self.wrong(node)
        return ANYTHING.read(node, reading)

    def schema(self) -> Schema:
        forms = {
            "hex": {"type": "string"},
            "subscription": {"type": "array", "items": {"type": "string"}},
            "assignment": {"type": "object"},
        }
        table = {"type": "object", "properties": forms, "additionalProperties": False, "maxProperties": 1}
        return {"anyOf": [{"type": "string"}, table]}


class _Records(Anything):
    """A list of records, or the bytes of batches."""

    def fits(self, node: Node) -> bool:
        return isinstance(node, Items) or _BYTES.fits(node)


_BYTES = _Bytes('bytes: a text, {hex: "..."}, {subscription: [orders]} or {assignment: {orders: [0]}}')
_RECORDS = _Records("a list of records, or bytes")


@cache
def fields_of(api_name: str) -> dict[str, Kind]:
    """The fields of the request of an API, by name."""
    return _fields(api(api_name).request)


def _fields(cls: type[Declaration]) -> dict[str, Kind]:
    return {spec.name: _kind(spec) for spec in cls.fields}


def _kind(spec: FieldSpec) -> Kind:
    if isinstance(spec.type, ArrayOf):
        kind: Kind = ListOf(_element(spec.type.element))
    else:
        kind = _element(spec.type)
    return OneOf([kind, NULL]) if spec.nullable.first <= spec.nullable.last or kind is _RECORDS else kind


def _element(kind: "Primitive | type[Declaration]") -> Kind:
    if not isinstance(kind, Primitive):
        return FieldsOf(_fields(kind), (), dict)
    if kind in (STRING, UUID):
        return TEXT
    if kind is BYTES:
        return _BYTES
    if kind is RECORDS:
        return _RECORDS
    if kind is BOOL:
        return FLAG
    if kind is FLOAT64:
        return NUMBER
    bits = kind.size * 8
    is_signed = not kind.name.startswith("u")
    return whole(-(1 << bits - 1) if is_signed else 0, (1 << bits - is_signed) - 1)
