"""Annotations of functions and classes as types, with the names that only type checkers import."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, ForwardRef, NotRequired, Required, Unpack, get_args, get_origin, get_type_hints

_KEPT = 1000  # functions and classes: the steps of a scenario ask for the same few again and again


def type_hints(function: Any, *, with_kinds: bool = False) -> dict[str, Any]:
    """The annotations of a function or class as types; those that only type checkers import are imported here.

    `with_kinds` keeps what `Annotated` adds to a type.
    """
    return dict(_type_hints(function, with_kinds))


@lru_cache(maxsize=_KEPT)
def _type_hints(function: Any, with_kinds: bool) -> dict[str, Any]:
    module = function.__module__
    names = _imported(module, _annotations(function))
    return get_type_hints(function, vars(sys.modules[module]), names, include_extras=with_kinds)


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a method without `self`, their annotations as types; keywords of a TypedDict one by one.

    Annotations of what it returns are left alone: they would import modules that a call need not have.
    """
    return list(_parameters_of(function))


@lru_cache(maxsize=_KEPT)
def _parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    found: list[inspect.Parameter] = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        hint = parameter.annotation
        if isinstance(hint, str):
            module = function.__module__
            hint = eval(hint, vars(sys.modules[module]), _imported(module, [hint]))
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


def _imported(module: str, hints: Iterable[Any]) -> dict[str, Any]:
    """The names in annotations of a module that only type checkers import, with what they stand for."""
    sources = _imports_for_types(module)
    found = dict.fromkeys(name for hint in hints for name in _names_in(hint) if name in sources)
    return {name: getattr(import_module(sources[name]), name) for name in found}


def _annotations(function: Any) -> Iterator[Any]:
    """What a function is annotated with; of a class also what its bases are."""
    for each in getattr(function, "__mro__", (function,)):
        yield from getattr(each, "__annotations__", {}).values()


def _names_in(hint: Any) -> Iterator[str]:
    """The names in the parts of an annotation that are texts."""
    if isinstance(hint, ForwardRef):
        hint = hint.__forward_arg__
    if isinstance(hint, str):
        with suppress(SyntaxError):  # a text inside Literal
            for node in ast.walk(ast.parse(hint, mode="eval")):
                if isinstance(node, ast.Name):
                    yield node.id
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield from _names_in(node.value)
    else:
        for part in hint if isinstance(hint, list) else get_args(hint):
            yield from _names_in(part)


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
