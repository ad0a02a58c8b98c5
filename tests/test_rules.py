"""Every rule of the finished sections of the behaviour specification is tested by name, or its absence explained.

A test names the rules it covers with `@pytest.mark.rules("JG-7")`; a recorded dialogue that is played names them in its
"about" line. What is left out stands in docs/not-implemented.md.
"""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conformance.recordings import PATHS, WAITING, name_of

TESTS = Path(__file__).resolve().parent
RULES: dict[str, str] = json.loads((TESTS / "data" / "rules.json").read_text())
NOT_IMPLEMENTED = TESTS.parent / "docs" / "not-implemented.md"
FINISHED = re.compile(
    r"(FC|ST|TM|JG|SG|HB|LG|TR|DG|DS|LS|AV|MD|LD|OC|OF|OD|EX|CR|DR|LO|OE|RB|PD|FT|FS|SE|RT|CO|DL|LE|ID|PI|NT|XT|NP|TP|DC"
    r"|IA|AC|LC|AD|CM|CP|DK|EL|GEN|LR|MS|RA|RC)-\d+"
)
ONE = re.compile(r"\b([A-Z]{2,3})-(\d+)\b")
RANGE = re.compile(r"\b([A-Z]{2,3})-(\d+)\.\.(?:\1-)?(\d+)\b")


def rules_in(text: str) -> Iterator[str]:
    """The rule ids in a text; "JG-7..JG-9" and "JG-7..9" stand for three."""
    for section, number in ONE.findall(text):
        yield f"{section}-{number}"
    for section, first, last in RANGE.findall(text):
        yield from (f"{section}-{number}" for number in range(int(first), int(last) + 1))


@cache
def marked_rules() -> frozenset[str]:
    """The arguments of every `pytest.mark.rules(...)` in the tests' sources."""
    calls = [
        node
        for path in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "rules"
    ]
    return frozenset(arg.value for call in calls for arg in call.args if isinstance(arg, ast.Constant))


def played_rules() -> set[str]:
    """The rules that played dialogues say they show."""
    heads = [json.loads(path.read_text().partition("\n")[0]) for path in PATHS if name_of(path) not in WAITING]
    return {rule for head in heads for rule in rules_in(head["about"])}


def explained_rules() -> set[str]:
    """The rules that docs/not-implemented.md names."""
    return set(rules_in(NOT_IMPLEMENTED.read_text())) if NOT_IMPLEMENTED.exists() else set()


def test_every_finished_rule_is_tested_or_explained() -> None:
    """No rule of a finished section is silently without a test."""
    covered = marked_rules() | played_rules() | explained_rules()
    missing = defaultdict(list)
    for rule, section in RULES.items():
        if FINISHED.fullmatch(rule) and rule not in covered:
            missing[section].append(rule)
    report = "\n".join(f"{section}: {', '.join(rules)}" for section, rules in missing.items())

    assert not missing, f"rules without test or reason:\n{report}"


def test_tests_name_only_rules_that_exist() -> None:
    """A misspelt rule id would cover nothing."""
    sections = {rule.partition("-")[0] for rule in RULES}

    assert {rule for rule in marked_rules() if rule.partition("-")[0] in sections} <= RULES.keys()
