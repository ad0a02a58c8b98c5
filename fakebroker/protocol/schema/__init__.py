"""The declaration language for messages and records, and the generator of their codecs."""

from fakebroker.protocol.schema.message import Message, Row, Struct, field
from fakebroker.protocol.schema.types import (
    ZERO_UUID,
    Bool,
    Bytes,
    FieldSpan,
    FieldSpec,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
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
    "FieldSpan",
    "FieldSpec",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Message",
    "Records",
    "Row",
    "Str",
    "Struct",
    "UInt16",
    "UInt32",
    "Uuid",
    "field",
]
