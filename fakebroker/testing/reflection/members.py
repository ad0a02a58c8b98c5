"""The public members of the object model: their arguments, types and docstrings, read from the classes themselves."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from fakebroker.testing.broker import AsyncFakeBroker

HANDLES = "fakebroker.testing.handles."


class Member(NamedTuple):
    """One public property or method of a class of the object model."""

    owner: type
    name: str
    function: Callable[..., Any]
    is_property: bool
    is_settable: bool = False

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """The arguments without `self`, with resolved annotations; those without a name are Python's alone."""
        hints = type_hints(self.function)
        found = [each for each in list(inspect.signature(self.function).parameters.values())[1:] if _is_named(each)]
        return [parameter.replace(annotation=hints.get(parameter.name, Any)) for parameter in found]

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
    chain: list[Member] = []
    owner: type = AsyncFakeBroker
    for name in power.replace("[]", "").split("."):
        member = _member(owner, name)
        if member is None:
            raise LookupError(f"{owner.__name__} has no {name!r} (in {power!r})")
        chain.append(member)
        owner = next(handles_in(member.returns), object)
    return chain


def reachable_handles() -> list[type]:
    """Every class of handles that a test gets from a broker, directly or by way of another handle."""
    found: list[type] = [AsyncFakeBroker]
    for owner in found:
        for member in members_of(owner).values():
            found += [handle for handle in handles_in(member.returns) if handle not in found]
    return found[1:]


def parameters_of(member: Member) -> list[inspect.Parameter]:
    """Those of a method; of a property that can be set, its value under its own name."""
    if not member.is_property:
        return member.parameters
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [inspect.Parameter(member.name, kind, annotation=member.returns)]


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


def type_hints(function: Any) -> dict[str, Any]:
    """The annotations of a function or class as types; those that only type checkers import are imported here."""
    return get_type_hints(function, vars(sys.modules[function.__module__]), _Names(function.__module__))


def _is_named(parameter: inspect.Parameter) -> bool:
    return parameter.kind is not parameter.POSITIONAL_ONLY


def _member(owner: type, name: str) -> Member | None:
    found = inspect.getattr_static(owner, name, None)
    if isinstance(found, property) and found.fget is not None:
        return Member(owner, name, found.fget, is_property=True, is_settable=found.fset is not None)
    if inspect.isfunction(found):
        return Member(owner, name, found, is_property=False)
    return None


class _Names(dict[str, Any]):
    """The names of a module that only type checkers import, imported when they are looked up."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __missing__(self, name: str) -> Any:
        source = _imports_for_types(self._module)[name]
        return getattr(import_module(source), name)


@cache
def _imports_for_types(module: str) -> Mapping[str, str]:
    """What stands under `if TYPE_CHECKING:`, as name -> module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {
        alias.name: str(statement.module)
        for block in blocks
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
