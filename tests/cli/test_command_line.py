"""The command line as a whole: help of every command and option, the version, the table of exit codes."""

import ast
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import fakebroker
from fakebroker.cli.commands.ctl import _PathGroup
from fakebroker.cli.exit_status import ExitStatus
from fakebroker.cli.lazy_commands import summary_of
from fakebroker.cli.main import main
from tests.support.sources import ROOT, nodes_of, python_files, tree_of

PACKAGE = Path(fakebroker.__file__).parent
MAX_HELP_CHARS = 80
A_FILE = re.compile(r"docs/|\w\.md\b")
# Of Python docstrings and of the language that help does not speak.
LEFTOVER = re.compile(
    r"\bRaises\b|``|\bReturns\b|\ba Kafka\b(?! (?:broker|cluster))|\b[Ww]hoever\b|\bwhat cannot\b|\bNone\b|\(s\)|_"
)


def walk(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that lead to it; a placeholder of `ctl` is 7."""
    yield words, command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        names = list(command.list_commands(ctx))
        if isinstance(command, _PathGroup) and command.node.beyond is not None:
            names.append("7")
        for name in names:
            found = command.get_command(ctx, name)
            assert found is not None
            yield from walk(found, (*words, name))


COMMANDS = dict(walk(main))


def run(*words: str) -> tuple[int, str]:
    """The status of a command and what it prints; one that listens has a process of its own."""
    if words[:1] in (("serve",), ("record",)) and not {"-h", "--help"} & {*words}:
        command = [sys.executable, "-m", "fakebroker", *words]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return ended.returncode, ended.stdout + ended.stderr
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.output


def test_there_are_many_commands() -> None:
    """The walk reaches those that are made of paths, and those of other packages."""
    assert {("serve",), ("pipeline", "build"), ("ctl", "groups", "7", "hold-joins")} <= COMMANDS.keys()
    assert len(COMMANDS) > 180


def test_every_command_has_help() -> None:
    """A sentence of one line, written for a shell, and a name in kebab-case."""
    for words, command in COMMANDS.items():
        summary = summary_of(command)
        assert 0 < len(summary) <= MAX_HELP_CHARS, (words, summary)
        assert summary.endswith("."), (words, summary)
        for text in (summary, command.help or ""):
            assert not A_FILE.search(text), (words, text)
            assert not LEFTOVER.search(re.sub(r"`[^`]*`|[A-Z_]{3,}|\w+_\w+", "", text)), (words, text)
        assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", word) for word in words), words


def test_every_option_has_help() -> None:
    """One line of at most 80 characters: a noun phrase or an imperative, with a capital letter."""
    for words, command in COMMANDS.items():
        for option in command.params:
            if not isinstance(option, click.Option):
                continue
            text = option.help or ""
            assert 0 < len(text) <= MAX_HELP_CHARS, (words, option.name, text)
            assert text[0].isupper() or ":" in text, (words, option.name, text)
            assert text.endswith((".", "]")), (words, option.name, text)
            assert not A_FILE.search(text), (words, option.name, text)
            assert all(re.fullmatch(r"--?[a-z0-9]+(-[a-z0-9]+)*|-[A-Za-z]", each) for each in option.opts), option.opts


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_takes_h(flag: str) -> None:
    """Nothing in it is cut."""
    for words in COMMANDS:
        status, output = run(*words, flag)
        assert (status, output.startswith("Usage: ")) == (0, True), words
        assert "..." not in re.sub(r"\.\.\.\]?(?=[\s,\]])", "", output.partition("Options:")[2]), words


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version(flag: str) -> None:
    """The name and the number."""
    status, output = run(flag)

    assert status == 0
    assert re.fullmatch(r"fakebroker \d+\.\d+\.\d+\S*\n", output)


def test_no_text_names_a_file_of_the_repository() -> None:
    """Neither an error nor a help: a wheel has no docs."""
    found = []
    for path in python_files("fakebroker"):
        tree = tree_of(path)
        docstrings = {id(node.value) for node in nodes_of(tree, ast.Expr)}
        found += [
            f"{path.relative_to(ROOT)}:{node.lineno}"
            for node in nodes_of(tree, ast.Constant)
            if isinstance(node.value, str)
            if id(node) not in docstrings and A_FILE.search(node.value)
        ]
    assert found == []


FREE = ("serve", "--listen", "127.0.0.1:0")
BAD_INPUT = [
    ("nothing",),
    ("serve", "--nothing"),
    (*FREE, "--topic", "orders:many"),
    (*FREE, "--as", "1.7"),
    (*FREE, "--profile", "fast"),
    (*FREE, "--config", "x"),
    (*FREE, "--config", "num.partition=3"),
    (*FREE, "--user", "alice"),
    (*FREE, "--users-file", "missing"),
    (*FREE, "--from", "missing"),
    (*FREE, "--from", "bad"),
    (*FREE, "--data-from", "missing"),
    (*FREE, "--data-from", "bad"),
    (*FREE, "--data-from", "bad", "--from", "bad"),
    (*FREE, "--data-from", "bad", "--scenario", "bad"),
    (*FREE, "--scenario", "missing"),
    (*FREE, "--scenario", "bad"),
    (*FREE, "--set", "a=b"),
    (*FREE, "--journal", "/dev/null/journal"),
    (*FREE, "--control", "here"),
    ("serve", "--listen", "here"),
    ("serve", "--listen", "99092"),
    ("serve", "--advertise", "here"),
    ("scenario", "check", "missing"),
    ("scenario", "check", "bad"),
    ("scenario", "run", "missing"),
    ("scenario", "run", "bad"),
    ("scenario", "run", "bad", "--against", "here"),
    ("scenario", "from", "missing"),
    ("scenario", "from", "bad", "--out", "x.yaml"),
    ("scenario", "new", "bad", "--dir", "bad"),
    ("campaign", "run", "missing", "--seeds", "3", "--tables", "out"),
    ("campaign", "run", "bad", "--seeds", "3", "--tables", "out"),
    ("campaign", "run", "bad", "--seeds", "x", "--tables", "out"),
    ("campaign", "report", "--tables", "missing"),
    ("journal", "show", "missing"),
    ("journal", "show", "bad"),
    ("journal", "show", "bad", "--kind", "x"),
    ("journal", "diff", "missing", "bad"),
    ("journal", "trace", "missing", "--out", "x"),
    ("journal", "pcap", "missing", "--out", "x"),
    ("journal", "view", "missing"),
    ("conformance", "here"),
    ("conformance", "127.0.0.1:1", "--recordings", "missing"),
    ("conformance", "127.0.0.1:1", "--chapter", "nonsense"),
    ("dialogue", "play", "missing"),
    ("dialogue", "play", "bad"),
    ("dialogue", "play", "bad", "--tcp", "here"),
    ("replay", "missing"),
    ("replay", "bad"),
    ("replay", "bad", "--config", "x"),
    ("record", "--upstream", "here", "--listen", "0", "--out", "x"),
    ("record", "--upstream", "127.0.0.1:1", "--listen", "here", "--out", "x"),
    ("record", "--upstream", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--out", "bad"),
    ("clone", "--from", "here", "--out", "x"),
    ("clone", "--from", "127.0.0.1:1", "--out", "bad"),
    ("clone", "--from", "127.0.0.1:1", "--out", "x", "--since", "yesterday"),
    ("clone", "--from", "127.0.0.1:1", "--out", "x", "--since", "2026-03-01T10:00"),
    ("clone", "--from", "127.0.0.1:1", "--out", "x", "--since", "2026-03-01T10:00Z", "--records", "1"),
    ("clone", "--from", "127.0.0.1:1", "--out", "x", "--without-payloads"),
    ("clone", "--from", "127.0.0.1:1", "--out", "x", "--secret-file", "bad"),
    ("clone", "--from", "127.0.0.1:1", "--out", "x", "--anonymise", "--secret-file", "bad"),
    ("history", "decode", "missing", "--tables", "out", "--engine", "embedded"),
    ("history", "decode", "--tables", "out", "--engine", "embedded"),
    ("history", "whatif", "--tables", "missing", "--out", "out", "--engine", "embedded"),
    ("history", "compile", "--tables", "missing", "--group", "g", "--around", "2026-03-01T10:00", "--out", "x.yaml"),
    ("pipeline", "ingest", "missing", "--tables", "out", "--engine", "embedded"),
    ("pipeline", "run", "missing", "--tables", "out", "--engine", "embedded"),
    ("pipeline", "build", "--tables", "missing", "--engine", "embedded"),
    ("pipeline", "check", "--tables", "missing", "--engine", "embedded"),
    ("pipeline", "report", "--tables", "missing"),
    ("pipeline", "export", "--tables", "missing", "--to", "file:///tmp/lake"),
    ("tls", "bad"),
    ("ctl", "clock", "advance", "8x"),
    ("ctl", "nothing"),
]


@pytest.fixture
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a file that is of no kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").write_text("bad: [")


@pytest.mark.usefixtures("_in_folder")
@pytest.mark.parametrize("words", BAD_INPUT, ids=" ".join)
def test_wrong_options_arguments_and_files_are_2(words: tuple[str, ...]) -> None:
    """In every command, with a line that says what is wrong."""
    status, output = run(*words)

    assert status == ExitStatus.BAD_INPUT, output
    assert "Error: " in output or words[:2] == ("scenario", "run")
    assert "Traceback" not in output


UNAVAILABLE = [
    ("serve", "--listen", "127.0.0.1:{taken}"),
    (*FREE, "--control", "{taken}"),
    ("record", "--upstream", "127.0.0.1:{closed}", "--listen", "127.0.0.1:0", "--out", "x"),
    ("clone", "--from", "127.0.0.1:{closed}", "--out", "x"),
    ("conformance", "127.0.0.1:{closed}"),
    ("ctl", "--url", "http://127.0.0.1:{closed}", "clock"),
    ("scenario", "run", "good.yaml", "--against", "127.0.0.1:{closed}"),
    ("history", "decode", "--bootstrap", "127.0.0.1:{closed}", "--tables", "out", "--engine", "embedded"),
]


@pytest.mark.usefixtures("_in_folder")
@pytest.mark.parametrize("words", UNAVAILABLE, ids=" ".join)
def test_what_is_missing_outside_is_3(words: tuple[str, ...]) -> None:
    """A port in use, an address that does not answer."""
    run("scenario", "new", "good")
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ports = {"taken": taken.getsockname()[1], "closed": closed.getsockname()[1]}
        status, output = run(*(word.format(**ports) for word in words))

    assert status == ExitStatus.UNAVAILABLE, output
    assert "Error: " in output


def test_every_command_is_tried() -> None:
    """With some bad input: those of `ctl` share their code."""
    tried = {words[: len(command)] for words in (*BAD_INPUT, *UNAVAILABLE) for command in COMMANDS}
    leaves = {words for words, command in COMMANDS.items() if not isinstance(command, click.Group)}

    assert {words for words in leaves - tried if words[0] != "ctl"} == {("scenario", "schema")}


def test_a_misspelt_command_is_answered_with_the_right_one() -> None:
    """In every group, for every command of it: its name with a letter too many."""
    unclear = []
    for words, command in COMMANDS.items():
        if not isinstance(command, click.Group):
            continue
        for name in command.list_commands(click.Context(command)):
            status, text = run(*words, f"{name}x")
            is_name = isinstance(command, _PathGroup) and command.node.takes(f"{name}x")
            if not is_name and (status != 2 or f"no such command '{name}x'; did you mean '{name}'" not in text):
                unclear.append((*words, name, text))
    assert unclear == []


def test_a_wrong_choice_is_answered_with_the_right_one() -> None:
    """Every option that takes one of some names says the nearest, in the words of Python and HTTP."""
    options = [
        (option, option.type.choices)
        for command in COMMANDS.values()
        for option in command.params
        if isinstance(option.type, click.Choice)
    ]
    assert len(options) > 3
    for option, choices in options:
        name = next(iter(choices))
        with pytest.raises(click.BadParameter, match=f"there is no '{name}x'; did you mean '{name}'"):
            option.type.convert(f"{name}x", option, None)
