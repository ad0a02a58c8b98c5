"""No regular expression of the package takes more than linear time, whatever text it is given.

Python's `re` tries one way after the other. A pattern with two repetitions that can take the same characters needs the
square of the text's length, and a text of a megabyte, which a client may send, stops the broker for hours.
"""

import ast
import importlib
import re
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from tests.support.sources import ROOT, nodes_of, python_files, tree_of

sre, _parser = importlib.import_module("re._constants"), importlib.import_module("re._parser")
pytestmark = pytest.mark.slow

PACKAGE = ROOT / "fakebroker"
ANYWHERE = {"search", "sub", "subn", "split", "findall", "finditer"}  # look at each place of a text
FUNCTIONS = ANYWHERE | {"compile", "match", "fullmatch"}
CALL_OF_RE = re.compile(rf"\bre\.(?:{'|'.join(sorted(FUNCTIONS))})\(")
SLOW_S = 0.2  # a linear pattern takes some milliseconds for the longest text
SIZES = [*range(8, 34, 2), *(1 << n for n in range(7, 16))]  # not faster: a steep one would never end
MAX_IN_PAIRS = 8  # texts of two characters: as many are enough, and all of them would take minutes
OWN_FILES_ONLY = "analysis/"  # reads what its user gives it, in a process of its own
# Patterns that are put together when they are used, of parts that only we or the user of the process give.
MADE_OF_LOCALS = {
    "broker/settings/declare.py",
    "scenarios/recording/explained.py",
    "testing/explanations/rule_texts.py",
}


class Use(NamedTuple):
    """One place where the package makes or uses a regular expression."""

    place: str
    pattern: re.Pattern[Any]
    looks_anywhere: bool


# What looks anywhere in a text only after its length was checked.
SHORT_TEXTS = {"protocol/durations.py": 60}


def uses(path: Path) -> Iterator[Use]:
    """All regular expressions of a module whose text is known when it is imported."""
    tree = tree_of(path)
    for node in nodes_of(tree, ast.Call):
        if is_call_of_re(node):
            assert isinstance(node.func, ast.Attribute)
            pattern = evaluated(path, node)
            if pattern is not None:
                place = f"{name_of(path)}:{node.lineno}"
                yield Use(place, pattern, node.func.attr in ANYWHERE or is_searched(tree, node))


def name_of(path: Path) -> str:
    """The name of a module's file, in the package."""
    return path.relative_to(PACKAGE).as_posix()


def paths() -> list[Path]:
    """The package's modules that read what others give them."""
    return [path for path in python_files("fakebroker") if not name_of(path).startswith(OWN_FILES_ONLY)]


