"""Text cannot drift from what it names: files and modules in docstrings and pages exist, and figures are counted."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import fakebroker
from fakebroker.broker.settings import find
from fakebroker.client.cluster.client_properties import KNOWN as CLIENT_SETTINGS
from fakebroker.protocol.errors import SettingError
from fakebroker.scenarios.on_kafka.against import JOBS
from tests.support.sources import ROOT, nodes_of, python_files, tree_of
from tests.test_alone import MOST
from tests.test_house import PUBLIC, ROOMS

PACKAGE = ROOT / "fakebroker"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FILE = re.compile(r"(?<![\w/.*<{-])((?:\w+/)*\w+\.py)\b")
MODULE = re.compile(r"(?<=`)fakebroker((?:\.\w+)+)")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@cache
def sources() -> tuple[str, ...]:
    """The path of every Python file of the repository's own."""
    places = ("fakebroker", "tests", "tools", "bench", *(path.name for path in ROOT.glob("*.py")))
    return tuple(f"/{path.relative_to(ROOT).as_posix()}" for place in places for path in python_files(place))


@cache
def docstrings(path: Path) -> str:
    """The docstrings of a file, joined."""
    return docstrings_of(tree_of(path))


def docstrings_of(tree: ast.AST) -> str:
    """All docstrings, joined."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return "\n".join(ast.get_docstring(node) or "" for node in nodes_of(tree, *owners))


def is_file(name: str) -> bool:
    """Whether a path, or the end of one, is that of a file."""
    return any(source.endswith(f"/{name}") for source in sources())


def is_setting(name: str) -> bool:
    """Whether a name is that of a broker setting."""
    try:
        find(name)
    except SettingError:
        return False
    return True


def is_known(dotted: str) -> bool:
    """Whether `fakebroker.…` is a module or a thing in one, a name for users, a power of a broker, or a setting."""
    first, *rest = dotted.removeprefix("fakebroker.").split(".")
    if first in ROOMS:
        place = PACKAGE / first
        while rest and (place / rest[0]).is_dir():
            place /= rest.pop(0)
        return not rest or (place / f"{rest[0]}.py").exists()
    is_public = first in fakebroker.__all__ or f"{first}.py" in PUBLIC
    return is_public or hasattr(fakebroker.FakeBroker, first) or is_setting(dotted) or dotted in CLIENT_SETTINGS


def test_files_in_docstrings_exist() -> None:
    """A docstring that sends its reader to a file names one that is there."""
    named = {(path, name) for path in python_files("fakebroker") for name in FILE.findall(docstrings(path))}

    assert len(named) > 100
    assert {f"{path.relative_to(ROOT)}: {name}" for path, name in named if not is_file(name)} == set()


def test_modules_in_text_exist() -> None:
    """`fakebroker.…` in a docstring or on a page is a module, a name for users, or a setting."""
    texts = {path: docstrings(path) for path in python_files("fakebroker")} | {page: page.read_text() for page in PAGES}
    named = {(path, f"fakebroker{rest}") for path, text in texts.items() for rest in MODULE.findall(text)}

    assert len(named) > 30
    assert {f"{path.relative_to(ROOT)}: {name}" for path, name in named if not is_known(name)} == set()


@pytest.mark.parametrize("gone", ["fakebroker.pipeline", "fakebroker.meaning", "fakebroker.broker.nothing"])
def test_a_module_that_is_gone_is_found(gone: str) -> None:
    """The name of a module from before a move is not taken for one."""
    assert not is_known(gone)


def test_commands_on_pages_use_folders_of_the_reader() -> None:
    """A command that a reader copies names the reader's folders, never a folder of the package."""
    found = {
        f"{page.name}: {line}"
        for page in PAGES
        for line in re.findall(r"^fakebroker .*$", page.read_text(), re.M)
        for word in line.split()
        if any(word.startswith(f"{room}/") for room in ROOMS) and (PACKAGE / word).is_dir()
    }

    assert found == set()


def test_the_readme_is_read_in_a_minute() -> None:
    """It has at most 90 lines, and what it says of recordings is counted."""
    text = (ROOT / "README.md").read_text()
    recordings = len(list((ROOT / "recordings").rglob("*.jsonl")))

    assert len(text.splitlines()) <= 90
    assert f" {recordings} recorded dialogues" in text


def pictures_of_why() -> int:
    """How many pictures docs/how-to/page.md has of a rebalance and its cause."""
    return len(re.findall(r"!\[.*\]\(../pictures/why-", (ROOT / "docs" / "how-to" / "page.md").read_text()))


def requests_on_the_map() -> int:
    """How many requests docs/explanation/architecture.md follows."""
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    return len(re.findall(r"^\*\*", text.partition("requests\n")[2], re.M))


@pytest.mark.parametrize(
    ("page", "words", "count"),
    [
        ("docs/index.md", r"the (\w+) rooms", len(ROOMS)),
        ("docs/index.md", r"path of (\w+) requests", requests_on_the_map()),
        ("docs/index.md", r"in (\w+) pictures", pictures_of_why()),
        ("docs/explanation/architecture.md", r"## (\w+) rooms", len(ROOMS)),
        ("docs/explanation/architecture.md", r"## (\w+) requests", requests_on_the_map()),
        ("docs/decisions/0001-nine-rooms.md", r"has (\w+) rooms", len(ROOMS)),
        ("docs/how-to/against-kafka.md", r"(\w+) plays run side by side", JOBS),
        ("CONTRIBUTING.md", r"There are (\w+) at most", MOST),
    ],
)
def test_figures_are_counted(page: str, words: str, count: int) -> None:
    """A figure on a page that counts something of the project is what there is."""
    assert [word.lower() for word in re.findall(words, (ROOT / page).read_text())] == [NUMBERS[count]]


