"""Messages of which every field has an extreme of its kind: what wording and files have to get on with."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.types import BOOL, BYTES, FLOAT64, RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive
from tests.support.hostile_requests import bounds


class Extreme(NamedTuple):
    """What the fields have, by their kinds; the nearest number that a field can hold."""

    text: str
    number: int
    number_f: float
    data: bytes
    length: int  # of lists
    is_null: bool = False  # whatever can be


EXTREMES: Final = (
    Extreme("", 0, 0.0, b"", 1),
    Extreme("", -1, -1.0, b"\0", 2),
    Extreme("", 1, float("nan"), b"\xff" * 80, 1),
    Extreme("", 2**63, float("inf"), b"\0\0\0\0\0\0\0\0\x7f\xff\xff\xff" + bytes(70), 1),
    Extreme("\0%s\n\U0001f600", -(2**63), float("-inf"), bytes(61), 9),
    Extreme("", 0, 0.0, b"", 0),
    Extreme("", 0, 0.0, b"", 1, is_null=True),
)


def extreme_messages(declaration: type[Message], version: int) -> Iterator[Message]:
    """One message of a version for each of EXTREMES."""
    for extreme in EXTREMES:
        yield declaration(**_fields(declaration, version, extreme))


def _fields(declaration: Any, version: int, extreme: Extreme) -> dict[str, Any]:
    found = [spec for spec in declaration.fields if spec.versions.includes(version)]
    return {spec.name: _value(spec, version, extreme) for spec in found}


def _value(spec: FieldSpec, version: int, extreme: Extreme) -> Any:
    if extreme.is_null and spec.nullable.includes(version):
        return None
    if isinstance(spec.type, ArrayOf):
        return [_element(spec.type.element, version, extreme) for _ in range(extreme.length)]
    return _element(spec.type, version, extreme)


def _element(kind: Any, version: int, extreme: Extreme) -> Any:
    if isinstance(kind, Primitive):
        return _primitive(kind, extreme)
    values = _fields(kind, version, extreme)
    return tuple(values.get(e.name, e.fresh_default()) for e in kind.fields) if kind.is_row else kind(**values)


def _primitive(kind: Primitive, extreme: Extreme) -> Any:
    if kind in (STRING, BYTES, RECORDS):
        return extreme.text if kind is STRING else extreme.data
    if kind in (BOOL, FLOAT64):
        return extreme.number > 0 if kind is BOOL else extreme.number_f
    if kind is UUID:
        return extreme.data[:16].ljust(16, b"\0")
    low, high = bounds(kind)
    return max(low, min(high, extreme.number))
