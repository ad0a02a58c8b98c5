"""Annotations of functions and classes as types, with the names that only type checkers import."""

import ast
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NotRequired, Required, Unpack, get_args, get_origin, get_type_hints


def type_hints(function: Any, *, with_kinds: bool = False) -> dict[str, Any]:
    """The annotations of a function or class as types; those that only type checkers import are imported here.

    `with_kinds` keeps what `Annotated` adds to a type.
    """
    module = function.__module__
    return get_type_hints(function, vars(sys.modules[module]), _Names(module), include_extras=with_kinds)


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a method without `self`, their annotations as types; keywords of a TypedDict one by one.

    Annotations of what it returns are left alone: they would import modules that a call need not have.
    """
    found: list[inspect.Parameter] = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        hint = parameter.annotation
        if isinstance(hint, str):
            hint = eval(hint, vars(sys.modules[function.__module__]), _Names(function.__module__))
        if parameter.kind is parameter.VAR_KEYWORD and get_origin(hint) is Unpack:
            found += _keywords(get_args(hint)[0])
        else:
            found.append(parameter.replace(annotation=hint))
    return found


def _keywords(fields: Any) -> list[inspect.Parameter]:
    """The keywords that a TypedDict declares; they may all be left out."""
    kind = inspect.Parameter.KEYWORD_ONLY
    hints = {name: _bare(hint) for name, hint in type_hints(fields, with_kinds=True).items()}
    return [inspect.Parameter(name, kind, default=None, annotation=hint) for name, hint in hints.items()]


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint


class _Names(dict[str, Any]):
    """The names of a module that only type checkers import, imported when they are looked up."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __contains__(self, name: object) -> bool:
        """Python 3.14 asks this before it looks up a name."""
        return name in _imports_for_types(self._module)

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
