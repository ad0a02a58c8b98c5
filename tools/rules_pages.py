"""The chapters of docs/rules: reading their rules, and filling in what shows each of them.

A chapter is one page per prefix: `docs/rules/jg-join-group.md` holds JG-1, JG-2, ... A rule is a heading `### JG-14`,
plain sentences, and lines `- Source:`, `- Release:` unless it holds in all releases of its page, and `- Shown:` or
`- Left out:` (both if a part is left out). People write everything but what follows `- Shown:` and the line `- Code:`;
these are made here, from the marks of the tests, the "about" lines of the recordings that are played, and the ids that
the code names.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from tests.conformance.recordings import PATHS, WAITING, name_of
from tests.support.sources import nodes_of, python_files, tree_of

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "docs" / "rules"
SHOWN_BY = "- Shown:"
IN_THE_CODE = "- Code:"
LEFT_OUT = "- Left out:"

_ID = r"[A-Z]{2,3}-\d+"
_ONE = re.compile(rf"\b{_ID}\b")
_RANGE = re.compile(r"\b([A-Z]{2,3})-(\d+)(?:\.\.| to )(?:\1-)?(\d+)\b")
_TITLE = re.compile(r"# (.+) \(([A-Z]{2,3})\)")
_HEADING = re.compile(rf"### ({_ID})")
_NOT_RULES = frozenset({"CRC", "KIP", "SHA", "SSH", "UTF"})
_INTRODUCTION = """\
How Kafka behaves, rule by rule, as far as fakebroker serves it. Code, tests, recordings and the other pages name
rules by their ids. The letters of an id are its page, and each rule is a heading there: `HB-6` is
[hb-heartbeat.md#hb-6](hb-heartbeat.md#hb-6).

A rule says what a broker does, and where that comes from: a KIP, a class or method of Kafka, an issue of its JIRA.
*Release* says where it holds; without it, in the releases that the head of the page names, or in all. *Code* has the
files that cite it. *Shown* has the files of its tests, which are marked with the id, and the recordings of a real
broker that are played here. *Left out* is what fakebroker does not do; beside *Shown* it is a part. The default release
is 4.3; differences are also listed in [releases](../reference/releases.md).

To add or change a rule: edit its page, mark a test with `@pytest.mark.rules("JG-14")` or name the rule in the "about"
line of a recording, and run `make docs`. An id is never given twice, and never changes its meaning.
"""


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a chapter: its id and the lines below its heading."""

    id: str
    lines: tuple[str, ...]

    def has(self, start: str) -> bool:
        """Is there a line that starts so and says something?"""
        return any(line.startswith(start) and line.removeprefix(start).strip() for line in self.lines)

    def has_line(self, start: str) -> bool:
        """Is there a line that starts so, empty or not?"""
        return any(line.startswith(start) for line in self.lines)

    @property
    def prose(self) -> str:
        """The sentences of the rule, without the lines that say where it comes from and what shows it."""
        facts = ("- Source:", "- Release:", SHOWN_BY, IN_THE_CODE, LEFT_OUT)
        return "\n".join(line for line in self.lines if not line.startswith(facts)).strip()


@dataclass(frozen=True, slots=True)
class Chapter:
    """One page of rules that share a prefix."""

    path: Path
    prefix: str
    title: str
    rules: tuple[Rule, ...]


def chapters() -> list[Chapter]:
    """All chapters, by file name. Raises ValueError if a page does not begin as a chapter has to."""
    return [_chapter(path) for path in sorted(RULES.glob("*.md")) if path.name != "README.md"]


def _chapter(path: Path) -> Chapter:
    lines = path.read_text().splitlines()
    title = _TITLE.fullmatch(lines[0]) if lines else None
    if title is None:
        raise ValueError(f"{path.name} does not begin with `# Title (PREFIX)`")
    rules = (Rule(rule, tuple(below)) for rule, below in _by_rule(lines) if rule is not None)
    return Chapter(path, title[2], title[1], tuple(rules))


def _by_rule(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """The lines of a page in pieces: (None, those before the first rule), then (id, those below its heading)."""
    rule, below = None, list[str]()
    for line in lines:
        if heading := _HEADING.fullmatch(line):
            yield rule, below
            rule, below = heading[1], []
        else:
            below.append(line)
    yield rule, below


def rules_in(text: str) -> set[str]:
    """The ids of the rules that a text names; "JG-7 to JG-9", "JG-7..JG-9" and "JG-7..9" stand for three."""
    ids = {rule for rule in _ONE.findall(text) if prefix_of(rule) not in _NOT_RULES}
    for prefix, first, last in _RANGE.findall(text):
        ids.update(f"{prefix}-{number}" for number in range(int(first), int(last) + 1))
    return ids


def prefix_of(rule: str) -> str:
    """ "JG" of "JG-14"."""
    return rule.partition("-")[0]


@cache
def evidence() -> dict[str, list[str]]:
    """What shows each rule: links to files with tests that are marked with it, then to recordings that name it."""
    shown: dict[str, list[str]] = {}
    for path in python_files("tests"):
        rules_of = marked(tree_of(path)) if path.name.startswith("test_") else ()
        for rule in sorted({rule for _, rules in rules_of for rule in rules}):
            shown.setdefault(rule, []).append(_link(path.stem, path))
    for path in PATHS:
        if name_of(path) not in WAITING:
            for rule in sorted(rules_in(about(path))):
                shown.setdefault(rule, []).append(_link(name_of(path), path))
    return shown


@cache
def citations() -> dict[str, list[str]]:
    """The files of the package that name each rule."""
    files: dict[str, list[str]] = {}
    for path in sorted((ROOT / "fakebroker").rglob("*.py")):
        name = path.relative_to(ROOT / "fakebroker").as_posix()
        for rule in sorted(rules_in(path.read_text())):
            files.setdefault(rule, []).append(_link(name, path))
    return files


def about(recording: Path) -> str:
    """What the head of a recording says it shows."""
    with recording.open() as lines:
        return str(json.loads(next(lines))["about"])


def marked(tree: ast.Module) -> Iterator[tuple[Definition, list[str]]]:
    """Every function and class with `pytest.mark.rules`, and the rules that it names."""
    for node in nodes_of(tree, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "rules":
                yield node, [str(arg.value) for arg in call.args if isinstance(arg, ast.Constant)]


def _link(name: str, path: Path) -> str:
    return f"[{name}](../../{path.relative_to(ROOT).as_posix()})"


def filled_page(path: Path) -> str:
    """A chapter with its generated lines as they have to be now."""
    lines = list[str]()
    for rule, below in _by_rule(path.read_text().splitlines()):
        if rule is not None:
            lines.append(f"### {rule}")
        lines += _filled(rule or "", [line for line in below if not line.startswith(IN_THE_CODE)])
    return "\n".join(lines) + "\n"


def _filled(rule: str, below: list[str]) -> Iterator[str]:
    """The lines below a rule's heading; which code names it stands before what shows it."""
    code, shown = ", ".join(citations().get(rule, [])), ", ".join(evidence().get(rule, []))
    for line in below:
        if line.startswith((SHOWN_BY, LEFT_OUT)) and code:
            yield f"{IN_THE_CODE} {code}"
            code = ""
        yield f"{SHOWN_BY} {shown}".rstrip() if line.startswith(SHOWN_BY) else line


def index_page(note: str) -> str:
    """docs/rules/README.md: from an id to its sentence."""
    rows = [
        f"| {chapter.prefix} | [{chapter.title}]({chapter.path.name}) | {len(chapter.rules)} |"
        for chapter in chapters()
    ]
    left_out = [
        f"[{rule.id}]({chapter.path.name}#{rule.id.lower()})"
        for chapter in chapters()
        for rule in chapter.rules
        if rule.has(LEFT_OUT)
    ]
    lines = ["# The rules", note, "", _INTRODUCTION, "| ids | chapter | rules |", "|---|---|---|", *rows]
    return "\n".join([*lines, "", "## Left out", "", "Whole or in part: " + ", ".join(left_out) + "."]) + "\n"


def duplicates(ids: list[str]) -> list[str]:
    """The ids that occur more than once."""
    return [rule for rule, group in groupby(sorted(ids)) if len(list(group)) > 1]
