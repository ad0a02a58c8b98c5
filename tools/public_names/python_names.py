"""The public names of Python: the modules for users, and what docs/reference/python-api.md shows."""

import ast
import re
from collections.abc import Iterator

import fakebroker
import fakebroker.oauth
import fakebroker.tls
import fakebroker.types
from tools.python_api_page import python_api_page

_MODULES = (fakebroker, fakebroker.types, fakebroker.tls, fakebroker.oauth)


def python_names() -> Iterator[str]:
    """Modules with their names, classes with their members, callables with their parameters."""
    for module in _MODULES:
        yield module.__name__
        yield from (f"{module.__name__}.{name}" for name in module.__all__)
    for name in fakebroker.tls.__all__:
        yield from (f"{name}.{each}" for each in dir(getattr(fakebroker.tls, name)) if not each.startswith("_"))
    yield "fakebroker.__version__"
    yield from names_of_page(python_api_page(""))


def names_of_page(page: str) -> Iterator[str]:
    """The names that the page has: `Class`, `Class.method`, `Class.method(parameter)`, `Class.property`."""
    owner = ""
    for line in page.splitlines():
        if found := re.fullmatch(r"## (\w+)", line):
            owner = found[1]
            yield owner
        elif found := re.fullmatch(r"(?:### |- )?`(?:await )?(.+)`", line):
            yield from _of_signature(owner, found[1])


def _of_signature(owner: str, signature: str) -> Iterator[str]:
    name = re.match(r"\w+", signature)
    if name is None or owner == "Errors":
        return
    full = owner if name[0] == owner else f"{owner}.{name[0]}"
    yield full
    if signature[name.end() :].startswith("("):
        (function,) = ast.parse(f"def {signature}: ...").body
        assert isinstance(function, ast.FunctionDef)
        taken = function.args
        for each in (*taken.posonlyargs, *taken.args, taken.vararg, *taken.kwonlyargs):
            if each is not None:
                yield f"{full}({each.arg})"
