"""Same seed, same inputs, same times in: same bytes out, in every process.

Two ways to look: the source may not iterate over sets, whose order depends on the process's hash seed; and a workload
that joins, commits, produces, fetches and expires is run in processes with different hash seeds.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from tests.support.sources import nodes_of, tree_of
from tests.test_house import SOURCES, above_the_line, name_of

# What may be given a set whatever its order: the result does not depend on it.
ORDER_FREE = {"sorted", "len", "min", "max", "any", "all", "set", "frozenset", "bool", "Counter"}
SET_METHODS = {"union", "intersection", "difference", "symmetric_difference"}
SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)


def is_set_annotation(annotation: ast.AST | None) -> bool:
    """Whether a name annotated so is a set: `set[str]`, `frozenset[int] | None`; or a dictionary of sets."""
    text = ast.unparse(annotation).strip("\"'") if annotation is not None else ""
    return text.split("[")[0] in {"set", "frozenset", "Set"} or "| set[" in text or ", set[" in text


def declared(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Every attribute, variable, parameter and function that a source declares, and whether it is a set."""
    for node in nodes_of(tree, ast.AnnAssign):
        yield ast.unparse(node.target).rpartition(".")[2], is_set_annotation(node.annotation)
    for argument in nodes_of(tree, ast.arg):
        if argument.annotation is not None:
            yield argument.arg, is_set_annotation(argument.annotation)
    for function in nodes_of(tree, ast.FunctionDef):
        yield function.name, is_set_annotation(function.returns)
    for assignment in nodes_of(tree, ast.Assign):
        if isinstance(assignment.targets[0], ast.Name) and is_set(assignment.value, set()):
            yield assignment.targets[0].id, True


@cache
def declarations_of(tree: ast.AST) -> list[tuple[str, bool]]:
    """The same as a list, which is made once."""
    return list(declared(tree))


def only_sets(declarations: list[tuple[str, bool]]) -> set[str]:
    """The names that are sets wherever they are declared."""
    return {name for name, is_one in declarations if is_one} - {name for name, is_one in declarations if not is_one}


@cache
def sets_everywhere() -> set[str]:
    """The names that are sets wherever the package declares them."""
    return only_sets([each for path in SOURCES for each in declarations_of(tree_of(path))])


def names_of_sets(tree: ast.AST) -> set[str]:
    """The names that mean a set in a source: by its own declarations, or by those of the whole package."""
    here = declarations_of(tree)
    return only_sets(here) | (sets_everywhere() - {name for name, is_one in here if not is_one})


def is_set(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression is a set, as far as its text tells."""
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in SET_METHODS:
            return is_set(value, names)
        case ast.Call(func=ast.Attribute(attr="get", value=value)):
            return is_set(value, names)
        case ast.Call(func=func):
            return is_set(func, names)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in names
        case ast.Subscript(value=value):
            return is_set(value, names)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, SET_OPERATORS):
            return is_set(left, names) or is_set(right, names)
    return False


def iterations_of(tree: ast.AST) -> Iterator[ast.expr]:
    """Every expression whose elements are taken in its own order, and may thereby reach an answer."""
    order_free = set()
    for call in nodes_of(tree, ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id in ORDER_FREE:
            order_free |= {id(arg) for arg in call.args}
    for node in nodes_of(tree, ast.For, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.Starred, ast.Call):
        match node:
            case ast.For(iter=source):
                yield source
            case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
                if id(node) not in order_free:
                    yield from (generator.iter for generator in generators)
            case ast.DictComp(generators=generators):
                yield from (generator.iter for generator in generators)
            case ast.Starred(value=value):
                yield value
            case ast.Call(func=ast.Name(id="list" | "tuple" | "iter" | "map" | "filter" | "zip" | "enumerate")):
                if id(node) not in order_free:
                    yield from node.args
            case ast.Call(func=ast.Attribute(attr="join" | "extend"), args=[argument]):
                yield argument
            case ast.Call(func=ast.Attribute(attr="pop", value=value), args=[]):
                yield value


def set_iterations(tree: ast.AST, names: set[str]) -> list[str]:
    """The lines of a module that iterate over a set."""
    return [f"{node.lineno}: {ast.unparse(node)}" for node in iterations_of(tree) if is_set(node, names)]


@pytest.mark.parametrize(
    "source",
    [
        "for kind in {name[0] for name in names}: print(kind)",
        "text = ', '.join(set(names))",
        "first = next(iter(self.names & others))",
        "rows = [row for row in self.names]",
        "name = self.names.pop()",
        "for name in self.by_key.get(key, ()): print(name)",
        "rows = [*(names - {'a'})]",
    ],
)
def test_the_check_sees_an_iteration_over_a_set(source: str) -> None:
    """Each of these would give another order under another hash seed."""
    assert set_iterations(ast.parse(source), {"names", "by_key"})


@pytest.mark.parametrize(
    "source",
    ["sorted(self.names)", "len({1, 2})", "any(name in others for name in self.names)", "'a' in self.names"],
)
def test_the_check_lets_pass_what_has_no_order(source: str) -> None:
    """Asking a set, or putting it in order, is what sets are for."""
    assert not set_iterations(ast.parse(source), {"names"})


def test_no_iteration_over_sets_above_the_line() -> None:
    """In the deterministic layers nothing depends on the order of a set."""
    found = {name_of(path): set_iterations(tree_of(path), names_of_sets(tree_of(path))) for path in above_the_line()}

    assert len(found) > 400
    assert {name: lines for name, lines in found.items() if lines} == {}


def bytes_of_workload(seed: int, hash_seed: str) -> bytes:
    """What the workload's broker sent and kept, in a process with that hash seed."""
    command = [sys.executable, "-m", "tests.serve.sim.workload", str(seed)]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": hash_seed})
    return done.stdout


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_workload_gives_the_same_bytes_in_every_process(seed: int) -> None:
    """Answers, ids, journal and the internal topic's bytes do not depend on the process's hash seed."""
    first, second = bytes_of_workload(seed, "1"), bytes_of_workload(seed, "3")

    assert len(first) > 50_000, "the workload did next to nothing"
    assert first.splitlines() == second.splitlines()


def test_another_seed_gives_other_bytes() -> None:
    """Member ids, topic ids and the cluster id follow from the seed."""
    assert bytes_of_workload(1, "1") != bytes_of_workload(2, "1")
