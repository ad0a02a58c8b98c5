"""Copies between objects and states, which are named tuples whose fields have the names of the objects' attributes."""

from collections.abc import Iterable
from typing import Any, TypeVar

S = TypeVar("S")


def read_fields(kind: type[S], source: object, **given: object) -> S:
    """A state: the fields that are given, the others copied from the attributes of the same name."""
    fields: Iterable[str] = kind._fields  # type: ignore[attr-defined]  # there is no type for NamedTuple classes
    values = [given[name] if name in given else _frozen(getattr(source, name)) for name in fields]
    return kind(*values)


def write_fields(state: Any, target: object, *left_out: str) -> None:
    """Copy the fields of a state into the attributes of the same name."""
    for name, value in zip(state._fields, state, strict=True):
        if name not in left_out:
            setattr(target, name, thawed(value))


def _frozen(value: Any) -> Any:
    """A copy of plain values that nobody changes: lists as tuples."""
    if isinstance(value, list):
        return tuple([_frozen(each) for each in value])
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return value


def thawed(value: Any) -> Any:
    """A copy of its own for an object: tuples as lists, but for tuples with names."""
    if value.__class__ is tuple:
        return list(value)
    if isinstance(value, dict):
        return {key: thawed(each) for key, each in value.items()}
    return value
