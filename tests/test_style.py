"""Texts that users read follow docs/style.md: errors and other texts in code, docstrings, rules, the page, reports."""

import ast
import json
import re
from pathlib import Path

import pytest

from tests.support.sources import nodes_of, tree_of

PACKAGE = Path(__file__).resolve().parent.parent / "fakebroker"
# Phrases that docs/style.md replaces, and those that were found most often beside them.
PHRASES = re.compile(
    r"\b(?:whoever|whomever|nobody|somebody|everybody|anybody)\b"
    r"|\ba Kafka(?=[.,;:]| (?:that|has|was|is|does|did|and|or|waits)\b)"
    r"|\bthat there is not\b|\bthat cannot be\b(?! \w+[dtn]\b)"
    r"|\bas new\b(?! as)|\bby chance\b|\bin vain\b|\banew\b|\bshall have\b|\bhanded[- ]out\b|\bheard of\b"
    r"|\bwhat (?:it|they) shall\b|\bis none here\b|\bare none here\b|\bhas no place\b|\bthe test wants\b|\bwho asks\b"
    r"|\b(?:is|are) (?:not )?told\b(?! to\b)"
    r"|(?<!there )\b(?:is|are) no (?:JSON|YAML|UUID|HOST:PORT|PKCS12|text|number|duration|time|path|names?|list|member"
    r"|login|record|offsets|partitions)\b",
    re.IGNORECASE,
)
# A slip of search and replace: "the batch has the batch has two records". "is applied is applied" may be meant.
TWICE = re.compile(r"\b([^\W\d]\w+(?: \w+){0,5}) \1\b(?! is\b)")
# Folders of which everything that a class or function says of itself is public.
PUBLIC = ("testing", "client", "oauth.py", "tls.py", "types.py", "__init__.py", "protocol/errors.py", "cli")


def sources(*places: str) -> list[Path]:
    """The Python files of these folders and files of the package."""
    paths = [PACKAGE / place for place in places]
    return sorted(file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py")))


def texts_in_code(tree: ast.AST) -> list[str]:
    """The string literals of a file that have two words or more, without docstrings; f-strings without their values."""
    bare = {id(node.value) for node in nodes_of(tree, ast.Expr)}
    constants = (node for node in nodes_of(tree, ast.Constant) if id(node) not in bare)
    return [node.value for node in constants if isinstance(node.value, str) and " " in node.value.strip()]


def public_docstrings(tree: ast.AST) -> list[str]:
    """The docstrings of classes and functions without an underscore before their names."""
    owners = nodes_of(tree, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(owner) or "" for owner in owners if not owner.name.startswith("_")]


def texts_of_page(code: str) -> str:
    """A JavaScript file without its comments."""
    return re.sub(r"(?m)(?:^|\s)//.*$", "", re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL))


def found_in(texts: dict[str, str]) -> set[str]:
    """Where which phrases are: "place: phrase"."""
    return {f"{place}: {phrase}" for place, text in texts.items() for phrase in PHRASES.findall(" ".join(text.split()))}


def named(path: Path) -> str:
    """A file of the package by its path."""
    return path.relative_to(PACKAGE).as_posix()


def test_texts_in_code_follow_the_style_page() -> None:
    """Errors, logs, help, reasons, descriptions of settings, columns and reports have none of the phrases."""
    texts = {named(path): "\n".join(texts_in_code(tree_of(path))) for path in sources(".")}

    assert len(texts) > 800
    assert found_in(texts) == set()


def test_texts_in_code_say_nothing_twice() -> None:
    """No text of the package has the same words twice in a row."""
    texts = [(named(path), text) for path in sources(".") for text in texts_in_code(tree_of(path))]

    assert [(place, found[0]) for place, text in texts if (found := TWICE.search(text))] == []


def test_public_docstrings_follow_the_style_page() -> None:
    """What `help()`, editors and docs/python-api.md show has none of the phrases."""
    texts = {named(path): "\n".join(public_docstrings(tree_of(path))) for path in sources(*PUBLIC)}

    assert len(texts) > 200
    assert found_in(texts) == set()


def test_rules_follow_the_style_page() -> None:
    """The sentences of the rules, which reports quote, have none of the phrases."""
    rules: dict[str, str] = json.loads((PACKAGE / "testing" / "explanations" / "rule_texts.json").read_text())

    assert len(rules) > 800
    assert found_in(rules) == set()


def test_the_page_follows_the_style_page() -> None:
    """Labels, notices and questions of the live page and of the report have none of the phrases."""
    page = PACKAGE / "cli" / "http" / "page"
    modules = [file for file in page.rglob("*.js") if "vendor" not in file.parts]
    modules += [page / "index.html", PACKAGE / "analysis" / "pipeline" / "report" / "page.js"]

    assert len(modules) > 50
    assert found_in({named(file): texts_of_page(file.read_text()) for file in modules}) == set()


@pytest.mark.parametrize(
    "foreign",
    [
        "nobody coordinates it",
        "whoever asks",
        "A Kafka waits.",
        "a value that cannot be",
        "'x' is no duration",
        "ids that were handed out",
        "members get what they shall have",
        "The error is told.",
        "it begins anew",
    ],
)
def test_a_phrase_is_found(foreign: str) -> None:
    """Each kind of phrase, on one line or broken over two."""
    assert found_in({"here": foreign.replace(" ", "\n")})


@pytest.mark.parametrize(
    "native", ["there is no member b", "data that cannot be read", "a Kafka cluster", "told to rejoin", "renewed"]
)
def test_plain_english_passes(native: str) -> None:
    """Sentences that only resemble the phrases are not found."""
    assert found_in({"here": native}) == set()
