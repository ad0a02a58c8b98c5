"""The syntax trees of the repository's Python files, parsed and walked once for all tests of a process.

Some twenty tests of the house look at the same thousand files. To walk them takes as long as to parse them.
"""

import ast
import gc
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar, overload

ROOT = Path(__file__).resolve().parents[2]
A = TypeVar("A", bound=ast.AST)
B = TypeVar("B", bound=ast.AST)
C = TypeVar("C", bound=ast.AST)
D = TypeVar("D", bound=ast.AST)
WITHOUT_CHILDREN = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


@cache
def python_files(folder: str) -> tuple[Path, ...]:
    """The Python files of a folder of the repository, in order, or the file; not what `make setup-node` fetches."""
    place = ROOT / folder
    paths = [place] if place.is_file() else sorted(place.rglob("*.py"))
    return tuple(path for path in paths if "node_modules" not in path.parts)


def tree_of(path: Path) -> ast.Module:
    """The source of a file of the repository, parsed together with all of its folder."""
    return _trees_of(path.relative_to(ROOT).parts[0])[path]


@cache
def _trees_of(folder: str) -> dict[Path, ast.Module]:
    """Nothing in them is garbage; collections that look for it would take twice as long as parsing."""
    gc.collect()
    gc.disable()
    try:
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in python_files(folder)}
    finally:
        gc.freeze()
        gc.enable()


@overload
def nodes_of(tree: ast.AST, first: type[A], /) -> Iterator[A]: ...
@overload
def nodes_of(tree: ast.AST, first: type[A], second: type[B], /) -> Iterator[A | B]: ...
@overload
def nodes_of(tree: ast.AST, first: type[A], second: type[B], third: type[C], /) -> Iterator[A | B | C]: ...
@overload
def nodes_of(
    tree: ast.AST, first: type[A], second: type[B], third: type[C], fourth: type[D], /
) -> Iterator[A | B | C | D]: ...
@overload
def nodes_of(tree: ast.AST, *kinds: type[ast.AST]) -> Iterator[ast.AST]: ...
def nodes_of(tree: ast.AST, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of these kinds in a tree that is not changed: those of the first kind, those of the next, and so on.

    A node is of its own class only: `ast.stmt` finds nothing.
    """
    found = _by_kind(tree)
    for kind in kinds:
        yield from found.get(kind, ())


@cache
def _by_kind(tree: ast.AST) -> dict[type[ast.AST], list[ast.AST]]:
    """The nodes of a tree, those of each kind in the order of `ast.walk`."""
    found, todo = defaultdict[type[ast.AST], list[ast.AST]](list), [tree]
    for node in todo:  # which grows
        found[type(node)].append(node)
        todo += _children(node)
    return dict(found)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name in node._fields:
        value = getattr(node, name, None)
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, ast.AST) and not isinstance(each, WITHOUT_CHILDREN):
                yield each
