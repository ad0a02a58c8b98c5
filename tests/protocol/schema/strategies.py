"""Random values for any declaration: what a message of a version can hold."""

from typing import Any

from hypothesis import strategies as st

from fakebroker.protocol.schema.message import Declaration, Message
from fakebroker.protocol.schema.types import BOOL, FLOAT64, STRING, UUID, ArrayOf, FieldSpec, Primitive

BYTES = st.binary(max_size=20) | st.binary(min_size=120, max_size=140)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["x" * 126, "é" * 64, "y" * 300]
)


def messages(cls: type[Message], version: int) -> st.SearchStrategy[Any]:
    """Messages that the version can carry: fields of other versions have their default."""
    return declared(cls, version, cls.flexible.includes(version))


def declared(cls: type[Declaration], version: int, flexible: bool) -> st.SearchStrategy[Any]:
    """A struct, or for rows a tuple; in flexible versions structs may bring unknown tags."""
    fields = {spec.name: field(spec, version, flexible) for spec in cls.fields if spec.versions.includes(version)}
    if cls.is_row:
        return st.tuples(*(fields.get(spec.name, st.builds(spec.fresh_default)) for spec in cls.fields))
    tags = st.none() | st.dictionaries(st.integers(100, 5000), BYTES, min_size=1, max_size=2) if flexible else st.none()
    return st.builds(_with_tags, st.builds(cls, **fields), tags)


def _with_tags(struct: Any, tags: dict[int, bytes] | None) -> Any:
    struct.unknown_tags = tags
    return struct


def field(spec: FieldSpec, version: int, flexible: bool) -> st.SearchStrategy[Any]:
    """What the field may hold: its type's values, null where allowed, and often its default."""
    if isinstance(spec.type, ArrayOf):
        values = st.lists(element(spec.type.element, version, flexible), max_size=3)
        if isinstance(spec.type.element, Primitive):
            values |= st.lists(element(spec.type.element, version, flexible), min_size=7, max_size=12)
    else:
        values = element(spec.type, version, flexible)
    choices: st.SearchStrategy[Any] = values
    if spec.default is not None:
        choices |= st.builds(spec.fresh_default)
    return choices | st.none() if spec.nullable.includes(version) else choices


def element(kind: "Primitive | type[Declaration]", version: int, flexible: bool) -> st.SearchStrategy[Any]:
    """Values of a type: the ends of number ranges, text of one to four bytes a character, lengths around 127."""
    if not isinstance(kind, Primitive):
        return declared(kind, version, flexible)
    if kind is STRING:
        return TEXT
    if kind is BOOL:
        return st.booleans()
    if kind is UUID:
        return st.binary(min_size=16, max_size=16)
    if kind is FLOAT64:
        return st.floats(allow_nan=False)
    if not kind.char:
        return BYTES
    bits = kind.size * 8
    low = 0 if kind.name.startswith("u") else -(2 ** (bits - 1))
    return st.sampled_from([low, low + 2**bits - 1, 0, 1]) | st.integers(low, low + 2**bits - 1)
