"""The rules of docs/rules are those that code, tests and recordings cite, and each is shown or left out by name.

A test names the rules it asserts with `@pytest.mark.rules("JG-7")`; a recorded dialogue that is played names them in
its "about" line. That a marked test runs and does something is checked here. That it fails when the rule is broken is
not: whoever writes it has to see it fail once.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.recordings import PATHS
from tests.support.sources import python_files, tree_of
from tools.rules_pages import (
    LEFT_OUT,
    ROOT,
    SHOWN_BY,
    Definition,
    about,
    chapters,
    duplicates,
    evidence,
    marked,
    prefix_of,
    rules_in,
)

CHAPTERS = chapters()
RULES = [rule for chapter in CHAPTERS for rule in chapter.rules]
IDS = [rule.id for rule in RULES]


def citations() -> dict[str, list[str]]:
    """Every rule id that code, pages, tests or recordings name, with the files that name it."""
    named: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        for rule in rules_in(path.read_text()):
            named[rule].append(path.relative_to(ROOT).as_posix())
    for path in PATHS:
        for rule in rules_in(about(path)):
            named[rule].append(path.relative_to(ROOT).as_posix())
    return named


def sources() -> list[Path]:
    """What the project's people wrote: Python, pages, scenarios; not the packages that `make setup-node` fetches."""
    folders = [ROOT / name for name in ("fakebroker", "tests", "docs", "scenarios")]
    deep = (path for folder in folders for ending in ("*.py", "*.md", "*.java") for path in folder.rglob(ending))
    written = (path for path in deep if "node_modules" not in path.parts)
    return sorted([*written, ROOT / "README.md", ROOT / "CHANGELOG.md"])


def idle(tree: ast.Module) -> Iterator[str]:
    """The definitions of a module that are marked with rules and cannot fail: not collected, never run, or empty."""
    never = {"skip", "xfail"}
    marks = [node for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in names_in(node)]
    is_left_out = any(never & names_in(node) for node in marks)
    for node, _ in marked(tree):
        decorators = set[str]().union(*(names_in(each) for each in node.decorator_list))
        is_collected = node.name.startswith("Test" if isinstance(node, ast.ClassDef) else "test_")
        if is_left_out or never & decorators or not is_collected or is_empty(node):
            yield node.name


def names_in(node: ast.AST) -> set[str]:
    """Every name and attribute in a piece of code."""
    names = {getattr(each, "attr", getattr(each, "id", "")) for each in ast.walk(node)}
    return {name for name in names if isinstance(name, str)}


def is_empty(node: Definition) -> bool:
    """Whether a test has neither an assertion nor a call: helpers and models assert in what they are called for."""
    return not any(isinstance(each, ast.Assert | ast.Call) for line in node.body for each in ast.walk(line))


def test_every_marked_test_can_fail() -> None:
    """A mark on what is not collected, is always skipped, may fail, or does nothing shows no rule."""
    files = [path for path in python_files("tests") if path.name.startswith("test_")]
    found = [f"{path.relative_to(ROOT)}::{name}" for path in files for name in idle(tree_of(path))]

    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "def check_join(): assert 1 == 1",
        "@pytest.mark.skip(reason='later')\ndef test_join(): assert 1 == 1",
        "@pytest.mark.xfail\ndef test_join(): assert 1 == 1",
        "def test_join():\n    'A member joins.'\n    pass",
        "class TestJoin:\n    state = 'Stable'",
    ],
)
def test_a_marked_test_that_cannot_fail_is_found(code: str) -> None:
    """Each of the ways; the same test that asserts is none."""
    mark = "@pytest.mark.rules('JG-1')\n"

    assert len(list(idle(ast.parse(mark + code)))) == 1
    assert list(idle(ast.parse(mark + "def test_join(): assert 1 == 1"))) == []
    assert list(idle(ast.parse(f"pytestmark = pytest.mark.skip\n{mark}def test_join(): assert 1 == 1"))) == [
        "test_join"
    ]


def test_every_cited_rule_exists() -> None:
    """Who meets an id finds its sentence."""
    unknown = {rule: files for rule, files in citations().items() if rule not in IDS}

    assert unknown == {}


def test_no_id_is_given_twice() -> None:
    """An id is one rule."""
    assert duplicates(IDS) == []


def test_a_chapter_is_found_by_its_prefix() -> None:
    """A page is called after the letters of its ids, and holds them in order."""
    for chapter in CHAPTERS:
        numbers = [int(rule.id.partition("-")[2]) for rule in chapter.rules]

        assert chapter.path.name.startswith(f"{chapter.prefix.lower()}-")
        assert {prefix_of(rule.id) for rule in chapter.rules} == {chapter.prefix}
        assert numbers == sorted(numbers), chapter.path.name


def test_every_rule_has_its_sentences() -> None:
    """A rule says what happens and where that comes from."""
    incomplete = [rule.id for rule in RULES if not (rule.prose and rule.has("- Source:"))]

    assert incomplete == []


def test_every_rule_is_shown_or_left_out() -> None:
    """Each rule has a test that is marked with it or a played recording that names it, or says why not."""
    silent = [
        rule.id for rule in RULES if not rule.has(LEFT_OUT) and not (rule.has_line(SHOWN_BY) and rule.id in evidence())
    ]

    assert silent == [], "mark a test, or say `- Left out: why`"


def test_what_is_shown_says_so() -> None:
    """A rule that something shows has the line for it: nothing stays "left out" after it was built."""
    hidden = [rule.id for rule in RULES if rule.id in evidence() and not rule.has_line(SHOWN_BY)]

    assert hidden == [], "add a line `- Shown:` and run `make docs`"
