"""What the pytest plugin offers: fixtures, options, settings of the configuration file, marks."""

import ast
from collections.abc import Iterator
from typing import Any

from fakebroker.cli.pytest import plugin
from tools.stages import ROOT


class _Parser:
    """Takes what the plugin declares, as pytest's parser and its configuration do."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def getgroup(self, _name: str) -> "_Parser":
        return self

    def addoption(self, name: str, **_facts: Any) -> None:
        self.found.append(f"option {name}")

    def addini(self, name: str, *_facts: Any, **_more: Any) -> None:
        self.found.append(f"ini {name}")


def plugin_names() -> Iterator[str]:
    """All of them."""
    parser: Any = _Parser()
    plugin.pytest_addoption(parser)
    yield from parser.found
    tree = ast.parse((ROOT / "fakebroker/cli/pytest/plugin.py").read_text())
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name, decorator_list=[first, *_]) if "pytest.fixture" in ast.unparse(first):
                if not name.startswith("_"):
                    yield f"fixture {name}"
            case ast.Call(func=ast.Attribute(attr="addinivalue_line"), args=[_, ast.Constant(value=text)]):
                yield from _marks(str(text))


def _marks(text: str) -> Iterator[str]:
    """`fakebroker(nodes=..., seed=...): ...` is a mark with two arguments."""
    call = ast.parse(text.partition("):")[0].replace(", ...", "") + ")", mode="eval").body
    assert isinstance(call, ast.Call)
    name = ast.unparse(call.func)
    yield f"mark {name}"
    yield from (f"mark {name}({each.arg})" for each in call.keywords if each.arg != "parameter")
