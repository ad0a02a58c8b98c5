"""Break the code of a rule once, and see whether a test notices: `python -m tools.mutate JG-14 HB-6`.

Beside the place that names the rule one small thing is changed, in a copy of the package. The tests and recordings
that show the rule run against the copy. If none of them fails, the other tests of the same files and those of the
changed module run. A mutation that none of them finds is either no change of behaviour, or a hole in the tests.
"""

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.quick_tests import mirror_of
from tools.rules_pages import ROOT, chapters, citations, evidence, rules_in

TIME_LIMIT_S: Final = 90
TOO_LONG: Final = f"no failure in {TIME_LIMIT_S} seconds"
CONFORMANCE: Final = "tests/conformance/test_sim.py"
NOT_HERE: Final = "not (long or clients or java or go or node or page or real_kafka or spark)"
# Of a line without a mutation of its own that names the rule.
NEAREST: Final = 3
NO_TESTS: Final = 5
NEGATED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
# Annotations and decorators change no behaviour, or break the import of the module.
SKIPPED: Final = frozenset({"annotation", "returns", "decorator_list", "bases", "type_params"})

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of a file: what stands between two places, and what comes there instead."""

    path: Path
    start: tuple[int, int]
    end: tuple[int, int]
    before: str
    after: str

    def applied(self, source: str) -> str:
        """The source with the change. Columns are counted in bytes, as `ast` does."""
        lines = source.encode().splitlines(keepends=True)
        (first, left), (last, right) = self.start, self.end
        changed = lines[first - 1][:left] + self.after.encode() + lines[last - 1][right:]
        return b"".join([*lines[: first - 1], changed, *lines[last:]]).decode()

    def __str__(self) -> str:
        return f"{self.path}:{self.start[0]}: {_short(self.before)} -> {_short(self.after)}"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the mutation of a rule: found, found by other tests, not found, or not applicable."""

    rule: str
    outcome: str
    mutation: Mutation | None = None
    test: str = ""

    def __str__(self) -> str:
        return f"{self.rule}\t{self.outcome}\t{self.mutation or ''}\t{self.test}".rstrip()


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 70 else f"{words[:67]}..."


# ---- mutations ------------------------------------------------------------------------------------------------------


def mutation_of(rule: str, seed: int) -> Mutation | None:
    """The mutation of a rule that a seed chooses; None if no code names the rule, or none that can be changed."""
    paths = [_linked(link) for link in citations().get(rule, [])]
    # Reports and scenarios may name a rule, too: what obeys it is the broker.
    of_broker = [path for path in paths if path.is_relative_to("fakebroker/broker")]
    ranked = [each for path in of_broker or paths for each in _near(rule, path)]
    best = min((rank for rank, _ in ranked), default=0)
    choice = [mutation for rank, mutation in ranked if rank == best]
    return random.Random(f"{rule} {seed}").choice(choice) if choice else None


def _linked(link: str) -> Path:
    """The path that a link of docs/rules leads to, from the root."""
    return Path(link.partition("](../../")[2].removesuffix(")"))


def _near(rule: str, path: Path) -> Iterator[tuple[int, Mutation]]:
    """(rank, mutation) beside each place of a file that names a rule; the docstring of a module says least of where."""
    source = (ROOT / path).read_text()
    tree = ast.parse(source)
    for number, line in enumerate(source.splitlines(), start=1):
        if rule in rules_in(line):
            scope = scope_of(tree, number)
            found = list(mutations(scope, path, source))
            if not _is_docstring(scope, number):
                on_line = [each for each in found if each.start[0] == number]
                nearest = on_line or sorted(found, key=lambda each: _distance(each, number))[:NEAREST]
                yield from ((0, each) for each in nearest)
            else:
                rank = {ast.Module: 2, ast.ClassDef: 1}.get(type(scope), 0)
                yield from ((rank, each) for each in found)


def _distance(mutation: Mutation, line: int) -> int:
    """How far from a line; a comment speaks of what follows it."""
    below = mutation.start[0] - line
    return 2 * below if below >= 0 else 1 - 2 * below


def scope_of(tree: ast.Module, line: int) -> Scope:
    """The innermost function or class around a line, or the module."""
    around = [
        node for node in ast.walk(tree) if isinstance(node, Scope) and not isinstance(node, ast.Module)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]  # fmt: skip
    return max(around, key=lambda node: node.lineno) if around else tree


def _is_docstring(scope: Scope, line: int) -> bool:
    first = scope.body[0]
    return ast.get_docstring(scope) is not None and first.lineno <= line <= (first.end_lineno or first.lineno)


