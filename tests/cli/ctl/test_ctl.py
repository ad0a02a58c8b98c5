"""`fakebroker ctl`: the HTTP API from a shell, with the words of the paths and the options of the methods."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker.cli.ctl.extras import EXTRAS
from fakebroker.cli.ctl.paths import NUMBERED, tree, word_of
from fakebroker.cli.exit_status import ExitStatus
from fakebroker.cli.http.operations import OPERATIONS
from fakebroker.cli.main import main
from tests.support.serving import controlled

Ctl = Callable[..., Result]
REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A served broker."""
    with controlled() as url:
        yield url


@pytest.fixture
def ctl(url: str) -> Ctl:
    """Run a command against it, as new."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, ["ctl", "--url", url, *words])

    assert run("reset").exit_code == 0
    return run


def test_a_session_in_a_shell(ctl: Ctl) -> None:
    """Things are made, shown as JSON, and explained as text."""
    assert ctl("topics", "orders", "create", "--partitions", "3", "--config", "retention.ms=1000").exit_code == 0
    assert [topic["name"] for topic in json.loads(ctl("--json", "topics").output)] == ["orders"]
    assert json.loads(ctl("--json", "topics", "orders").output)["partitions"] == 3
    produced = json.loads(
        ctl("--json", "topics", "orders", "records", "produce", "--values", "a", "--values", "b").output
    )
    assert (produced["partition"], produced["offset"], produced["records"]) == (0, 0, 2)
    assert [record["value"] for record in json.loads(ctl("--json", "topics", "orders", "records").output)] == ["a", "b"]
    assert ctl("clock", "advance", "--days", "8").output == ""
    assert json.loads(ctl("--json", "faults").output) == []
    assert ctl("groups", "billing", "explain").output.startswith("group billing: Dead")
    assert json.loads(ctl("--json", "groups", "billing", "explain").output)["state"] == "Dead"
    fault = ctl("--json", "faults", "add", "--api", "OffsetCommit", "--error", "NOT_COORDINATOR", "--times", "2")
    assert json.loads(fault.output)["fields"]["times"] == 2
    assert ctl("groups", "a/b", "commit", "--offsets", "nope-0=1").exit_code == 1
    assert ctl("faults", "1", "delete").exit_code == 0


def test_an_option_of_a_list_says_where_it_belongs(ctl: Ctl) -> None:
    """`ctl journal` shows what `ctl journal list` shows, and only that has options."""
    assert "(Did you mean fakebroker ctl journal list --limit?)" in ctl("journal", "--limit", "3").output.replace(
        "main ctl", "fakebroker ctl"
    )
    assert ctl("journal", "list", "--limit", "3").exit_code == 0
    assert "Did you mean" not in ctl("topics", "--limit", "3").output


def test_what_goes_wrong_has_a_status(ctl: Ctl) -> None:
    """1 what the broker refuses, 2 wrong usage, 3 nobody answers; each with one line that says what."""
    refused = ctl("topics", "ordrs")
    assert (refused.exit_code, refused.output) == (1, "Error: there is no topic 'ordrs'; there are none\n")
    usage = ctl("clock", "advance", "--dayz", "8")
    assert (usage.exit_code, "--days" in usage.output) == (2, True)
    assert ctl("clocks").exit_code == 2
    nobody = CliRunner().invoke(main, ["ctl", "--url", "http://127.0.0.1:1", "clock"])
    assert (nobody.exit_code, "refused" in nobody.output) == (3, True)
    no_scheme = CliRunner().invoke(main, ["ctl", "--url", "127.0.0.1:1", "clock"])
    assert (no_scheme.exit_code, "'127.0.0.1:1' does not begin with http://" in no_scheme.output) == (2, True)


def test_every_row_is_a_command(ctl: Ctl) -> None:
    """And tells how it is used."""
    rows = (*OPERATIONS, *EXTRAS)
    assert tree().words.keys() == {word_of(row.path.split("/")[1]) for row in rows}
    for row in rows:
        node = tree()
        words: list[str] = []
        for part in row.path.strip("/").split("/"):
            words.append("7" if part[0] == "{" else word_of(part))
            below = node.beyond if part[0] == "{" else node.words[word_of(part)]
            assert below is not None
            node = below
        if not node.only:
            words.append(next(word for word, each in node.commands.items() if each == row))
        shown = ctl(*words, "--help")
        assert (shown.exit_code, shown.output.startswith("Usage: ")) == (0, True), words


def test_words_that_only_go_on_tell_what_follows(ctl: Ctl) -> None:
    """`coordinators` alone does nothing; its help is that of one coordinator."""
    shown = ctl("--help").output
    assert "coordinators              Show or move the coordinator of a group." in shown
    assert "transaction-coordinators  Show or move the coordinator of a transactional id." in shown


def test_completion_knows_the_words() -> None:
    """As click's completion asks for them."""
    environment = {
        "_FAKEBROKER_COMPLETE": "bash_complete",
        "COMP_WORDS": "fakebroker ctl groups x w",
        "COMP_CWORD": "4",
    }
    shown = CliRunner().invoke(main, [], env=environment, prog_name="fakebroker")

    assert "plain,wait" in shown.output


