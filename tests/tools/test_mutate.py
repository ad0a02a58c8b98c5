"""The tool that breaks the code of rules: what it changes, and that a test notices."""

import ast
import shutil
from pathlib import Path

import pytest

from tools import mutate
from tools.mutate import Mutation, mutation_of, mutations, run_tests, scope_of, some_of_each_page
from tools.rules_pages import ROOT

CODE = '''"""A module (JG-1)."""

def joined(group, now):
    """A member joins (JG-2)."""
    if group.size >= group.limit:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    group.size += 1
    return not group.is_dead and now + 5
'''


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package."""
    shutil.copytree(ROOT / "fakebroker", tmp_path / "fakebroker")
    return tmp_path


def _all() -> list[Mutation]:
    return list(mutations(ast.parse(CODE), Path("a.py"), CODE))


def test_each_mutation_changes_one_thing() -> None:
    """Comparisons, statements, error codes, connectives, negations, sums and numbers; never a text."""
    assert [(each.start[0], each.before, each.after) for each in _all()] == [
        (5, "group.size >= group.limit", "(group.size < group.limit)"),
        (6, "ErrorCode.GROUP_MAX_SIZE_REACHED", "ErrorCode.UNKNOWN_SERVER_ERROR"),
        (7, "group.size += 1", "pass"),
        (7, "1", "2"),
        (8, "not group.is_dead and now + 5", "(not group.is_dead or now + 5)"),
        (8, "not group.is_dead", "(group.is_dead)"),
        (8, "now + 5", "(now - 5)"),
        (8, "5", "6"),
    ]


def test_a_mutated_file_is_python_and_another() -> None:
    """Only the line of the mutation differs, also behind letters of several bytes."""
    for each in _all():
        changed = each.applied(CODE)
        ast.parse(changed)
        differing = [
            n for n, (old, new) in enumerate(zip(CODE.splitlines(), changed.splitlines(), strict=True), 1) if old != new
        ]
        assert differing == [each.start[0]], each

    wide = "a = 'äöü' if x == 1 else 2\n"
    assert next(each.applied(wide) for each in mutations(ast.parse(wide), Path("a.py"), wide)) == (
        "a = 'äöü' if (x != 1) else 2\n"
    )


def test_the_scope_is_the_innermost() -> None:
    """A line of a function belongs to it, one outside to the module."""
    tree = ast.parse(CODE)

    assert scope_of(tree, 4) is tree.body[1]
    assert scope_of(tree, 1) is tree


def test_a_seed_chooses_the_same_again() -> None:
    """Rules and mutations are those of the last run with the seed; a rule that no code names has none."""
    assert mutation_of("HB-6", 0) == mutation_of("HB-6", 0) is not None
    assert some_of_each_page(1, 7) == some_of_each_page(1, 7)
    assert len(some_of_each_page(1, 7)) > 50
    assert mutation_of("no rule", 0) is None


@pytest.mark.slow
def test_a_broken_copy_is_noticed_and_restored(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests import the copy: they pass on it, fail where it is mutated, and find it as it was."""
    rule, changed = "AC-1", copy / "fakebroker" / "broker" / "core" / "config_changes.py"
    original = changed.read_text()
    files, names = mutate.tests_of(rule)

    assert run_tests(copy, files, names) is None
    result = mutate.result_of(rule, 1, copy)
    assert (result.outcome, result.test.partition("::")[0]) == ("found", "tests/broker/apis/test_alter_configs.py")
    assert changed.read_text() == original

    monkeypatch.setattr(mutate, "tests_of", lambda _: (["tests/tools/test_requirements.py"], ["spelt"]))
    assert mutate.result_of(rule, 0, copy).outcome == "found by other tests"
    monkeypatch.setattr(mutate, "mirror_of", lambda _: None)
    assert mutate.result_of(rule, 0, copy).outcome == "not found"