def test_the_map_fits_on_two_pages() -> None:
    """docs/explanation/architecture.md has at most 110 lines of at most 120 characters, and 25 rows of a table."""
    lines = (ROOT / "docs" / "explanation" / "architecture.md").read_text().splitlines()

    assert len(lines) <= 110
    assert [line for line in lines if len(line) > 120] == []
    assert sum(line.startswith("| ") for line in lines) - 1 <= 25


# Words of our own that gave way to Kafka's and the field's. In names they are whole parts: `is_told`, `AsyncDoor`.
GONE_WORDS = {"told", "untold", "door", "doors", "gathering", "tally", "tallies"}
GONE_MODULES = {"before", "beginning", "classic_instead", "fetch_again", "others", "places", "told"}
GONE_NAMES = {"Place", "Powers", "SimPlaces", "commit_again", "join_classic_instead", "shard_at_hand"}
GONE_PROSE = re.compile(r"\b(?:is|are|was|were|be|been) (?:not )?told\b(?! to\b)|\bdoors?\b", re.IGNORECASE)
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def checked_sources() -> list[Path]:
    """The Python files whose names are held."""
    return [ROOT / source[1:] for source in sources()]


class Declared(NamedTuple):
    """What a Python file declares. `names` are of classes, functions, arguments, variables and attributes."""

    classes: set[str]
    names: set[str]
    text: str


@cache
def declared(path: Path) -> Declared:
    """What a file declares."""
    classes, names, tree = set(), set(), tree_of(path)
    for node in nodes_of(tree, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.arg, ast.Name, ast.Attribute):
        match node:
            case ast.ClassDef(name=name):
                classes.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
    return Declared(classes, names | classes, docstrings_of(tree))


def gone_in(names: set[str]) -> set[str]:
    """The names that have a word that gave way to another."""
    return {name for name in names if GONE_WORDS & {part.lower() for part in PART.findall(name)}}


def test_words_that_gave_way_do_not_come_back_in_names() -> None:
    """No function, class, argument, variable or attribute is named by a private metaphor."""
    found = {(path, name) for path in checked_sources() for name in gone_in(declared(path).names)}

    assert {f"{path.relative_to(ROOT)}: {name}" for path, name in found} == set()


def test_modules_and_names_that_gave_way_do_not_come_back() -> None:
    """No module, class or function has a name that said nothing of the field."""
    found = {(path, name) for path in checked_sources() for name in GONE_NAMES & declared(path).names}
    found |= {(path, path.stem) for path in checked_sources() if path.stem in GONE_MODULES}

    assert {f"{path.relative_to(ROOT)}: {name}" for path, name in found} == set()


def test_prose_has_the_words_of_the_field() -> None:
    """Docstrings and pages say what is reported, answered or sent, and by which interface."""
    texts = {path: declared(path).text for path in checked_sources() if path != Path(__file__)}
    texts |= {page: page.read_text() for page in PAGES}
    found = {(path, match[0]) for path, text in texts.items() for match in GONE_PROSE.finditer(text)}

    assert {f"{path.relative_to(ROOT)}: {words}" for path, words in found} == set()


def test_the_page_has_the_words_of_the_field() -> None:
    """Neither names nor comments of the page's modules have a word that gave way."""
    words = re.compile(rf"\b(?:{'|'.join(sorted(GONE_WORDS))}|MOST_\w+)\b", re.IGNORECASE)
    modules = sorted((PACKAGE / "cli" / "http" / "page").rglob("*.js"))

    assert len(modules) > 50
    assert {f"{path.name}: {word}" for path in modules for word in words.findall(path.read_text())} == set()


@pytest.mark.parametrize(
    "gone", ["is_told", "_TOLD", "AsyncDoor", "with_door", "HTTPDoor", "Gathering", "storage_failures_told"]
)
def test_a_word_that_gave_way_is_found(gone: str) -> None:
    """In snake case, in camel case and in capitals."""
    assert gone_in({gone, "total", "outdoors", "controller"}) == {gone}


@pytest.mark.parametrize("gone", ["The error is told.", "Clients are not told why.", "the HTTP door", "Doors"])
def test_prose_that_gave_way_is_found(gone: str) -> None:
    """What a client is told to do is plain English, and stays."""
    assert GONE_PROSE.search(gone)
    assert not GONE_PROSE.search("a member is told to join again, outdoors")


# Phrases that docs/style.md replaces, in lower case.
FOREIGN = re.compile(
    r"\b(?:whoever|nobody|somebody|everybody)\b|\ba kafka(?=[.,;:]| (?:that|has|was|is|does|did|and|or|waits)\b)"
    r"|\bthat there is not\b|\b(?:what|that) cannot be\b(?!\s+\w+(?:ed|en|d|n|t)\b)|\bas new\b|\bby chance\b",
    re.IGNORECASE,
)
STYLE = ROOT / "docs" / "style.md"  # its pairs have the phrases
HELD_PAGES = [page for page in PAGES if page != STYLE and "rules" not in page.relative_to(ROOT).parts]


def test_pages_and_what_users_call_follow_the_style_page() -> None:
    """Pages but for the rules, command line and handles have none of the phrases of docs/style.md, in comments, too."""
    modules = [*(PACKAGE / "cli").rglob("*.py"), *(PACKAGE / "testing" / "handles").rglob("*.py")]
    texts = {path: path.read_text() for path in [*HELD_PAGES, *modules]}
    found = {(path, phrase) for path, text in texts.items() for phrase in FOREIGN.findall(text)}

    assert len(modules) > 100
    assert len(HELD_PAGES) > 80
    assert {f"{path.relative_to(ROOT)}: {phrase}" for path, phrase in found} == set()
