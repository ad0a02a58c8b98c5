"""Requests without the fields that their API does not have: a chapter names a topic in every way that some API does."""

from typing import Any

from fakebroker.protocol.schema.entities import inner_of
from fakebroker.protocol.schema.message import Declaration

Json = Any


def fitting(declaration: type[Declaration], data: Json) -> Json:
    """A copy of a request, or of a structure in it, with the fields that it has in any version."""
    if isinstance(data, list):
        return [fitting(declaration, each) for each in data]
    if not isinstance(data, dict):
        return data
    kept = {}
    for spec in declaration.fields:
        if spec.kafka_name in data:
            inner, value = inner_of(spec), data[spec.kafka_name]
            kept[spec.kafka_name] = value if inner is None else fitting(inner, value)
    return kept
