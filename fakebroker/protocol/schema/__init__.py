"""The declaration language for messages and records, and the generator of their codecs."""

from fakebroker.protocol.schema.message import Message, Row, Struct, field
from fakebroker.protocol.schema.types import (
    ZERO_UUID,
    Bool,
    Bytes,
    FieldSpec,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Place,
    Records,
    Str,
    UInt16,
    UInt32,
    Uuid,
)

__all__ = [
    "ZERO_UUID",
    "Bool",
    "Bytes",
    "FieldSpec",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Message",
    "Place",
    "Records",
    "Row",
    "Str",
    "Struct",
    "UInt16",
    "UInt32",
    "Uuid",
    "field",
]
