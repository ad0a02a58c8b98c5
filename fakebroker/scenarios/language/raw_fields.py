"""The fields of raw requests, from the declarations of the messages: what a scenario may say for each."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from fakebroker.protocol.arguments.forms import JSON, Form, Schema
from fakebroker.protocol.arguments.kinds import FLAG, NULL, NUMBER, TEXT, Anything, Kind, Whole
from fakebroker.protocol.arguments.structures import Fields, ListOf, OneOf
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import BOOL, BYTES, FLOAT64, RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive
from fakebroker.protocol.wire.registry import api

BYTES_FORMS = ("hex", "subscription", "assignment")


class _Bytes(Anything):
    """Bytes: a text, or a mapping that says how they are made."""

    def fits(self, value: Any, form: Form) -> bool:  # noqa: ARG002
        if isinstance(value, Mapping):
            return len(value) == 1 and next(iter(value)) in BYTES_FORMS
        return isinstance(value, str)

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        forms = {
            "hex": {"type": "string"},
            "subscription": {"type": "array", "items": {"type": "string"}},
            "assignment": {"type": "object"},
        }
        table = {"type": "object", "properties": forms, "additionalProperties": False, "maxProperties": 1}
        return {"anyOf": [{"type": "string"}, table]}


class _Records(Anything):
    """A list of records, or the bytes of batches."""

    def fits(self, value: Any, form: Form) -> bool:
        return isinstance(value, list) or _BYTES.fits(value, form)


_BYTES = _Bytes('bytes: a string, {hex: "..."}, {subscription: [orders]} or {assignment: {orders: [0]}}')
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
        return Fields(_fields(kind), (), dict)
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
    return Whole(-(1 << bits - 1) if is_signed else 0, (1 << bits - is_signed) - 1)