@cache
def searched_names() -> set[str]:
    """Names on which anything calls a method that looks at each place of a text."""
    return {
        node.func.value.id
        for path in paths()
        for node in nodes_of(tree_of(path), ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ANYWHERE and isinstance(node.func.value, ast.Name)
    }


def is_searched(tree: ast.Module, call: ast.Call) -> bool:
    """Whether a compiled pattern is looked for anywhere in a text. One in a collection is taken to be."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is call:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            return isinstance(target, ast.Name) and target.id in searched_names()
    return False


def uses_re(path: Path) -> bool:
    """Whether a module has regular expressions, by its text: pytest collects without parsing all modules."""
    return CALL_OF_RE.search(path.read_text(encoding="utf-8")) is not None


def is_call_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in FUNCTIONS
    )


def evaluated(path: Path, call: ast.Call) -> re.Pattern[Any] | None:
    """The pattern of a call, None if it is made of local variables."""
    assert isinstance(call.func, ast.Attribute)
    flags = [each.value for each in call.keywords if each.arg == "flags"]
    if call.func.attr in ("compile", "match", "fullmatch", "search"):
        flags += call.args[1 if call.func.attr == "compile" else 2 :]
    try:
        text, *values = [value_of(path, part) for part in [call.args[0], *flags]]
    except NameError:
        assert name_of(path) in MADE_OF_LOCALS, f"{name_of(path)}:{call.lineno}: not known when the module is imported"
        return None
    return re.compile(text, *values)


def value_of(path: Path, expression: ast.expr) -> Any:
    """The value of an expression in a module, which is imported only if the value is not in the expression itself."""
    code = compile(ast.Expression(expression), str(path), "eval")
    try:
        return eval(code, {"re": re})
    except NameError:
        return eval(code, vars(module_of(path)))


def module_of(path: Path) -> ModuleType:
    parts = ["fakebroker", *path.relative_to(PACKAGE).with_suffix("").parts]
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


def hostile_texts(pattern: re.Pattern[Any]) -> set[tuple[str, str]]:
    """Beginnings, and what to repeat after them: all that the pattern can take, in each of its places."""
    beginnings, repeated = {""}, {" ", "a"}
    collect(_parser.parse(pattern.pattern, pattern.flags), "", beginnings, repeated)
    single = sorted(each for each in repeated if len(each) == 1)[:MAX_IN_PAIRS]
    pairs = {one + other for one in single for other in single}
    return {(beginning, each) for beginning in beginnings for each in repeated | pairs}


def collect(parts: Any, before: str, beginnings: set[str], repeated: set[str]) -> str:
    """Walk a parsed pattern; a text that it matches, after the text `before`."""
    text = before
    for operation, value in parts:
        beginnings.add(text)
        if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, most, inner = value
            one = collect(inner, text, beginnings, repeated)[len(text) :]
            if most > 8:
                repeated.add(one)
            text += one * max(least, 1)
        elif operation is sre.SUBPATTERN:
            text = collect(value[-1], text, beginnings, repeated)
        elif operation is sre.ATOMIC_GROUP:
            text = collect(value, text, beginnings, repeated)
        elif operation is sre.BRANCH:
            text, *_ = [collect(each, text, beginnings, repeated) for each in value[1]]
        elif operation in (sre.ASSERT, sre.ASSERT_NOT):
            collect(value[1], text, beginnings, repeated)
        else:
            character = character_of(operation, value)
            repeated.add(character or "a")
            text += character
    return text


def character_of(operation: Any, value: Any) -> str:
    """A character that a part of a pattern takes, "" for one that takes none."""
    if operation is sre.LITERAL:
        return chr(value)
    if operation is sre.NOT_LITERAL:
        return next(each for each in "a \\" if ord(each) != value)
    if operation is sre.ANY:
        return "a"
    if operation is sre.IN:
        return next(each for each in "a0 -_.\n:/$\\A%&`*#=" + "".join(map(chr, range(2000))) if is_in(each, value))
    return ""


def is_in(character: str, items: Any) -> bool:
    """Whether a set has a character."""
    is_negated = bool(items[0][0] is sre.NEGATE)
    return any(has(character, *item) for item in items if item[0] is not sre.NEGATE) != is_negated


def has(character: str, operation: Any, value: Any) -> bool:
    if operation is sre.LITERAL:
        return bool(ord(character) == value)
    if operation is sre.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    name = str(value).rpartition("_")[2].lower()
    kind = {"digit": r"\d", "space": r"\s", "word": r"\w"}[name]
    return (re.match(kind, character) is not None) is not ("_NOT_" in str(value))


def time_of(use: Use, beginning: str, repeated: str) -> tuple[float, int]:
    """The longest time for a text, in seconds, and how often the part was repeated for it."""
    longest = next((most for name, most in SHORT_TEXTS.items() if use.place.startswith(name)), max(SIZES))
    for size in (size for size in SIZES if size <= longest):
        text: Any = beginning + repeated * (size // len(repeated)) + "\0!"
        if isinstance(use.pattern.pattern, bytes):
            text = text.encode("latin-1", "replace")
        taken = once(use, text)
        if taken > SLOW_S:
            taken = min(taken, once(use, text))  # the machine may have been busy
        if taken > SLOW_S:
            break
    return taken, size


def why_slow(use: Use) -> str:
    """The text that takes a pattern long, "" if none does."""
    for beginning, repeated in sorted(hostile_texts(use.pattern)):
        taken, size = time_of(use, beginning, repeated)
        if taken > SLOW_S:
            return f"{use.place}: {taken:.2f} s for {beginning!r} and {size} characters of {repeated!r}"
    return ""


def once(use: Use, text: Any) -> float:
    start = time.process_time()
    if use.looks_anywhere:
        use.pattern.sub(lambda match: match[0], text)
    else:
        use.pattern.match(text)
        use.pattern.fullmatch(text)
    return time.process_time() - start


@pytest.mark.parametrize("path", [path for path in paths() if uses_re(path)], ids=name_of)
def test_patterns_take_linear_time(path: Path) -> None:
    """For long repetitions of all that they can take, at each of their places, before what they cannot take."""
    slow = [said for use in uses(path) if (said := why_slow(use))]
    assert slow == []


@pytest.mark.parametrize("pattern", [r"(a+)+b", r"\s*x?\s+y", r"(.*)-(.*)-(.*)x", r"(\w|aa)*b", r"(?:a?){20,}b"])
def test_a_slow_pattern_is_found(pattern: str) -> None:
    """Exponential ones, and those that take the square."""
    assert why_slow(Use("here", re.compile(pattern), looks_anywhere=False))


def test_a_search_that_begins_again_at_each_place_is_found() -> None:
    """What is linear at one place is not so at all of them."""
    assert why_slow(Use("here", re.compile("a+b"), looks_anywhere=True))
    assert not why_slow(Use("here", re.compile("a+b"), looks_anywhere=False))