def mutations(scope: Scope, path: Path, source: str) -> Iterator[Mutation]:
    """Every mutation of a piece of code."""
    for node in _walk(scope):
        for changed, after in _changes(node):
            if isinstance(changed, ast.expr | ast.stmt):
                start = changed.lineno, changed.col_offset
                end = changed.end_lineno or changed.lineno, changed.end_col_offset or changed.col_offset
                before = ast.get_source_segment(source, changed) or ""
                yield Mutation(path, start, end, before, after)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a node whose change could matter. Those in f-strings are only words."""
    yield node
    for name, value in ast.iter_fields(node):
        below = value if isinstance(value, list) else [value]
        if name not in SKIPPED and not isinstance(node, ast.JoinedStr):
            for each in below:
                if isinstance(each, ast.AST):
                    yield from _walk(each)


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """(what is changed, the code that takes its place) for each mutation of one node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in NEGATED:
            yield node, f"({ast.unparse(ast.Compare(node.left, [NEGATED[type(op)]()], node.comparators))})"
        case ast.UnaryOp(op=ast.Not()):
            yield node, f"({ast.unparse(node.operand)})"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare | ast.UnaryOp | ast.Constant) and ast.unparse(test) != "TYPE_CHECKING":
                yield test, f"(not ({ast.unparse(test)}))"
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, f"({ast.unparse(ast.BoolOp(other, node.values))})"
        case ast.BinOp(op=ast.Add() | ast.Sub()) if not _is_text(node.left) and not _is_text(node.right):
            swapped = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield node, f"({ast.unparse(ast.BinOp(node.left, swapped, node.right))})"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
        case ast.Attribute(value=ast.Name(id="ErrorCode"), attr=name):
            yield node, "ErrorCode." + ("INVALID_REQUEST" if name == "UNKNOWN_SERVER_ERROR" else "UNKNOWN_SERVER_ERROR")
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Assign(targets=[ast.Attribute()]):
            yield node, "pass"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


# ---- tests ----------------------------------------------------------------------------------------------------------


def tests_of(rule: str) -> tuple[list[str], list[str]]:
    """The files of the tests and recordings that show a rule, and their names."""
    links = evidence().get(rule, [])
    files = [CONFORMANCE if _linked(link).suffix == ".jsonl" else str(_linked(link)) for link in links]
    return list(dict.fromkeys(files)), [link[1:].partition("](")[0] for link in links]


def run_tests(copy: Path, files: Iterable[str], names: Iterable[str] = ()) -> str | None:
    """The first test that fails on the copy of the package in a folder; None if all pass or there are none."""
    chosen = ["-k", " or ".join(names)] if names else []
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", NOT_HERE]
    # The root of the project would stand before the copy on Python's path; recompiled files stay out of it.
    environment = os.environ | {
        "PYTHONPATH": f"{copy}{os.pathsep}{ROOT}", "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    process = subprocess.Popen(
        [*command, *files, *chosen], cwd=ROOT, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return TOO_LONG
    if process.returncode in (0, NO_TESTS):
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.M)
    return failed[1] if failed else f"pytest ended with {process.returncode}: {_short(output[-200:])}"


def result_of(rule: str, seed: int, copy: Path) -> Result:
    """Mutate the code of a rule in a copy of the package, run the tests, and restore the copy."""
    mutation = mutation_of(rule, seed)
    files, names = tests_of(rule)
    if mutation is None or not files:
        return Result(rule, "not applicable")
    original, changed = ROOT / mutation.path, copy / mutation.path
    changed.write_text(mutation.applied(original.read_text()))
    try:
        if test := run_tests(copy, files, names):
            return Result(rule, "found", mutation, test)
        mirror = mirror_of(str(mutation.path))
        test = run_tests(copy, dict.fromkeys([*([mirror] if mirror else []), *files]))
        # Many tests may take long on a busy machine; the few that show a rule end unless the mutation hangs.
        outcome = "not found" if test in (None, TOO_LONG) else "found by other tests"
        return Result(rule, outcome, mutation, test or "")
    finally:
        shutil.copy2(original, changed)


def some_of_each_page(number: int, seed: int) -> list[str]:
    """So many rules of each page of docs/rules that code names, chosen by a seed."""
    chosen = list[str]()
    for chapter in chapters():
        ids = [rule.id for rule in chapter.rules if rule.id in citations() and rule.id in evidence()]
        chosen += random.Random(f"{chapter.prefix} {seed}").sample(ids, min(number, len(ids)))
    return chosen


def main() -> None:
    """Print a line per rule, and how many mutations were found. The status is 1 if one was not."""
    options = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    options.add_argument("rules", nargs="*", metavar="RULE")
    options.add_argument("--per-page", type=int, default=0, metavar="N", help="N rules of each page of docs/rules")
    options.add_argument("--seed", type=int, default=0, help="another seed chooses other mutations")
    given = options.parse_args()
    rules = [*given.rules, *some_of_each_page(given.per_page, given.seed)]
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        shutil.copytree(ROOT / "fakebroker", Path(folder) / "fakebroker")
        outcomes = Counter[str]()
        for rule in rules:
            result = result_of(rule, given.seed, Path(folder))
            outcomes[result.outcome] += 1
            print(result, flush=True)
    print(f"{len(rules)} rules: " + ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items()))
    sys.exit("not found" in outcomes)


if __name__ == "__main__":
    main()
