"""The pages cannot drift: their examples run, their links lead somewhere, and every command they name exists."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.cli.main import main
from tests.support.sources import nodes_of, python_files, tree_of

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def examples(fixture: str) -> list[Any]:
    """Every Python example that is a test function with that one argument, from every page."""
    return [
        pytest.param(
            source, id=f"{page.name}-{name}", marks=[pytest.mark.essential] if page.name == "README.md" else []
        )
        for page in PAGES
        if page.name != "pytest.md"  # its examples are whole test files: test_pytest_plugin.py
        for source in re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
        for name in re.findall(rf"^def (test_\w+)\({fixture}\)", source, re.M)
    ]


TUNED = re.compile(
    r'"(fetch[.]wait[.]max|session[.]timeout|heartbeat[.]interval|reconnect[.]backoff|retry[.]backoff|socket[.]timeout'
    r'|max[.]poll[.]interval|auto[.]commit[.]interval|topic[.]metadata[.]refresh|metadata[.]max[.]age)[.a-z]*":'
    "|(fetch_max_wait|retry_backoff|reconnect_backoff|request_timeout|heartbeat_interval"
    "|auto_commit_interval|metadata_max_age|max_poll_interval)_ms=",
)
"""Settings of clients that make them quicker. A line with one says why in a comment: "# tuned: ..."."""


def test_clients_in_examples_have_their_default_settings() -> None:
    """What a reader pastes, or finds in tests/examples, behaves as the page says with the clients' own settings."""
    sources = [
        (page.name, source) for page in PAGES for source in re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    ]
    sources += [(file.name, file.read_text()) for file in sorted((ROOT / "tests" / "examples").glob("*.py"))]
    tuned = [
        f"{name}: {line.strip()}"
        for name, source in sources
        for line in source.splitlines()
        if TUNED.search(line) and "# tuned: " not in line
    ]
    assert tuned == []


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore")  # what the client libraries warn of at import
@pytest.mark.parametrize("source", examples("fakebroker"))
def test_the_examples_in_the_pages_run(fakebroker: FakeBroker, source: str) -> None:
    """An example that takes the fixture does what the page says."""
    run(source, fakebroker)


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", examples("fakebroker_factory"))
def test_the_examples_with_several_brokers_run(fakebroker_factory: Callable[..., FakeBroker], source: str) -> None:
    """An example that makes its broker itself does what the page says, too."""
    run(source, fakebroker_factory)


def programs() -> list[Any]:
    """Every Python example of these pages that is no test function: it makes its broker itself."""
    return [
        pytest.param(source, id=f"{name}-{number}")
        for name in ("acls.md", "client-telemetry.md", "quotas.md")
        for number, source in enumerate(
            re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "how-to" / name).read_text(), re.S)
        )
        if "def test_" not in source
    ]


@pytest.mark.clients
@pytest.mark.parametrize("source", programs())
def test_the_programs_in_the_pages_run(source: str) -> None:
    """An example that is a program does what the page says, by its own assertions."""
    exec(compile(source, "example", "exec"), {})


def run(source: str, fixture: object) -> None:
    """Run the tests of an example."""
    import confluent_kafka

    namespace: dict[str, Any] = {"confluent_kafka": confluent_kafka}
    exec(compile(source, "example", "exec"), namespace)
    tests: list[Callable[[object], None]] = [f for name, f in namespace.items() if name.startswith("test_")]

    for test in tests:
        test(fixture)


def on_pages(pattern: str) -> set[tuple[str, str]]:
    """What a pattern finds, each with the name of its page; there must be something to check."""
    found = {(page.name, match) for page in PAGES for match in re.findall(pattern, page.read_text())}
    assert found, f"no page has any {pattern}"
    return found


