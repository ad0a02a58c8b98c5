"""What the fields of messages mean, for code that reads messages of any API: found by `entity`, never by name.

A path leads from a message to one of its fields through the structures between them. It is found once for each class;
encoding and decoding do not look at entities.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from fakebroker.protocol.schema.message import Declaration, Struct
from fakebroker.protocol.schema.types import ArrayOf, Entity, FieldSpec, Primitive

FieldPath = tuple[FieldSpec, ...]
Entry = Struct | tuple[Any, ...]
"""An entry of a list, or a whole message: a struct, or the tuple of a row."""
Value = str | int | bytes

# What was found, by class. The functions are not cached by `functools`: to mypy a `type[Struct]` has no hash.
_fields: dict[tuple[type[Declaration], Entity], tuple[FieldPath, ...]] = {}
_own: dict[tuple[type[Declaration], tuple[Entity, ...]], FieldSpec | None] = {}
_indexes: dict[type[Declaration], dict[str, int]] = {}


def fields_of(declaration: type[Declaration], entity: Entity) -> tuple[FieldPath, ...]:
    """The paths to all fields that are declared with the entity, in wire order, at any depth."""
    found = _fields.get((declaration, entity))
    if found is None:
        found = _fields[declaration, entity] = tuple(_paths_to(declaration, entity))
    return found


def has_secrets(declaration: type[Declaration]) -> bool:
    """Whether messages of a class may carry secrets: fields that are, or settings with their values."""
    return bool(fields_of(declaration, "secret") or fields_of(declaration, "configValue"))


def field_of(declaration: type[Declaration], *entities: Entity) -> FieldSpec | None:
    """The structure's own field, no list, with the first of these entities that it has; None if it has none of them."""
    key = (declaration, entities)
    if key not in _own:
        single = [spec for spec in declaration.fields if not isinstance(spec.type, ArrayOf)]
        _own[key] = next((spec for each in entities for spec in single if spec.entity == each), None)
    return _own[key]


def values_of(message: Struct, entity: Entity) -> Iterator[Value]:
    """The values of all fields with the entity, those of lists one by one; without those that are null."""
    return values_in(type(message), message, entity)


def values_in(declaration: type[Declaration], entry: Entry, entity: Entity) -> Iterator[Value]:
    """The same of an entry, of which only the declaration says what a tuple's values are."""
    for path in fields_of(declaration, entity):
        yield from _values_at(declaration, entry, path)


def texts_of(message: Struct, entity: Entity) -> Iterator[str]:
    """The texts among `values_of`, but for the message's own field if it is empty, as in versions that lack it."""
    own = field_of(type(message), entity)
    has_empty = own is not None and getattr(message, own.name) == ""
    for value in values_of(message, entity):
        if has_empty and value == "":
            has_empty = False
        elif isinstance(value, str):
            yield value


def entries_in(declaration: type[Declaration], entry: Entry, spec: FieldSpec) -> Sequence[Entry]:
    """The structures in a field: those of its list, or the one that it has; none where it is null."""
    value = value_in(declaration, entry, spec)
    if value is None:
        return ()
    entries: Sequence[Entry] = value if isinstance(spec.type, ArrayOf) else (value,)
    return entries


def value_in(declaration: type[Declaration], entry: Entry, spec: FieldSpec) -> Any:
    """The value of a field of an entry, which is a struct or the tuple of a row."""
    if not isinstance(entry, tuple):
        return getattr(entry, spec.name)
    indexes = _indexes.get(declaration)
    if indexes is None:
        indexes = _indexes[declaration] = {each.name: index for index, each in enumerate(declaration.fields)}
    return entry[indexes[spec.name]]


def inner_of(spec: FieldSpec) -> type[Declaration] | None:
    """The class of the structure in a field, or of those in its list; None for a field without parts."""
    kind = spec.type.element if isinstance(spec.type, ArrayOf) else spec.type
    return None if isinstance(kind, Primitive) else kind


def _paths_to(declaration: type[Declaration], entity: Entity) -> Iterator[FieldPath]:
    for spec in declaration.fields:
        if spec.entity == entity:
            yield (spec,)
        inner = inner_of(spec)
        if inner is not None:
            yield from ((spec, *path) for path in fields_of(inner, entity))


def _values_at(declaration: type[Declaration], entry: Entry, path: FieldPath) -> Iterator[Value]:
    spec, deeper = path[0], path[1:]
    inner = inner_of(spec)
    if inner is not None:
        for each in entries_in(declaration, entry, spec):
            yield from _values_at(inner, each, deeper)
        return
    value = value_in(declaration, entry, spec)
    if isinstance(spec.type, ArrayOf):
        yield from value or ()
    elif value is not None:
        yield value