def test_answers_are_tables(ctl: Ctl) -> None:
    """A list has a line for each object, one object a line for each field; nothing is said in words."""
    assert ctl("topics").output == "none\n"
    ctl("topics", "orders", "create", "--partitions", "3")
    ctl("topics", "orders-by-customer", "create")
    heading, first, second = ctl("topics").output.splitlines()
    assert heading.split()[:2] == ["NAME", "PARTITIONS"]
    assert [first.split()[:2], second.split()[:2]] == [["orders", "3"], ["orders-by-customer", "1"]]
    assert heading.index("PARTITIONS") == first.index("3") == second.index("1")

    ctl("groups", "billing", "commit", "--offsets", "orders-0=42")
    shown = dict(line.split("  ", 1) for line in ctl("groups", "billing").output.splitlines())
    assert shown["offsets"].strip() == "orders-0=42"
    for words in ("groups", "nodes", "transactions", "faults", "users", "brokers", "snapshots"):
        assert "{" not in ctl(words).output, words


def test_an_exhausted_fault_says_so(ctl: Ctl) -> None:
    """In the table, and as JSON."""
    ctl("faults", "add", "--api", "OffsetCommit", "--error", "NOT_COORDINATOR", "--times", "1")
    assert json.loads(ctl("--json", "faults", "1").output)["is_exhausted"] is False
    assert "IS EXHAUSTED" in ctl("faults").output


@pytest.mark.parametrize(
    ("words", "ms"), [(["8d"], 691_200_000), (["2", "h", "30", "m"], 9_000_000), (["2 h 30 m"], 9_000_000)]
)
def test_the_clock_takes_a_duration(ctl: Ctl, words: list[str], ms: int) -> None:
    """As the page does; with options it would be said twice."""
    ctl("clock", "freeze")
    before = json.loads(ctl("--json", "clock").output)["now_ms"]
    assert ctl("clock", "advance", *words).exit_code == 0
    assert json.loads(ctl("--json", "clock").output)["now_ms"] == before + ms
    assert ctl("clock", "step-back", *words).exit_code == 0
    assert json.loads(ctl("--json", "clock").output)["now_ms"] == before

    assert ctl("clock", "advance", "8x").exit_code == ExitStatus.BAD_INPUT
    twice = ctl("clock", "advance", "8d", "--days", "8")
    assert (twice.exit_code, "not both" in twice.output) == (ExitStatus.BAD_INPUT, True)


def test_a_wrong_token_names_the_option() -> None:
    """And the environment variable, not the header of HTTP."""
    with controlled("--control-token", "right") as url:
        shown = CliRunner().invoke(main, ["ctl", "--url", url, "--token", "wrong", "topics"])
        assert CliRunner().invoke(main, ["ctl", "--url", url, "--token", "right", "topics"]).exit_code == 0

    assert shown.exit_code == ExitStatus.BAD_INPUT
    assert "--token or FAKEBROKER_CONTROL_TOKEN" in shown.output
    assert "Bearer" not in shown.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("topic", "no such command 'topic'; did you mean 'topics'?"),
        ("topics orders record", "no such command 'record'; did you mean 'records'?"),
        ("faults ad", "no such command 'ad'; did you mean 'add'?"),
        ("faults 1 dlete", "no such command 'dlete'; did you mean 'delete'?"),
        (
            "faults remove 1",
            (
                "no such command 'remove'; FAULT_ID (a number, as `main ctl faults list` shows it) comes first: "
                "`main ctl faults 1 delete`"
            ),
        ),
        ("nodes stop 1", "NODE_ID (a number, as `main ctl nodes list` shows it) comes first: `main ctl nodes 1 stop`"),
        ("faults f1", "there are list, add, clear, FAULT_ID (a number, as `main ctl faults list` shows it)"),
        ("topics delete orders", "the name comes first: `main ctl topics orders delete`"),
        ("topics o partitions a", "there is only INDEX (a number)"),
        ("clock advance", "give a DURATION such as 8d or '1h 30m', or options such as --days 8"),
        ("clock advance --timers", "give a DURATION"),
    ],
)
def test_a_wrong_command_is_answered_with_the_right_one(ctl: Ctl, words: str, said: str) -> None:
    """At every level, with the place of a name in a command and how things are named."""
    refused = ctl(*words.split())
    assert (refused.exit_code, said in refused.output) == (2, True), refused.output


def test_numbered_things_are_those_of_the_api() -> None:
    """Every placeholder that the HTTP API takes as a number, and no other."""
    document = json.loads((REPOSITORY / "docs/reference/openapi.json").read_text(encoding="utf-8"))
    in_paths = [
        each
        for path in document["paths"].values()
        for operation in path.values()
        for each in operation.get("parameters", [])
        if each["in"] == "path"
    ]
    assert {each["name"] for each in in_paths if each["schema"].get("type") == "integer"} == NUMBERED
