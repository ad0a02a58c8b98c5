"""The public members of the object model: their arguments, types and docstrings, read from the classes themselves."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import lru_cache
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

from fakebroker.protocol import annotations
from fakebroker.protocol.annotations import type_hints
from fakebroker.testing.broker import AsyncFakeBroker

HANDLES = "fakebroker.testing.handles."


class Member(NamedTuple):
    """One public property or method of a class of the object model."""

    owner: type
    name: str
    function: Callable[..., Any]
    is_property: bool
    setter: Callable[..., Any] | None = None

    @property
    def is_settable(self) -> bool:
        """Whether it is a property that can be set."""
        return self.setter is not None

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """The arguments without `self`, with resolved annotations; those without a name are Python's alone."""
        return [each for each in annotations.parameters_of(self.function) if _is_named(each)]

    @property
    def returns(self) -> Any:
        """The resolved annotation of what it returns."""
        return type_hints(self.function).get("return", Any)

    @property
    def doc(self) -> str:
        """Its docstring."""
        return inspect.getdoc(self.function) or ""

    def __str__(self) -> str:
        return f"{self.owner.__name__}.{self.name}"


def members_of(owner: type) -> dict[str, Member]:
    """The public members of a class and its bases by name, in the order of the source."""
    names = dict.fromkeys(name for each in reversed(owner.__mro__) for name in vars(each) if name[0] != "_")
    return {name: member for name in names if (member := _member(owner, name)) is not None}


def find(power: str) -> list[Member]:
    """The members that lead to a power: "group.wait" is AsyncFakeBroker.group, then GroupHandle.wait.

    "group.holds[].release" goes by way of a list of handles, of which one is picked. Raises LookupError for a name that
    is not there.
    """
    return list(_found(power))


@lru_cache(maxsize=1000)
def _found(power: str) -> tuple[Member, ...]:
    """The same, read once: each request of the control port asks for several."""
    chain: list[Member] = []
    owner: type = AsyncFakeBroker
    for name in power.replace("[]", "").split("."):
        member = _member(owner, name)
        if member is None:
            raise LookupError(f"{owner.__name__} has no {name!r} (in {power!r})")
        chain.append(member)
        owner = next(handles_in(member.returns), object)
    return tuple(chain)


def reachable_handles() -> list[type]:
    """Every class of handles that a test gets from a broker, directly or by way of another handle."""
    found: list[type] = [AsyncFakeBroker]
    for owner in found:
        for member in members_of(owner).values():
            found += [handle for handle in handles_in(member.returns) if handle not in found]
    return found[1:]


def parameters_of(member: Member) -> list[inspect.Parameter]:
    """Those of a method; of a property that can be set, its value under its own name."""
    return member.parameters if member.setter is None else annotations.parameters_of(member.setter)


def handles_in(hint: Any) -> Iterator[type]:
    """The classes of handles that a type names."""
    if is_handle(hint):
        yield hint
    for part in get_args(hint):
        yield from handles_in(part)


def is_handle(hint: Any) -> bool:
    """Whether a type is a class of handles: one of the package `handles` that is not a mere value."""
    is_class = isinstance(hint, type) and hint.__module__.startswith(HANDLES)
    return is_class and not issubclass(hint, tuple) and not is_dataclass(hint)


def is_optional(hint: Any) -> bool:
    """Whether a type allows None."""
    return get_origin(hint) in (Union, UnionType) and type(None) in get_args(hint)


def _is_named(parameter: inspect.Parameter) -> bool:
    return parameter.kind is not parameter.POSITIONAL_ONLY


def _member(owner: type, name: str) -> Member | None:
    found = inspect.getattr_static(owner, name, None)
    if isinstance(found, property) and found.fget is not None:
        return Member(owner, name, found.fget, is_property=True, setter=found.fset)
    if inspect.isfunction(found):
        return Member(owner, name, found, is_property=False)
    return None
