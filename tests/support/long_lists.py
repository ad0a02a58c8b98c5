"""Requests with very many entries in one of their lists: of each API and of each list, as the messages declare them."""

from collections.abc import Iterator
from typing import Any

from fakebroker.protocol.schema.types import ArrayOf, FieldSpec, Primitive

Path = tuple[str, ...]
"""The names of fields on the way to a list."""

NAME = "retention.ms{}"  # a topic may be called so, and it is so much like a setting that the setting is looked for
CODES = {  # what entries are stored with; 0 and most other numbers close the connection or are refused at once
    "resource_type": 2,
    "resource_type_filter": 2,
    "resource_pattern_type": 4,
    "pattern_type_filter": 4,
    "operation": 3,
    "permission_type": 3,
    "config_operation": 0,
}
PRINCIPALS = ("principal", "principal_filter")


def list_paths(declaration: Any, version: int, path: Path = ()) -> Iterator[Path]:
    """The way to each list of a message."""
    for spec in declaration.fields:
        if spec.versions.includes(version):
            here, kind = (*path, spec.name), spec.type
            if isinstance(kind, ArrayOf):
                yield here
                kind = kind.element
            if not isinstance(kind, Primitive):
                yield from list_paths(kind, version, here)


def with_many(request: Any, version: int, target: Path, count: int, same: bool = False) -> dict[str, Any]:
    """The fields of a request with `count` entries in the list at `target`, and one in each other list.

    The entries differ in all that they hold, or are all the same.
    """
    return _values(request, version, target, (), count, 0, same)


def _values(
    declaration: Any, version: int, target: Path, path: Path, count: int, number: int, same: bool
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for spec in declaration.fields:
        here, kind = (*path, spec.name), spec.type
        if not spec.versions.includes(version) or (spec.tag is not None and here != target[: len(here)]):
            continue
        if isinstance(kind, ArrayOf):
            numbers = range(count if here == target else 1)
            values[spec.name] = [
                _value(kind.element, version, target, here, count, 0 if same else each, same) for each in numbers
            ]
        elif spec.name in CODES:
            values[spec.name] = CODES[spec.name]
        elif spec.name in PRINCIPALS:
            values[spec.name] = f"User:{number}"
        else:
            values[spec.name] = _value(kind, version, target, here, count, number, same)
    return values


def _value(kind: Any, version: int, target: Path, path: Path, count: int, number: int, same: bool) -> Any:
    if isinstance(kind, Primitive):
        return _number(kind, number)
    values = _values(kind, version, target, path, count, number, same)
    return tuple(values.get(each.name, _fresh(each)) for each in kind.fields) if kind.is_row else kind(**values)


def _fresh(spec: FieldSpec) -> Any:
    return spec.fresh_default()


def _number(kind: Primitive, number: int) -> Any:
    match kind.name:
        case "string":
            return NAME.format(number)
        case "uuid":
            return (number + 1).to_bytes(16, "big")
        case "int8":
            return number % 100
        case "int16" | "uint16":
            return number % 30_000
        case "int32" | "uint32" | "int64":
            return number
        case _:
            return kind.zero