def test_links_lead_somewhere() -> None:
    """Every relative link of a page names a file."""
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text())]

    assert len(links) > 50
    assert [(page.name, link) for page, link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_options_that_pages_name_exist() -> None:
    """Every option of `fakebroker serve` on a page is one that the command takes."""
    known = {option for parameter in main.commands["serve"].params for option in parameter.opts} | {"--help"}
    commands = on_pages(r"fakebroker serve ([^\n`]*)")
    named = {(page, option) for page, command in commands for option in re.findall(r"(?<!\S)--[a-z-]+", command)}

    assert named
    assert {(page, option) for page, option in named if option not in known} == set()


def test_make_targets_that_pages_name_exist() -> None:
    """Every target of `make`, in a sentence or in a block of commands, is in the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = on_pages(r"(?:`|(?m:^))make ([a-z-]+)")

    assert ("README.md", "run") in named
    assert {(page, target) for page, target in named if target not in targets} == set()


def assigned(node: ast.AST) -> Iterator[str]:
    """The names that a statement assigns: variables, and attributes of self."""
    match node:
        case ast.Assign(targets=targets):
            flat = [each for t in targets for each in (t.elts if isinstance(t, ast.Tuple) else [t])]
        case ast.AnnAssign(target=target):
            flat = [target]
        case _:
            flat = []
    for each in flat:
        match each:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
                yield name


@cache
def members(owner: ast.ClassDef | ast.Module) -> set[str]:
    """What a class or module defines: classes, functions, variables, and what its methods assign to self."""
    names = {name for node in owner.body for name in assigned(node)}
    for node in owner.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        if isinstance(owner, ast.ClassDef) and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names |= {name for each in ast.walk(node) for name in assigned(each) if is_of_self(each)}
    return names


def is_of_self(node: ast.AST) -> bool:
    """Whether a statement assigns to self, not to a local variable."""
    return isinstance(node, ast.Assign | ast.AnnAssign) and any(
        isinstance(each, ast.Attribute) for each in ast.walk(node) if isinstance(getattr(each, "ctx", None), ast.Store)
    )


@cache
def parsed() -> dict[str, list[ast.Module]]:
    """The modules of the package by their names; a folder's is that of its `__init__`."""
    found: dict[str, list[ast.Module]] = {}
    for path in python_files("fakebroker"):
        stem = path.parent.name if path.stem == "__init__" else path.stem
        found.setdefault(stem, []).append(tree_of(path))
    return found


@cache
def top_level() -> set[str]:
    """What stands alone on the map: modules, what they define, and classes; not the fields and methods of these."""
    trees = [tree for trees in parsed().values() for tree in trees]
    classes = {node.name for tree in trees for node in nodes_of(tree, ast.ClassDef)}
    return set(parsed()) | classes | {name for tree in trees for name in members(tree)}


@cache
def definitions() -> dict[str, set[str]]:
    """Every class and module of the package, by its name, with what it defines."""
    found: dict[str, set[str]] = {}
    for stem, tree in [(stem, tree) for stem, trees in parsed().items() for tree in trees]:
        found.setdefault(stem, set()).update(members(tree))
        for node in nodes_of(tree, ast.ClassDef):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            found.setdefault(node.name, set()).update(members(node) | {f"({base})" for base in bases})
    return found


def has(owner: str, name: str) -> bool:
    """Whether a class or module defines a name, or a class that it inherits from does."""
    own = definitions().get(owner, set())
    return name in own or any(has(base[1:-1], name) for base in own if base.startswith("("))


@cache
def folders() -> list[Path]:
    """Where a path on the map may begin."""
    inside = [path for path in (ROOT / "fakebroker").rglob("*") if path.is_dir() and path.name != "__pycache__"]
    return [ROOT, ROOT / "fakebroker", ROOT / "docs", *inside]


def is_there(code: str) -> bool:
    """Whether a piece of code on the map exists: a file or folder of the repository, or what the package defines."""
    if "/" in code or code.endswith((".py", ".md", ".yml", ".toml")) or code == "Makefile":
        return any((root / code).exists() for root in folders())
    names = re.sub(r"\(.*\)", "", code).split(".")
    if len(names) == 1:
        return names[0] in top_level()
    return all(has(owner, name) for owner, name in zip(names[-2:-1], names[-1:], strict=True))


COMMANDS = ("make ", "fakebroker ", "python -m ", "pytest ")
# Kafka's, Python's, a key of scenarios, a call as tests write it, and arguments.
NOT_OURS = {
    "__consumer_offsets",
    "ssl.MemoryBIO",
    "add_reader",
    "later",
    "clock.advance(days=8)",
    "now",
    "answer",
    "log.dirs",
}


RECORDS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))


def test_what_the_map_names_exists() -> None:
    """Every file, class and function that the map and the decisions name is there: no map that has drifted."""
    text = "\n".join(page.read_text() for page in (ROOT / "docs" / "explanation" / "architecture.md", *RECORDS))
    named = {code for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text) if not code.startswith(COMMANDS)} - NOT_OURS

    assert len(named) > 50
    assert {code for code in named if not is_there(code)} == set()


def test_every_decision_is_in_the_index() -> None:
    """In order, by its title; each says its context, the decision and what it costs."""
    index = re.findall(r"^- \[(.+)\]\((.+)\)$", (ROOT / "docs" / "decisions" / "README.md").read_text(), re.M)
    titles = {page.name: page.read_text().partition("\n")[0].removeprefix("# ") for page in RECORDS}

    assert [(title, name) for name, title in titles.items()] == index
    for page in RECORDS:
        assert re.findall(r"^## (.+)$", page.read_text(), re.M) == ["Context", "Decision", "What it costs"], page.name


@pytest.mark.parametrize("drifted", ["place", "views", "self", "advance", "nobody.py", "Call.nothing"])
def test_a_map_that_has_drifted_is_found(drifted: str) -> None:
    """A word that is only a variable, a field or a method somewhere is not taken for what the map names."""
    assert not is_there(drifted)


def glossary() -> list[tuple[str, str]]:
    """The rows of docs/reference/glossary.md: the term, and where it is in the code."""
    rows = [
        line.split("|")
        for line in (ROOT / "docs" / "reference" / "glossary.md").read_text().splitlines()
        if line[:2] == "| "
    ]
    return [(cells[1].strip(), cells[3].strip()) for cells in rows[1:]]


def test_the_glossary_is_in_order() -> None:
    """A term has one row, where the alphabet says."""
    terms = [term.lower() for term, _ in glossary()]

    assert len(terms) > 20
    assert terms == sorted(set(terms))


def test_what_the_glossary_names_exists() -> None:
    """The code that a term points to is there: files, classes, and attributes in the class that is named."""
    named = {code for _, where in glossary() for code in re.findall(r"`([^`]+)`", where)}

    assert {code for code in named if not is_there(code)} == set()


def test_only_what_is_defined_is_there() -> None:
    """A local variable, an argument, or an attribute that its class does not have, is not on the map."""
    assert all(
        map(
            is_there,
            ("broker/core/", "ClassicGroup", "ClassicGroup.heartbeat", "Engine.tick", "broker/apis/heartbeat.py"),
        )
    )
    assert [
        code for code in ("is_chosen", "frame_bytes_of", "ClassicGroup.tick", "nowhere.py", "Nothing") if is_there(code)
    ] == []


def test_every_page_is_in_the_index() -> None:
    """docs/index.md links once to every page, and to the indexes of the rules and the decisions."""
    docs = ROOT / "docs"
    links = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", (docs / "index.md").read_text(), re.M)
    pages = [page.relative_to(docs) for page in docs.rglob("*.md") if page.name not in ("README.md", "index.md")]
    alone = [page.as_posix() for page in pages if page.parts[0] not in ("rules", "decisions")]

    assert sorted(links) == sorted([*alone, "rules/README.md", "decisions/README.md"])


QUESTIONS = {
    "how do I test that offsets expire": "how-to/expire-offsets.md",
    "how do I use it in Docker Compose": "how-to/compose.md",
    "how do I use it from Go in Docker Compose": "how-to/go-in-compose.md",
    "one broker for each xdist worker": "how-to/xdist.md",
    "how do I simulate a slow broker": "how-to/slow-broker.md",
    "does it support transactions": "how-to/test-transactions.md",
    "what does it not do": "reference/not-implemented.md",
    "how sure can I be that it behaves as Kafka": "explanation/how-sure.md",
    "why did my group rebalance": "how-to/why-rebalance.md",
    "how do I replay a production incident": "how-to/replay-an-incident.md",
    "how do I add a rule": "how-to/add-a-rule.md",
}
ONE_SCREEN = 60  # lines of a page that answers one question


def links_of(page: Path) -> set[Path]:
    """The pages that a page links to."""
    links = re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", page.read_text())
    return {(page.parent / link).resolve() for link in links}


def test_a_reader_finds_each_answer_in_two_clicks() -> None:
    """From the README a page leads to the answer; from the index of the site it is one click."""
    first = links_of(ROOT / "README.md")
    second = {page for each in first for page in links_of(each)}
    answers = {question: ROOT / "docs" / page for question, page in QUESTIONS.items()}

    assert {question for question, page in answers.items() if page not in first | second} == set()
    assert {question for question, page in answers.items() if page not in links_of(ROOT / "docs" / "index.md")} == set()


def test_an_answer_fits_on_a_screen() -> None:
    """A how-to that answers one question is short; what else there is to know is behind its links."""
    pages = [ROOT / "docs" / page for page in QUESTIONS.values() if page != "reference/not-implemented.md"]

    assert [page.name for page in pages if len(page.read_text().splitlines()) > ONE_SCREEN] == []
