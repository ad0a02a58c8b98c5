"""`fakebroker dialogue play` in the hands of its users."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker.cli.main import main
from fakebroker.protocol.listeners import SASL_PLAINTEXT
from fakebroker.testing.broker import FakeBroker
from tests.conformance.recordings import RECORDINGS
from tests.support.secured import SECURED, command_config, secured_broker

GOOD = str(RECORDINGS / "groups" / "av_every_version.jsonl")


def play(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["dialogue", "play", *arguments])


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    """A dialogue that no broker plays as "recorded": nine answers with codes that do not exist."""
    send = {"kind": "request", "connection": "a", "api": "Heartbeat", "version": 0, "message": {"GroupId": "g"}}
    steps = []
    for number in range(1, 10):
        steps += [
            {**send, "id": number},
            {"kind": "answer", "id": number, "message": {"ErrorCode": 99}, "waited_ms": 0},
        ]
    path = tmp_path / "wrong.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"kind": "dialogue", "schema_version": 2, "name": "wrong"}, *steps])))
    return str(path)


def test_what_passes_is_counted_per_folder() -> None:
    """The last two lines are the count per folder and in all; nothing is said of a dialogue that passes."""
    result = play(GOOD)

    assert result.exit_code == 0
    assert result.output.splitlines()[0] == "groups 1/1"
    assert result.output.splitlines()[1].startswith("1 of 1 dialogues as Kafka (")
    assert "ok " in play(GOOD, "--verbose").output


def test_what_differs_is_reported_briefly(wrong: str) -> None:
    """Six differences are shown, each with line, step, path and both values, or all of them; the exit code is 1."""
    result = play(wrong)
    lines = result.output.splitlines()

    assert result.exit_code == 1
    assert lines[0] == f"DIFF {wrong}"
    assert lines[1] == "     line 3 receive 1 Heartbeat v0: .ErrorCode: 25, Kafka 99"
    assert lines[7] == "     and 3 more (--verbose)"
    assert len(play(wrong, "--verbose").output.splitlines()) == 12


def test_a_running_broker_can_be_played_against() -> None:
    """With --tcp the broker is somebody else's."""
    with FakeBroker(profile="kafka") as broker:
        result = play(GOOD, "--tcp", broker.bootstrap)

    assert result.exit_code == 0, result.output


def test_each_dialogue_can_have_a_fresh_broker() -> None:
    """With --fresh every dialogue is played over TCP on a broker with its own settings."""
    assert play(GOOD, "--fresh", "--slack", "3").exit_code == 0


def test_a_broker_that_is_not_there_is_reported_once(wrong: str) -> None:
    """Before anything is played; nothing is a difference then."""
    result = play(wrong, "--tcp", "127.0.0.1:1")

    assert (result.exit_code, result.output) == (3, "Error: no broker answers at 127.0.0.1:1: Connection refused\n")


@pytest.mark.parametrize("protocol", SECURED)
def test_a_secured_broker_can_be_played_against(tmp_path: Path, protocol: str) -> None:
    """Every connection of the dialogue speaks TLS and logs in as the client properties say."""
    properties = command_config(tmp_path, protocol)
    with secured_broker(profile="kafka") as broker:
        result = play(GOOD, "--tcp", broker.bootstrap_of(protocol), "--command-config", properties)

    assert result.exit_code == 0, result.output


def test_a_broker_that_wants_a_login_is_reported() -> None:
    """With what to set."""
    with secured_broker(SASL_PLAINTEXT) as broker:
        result = play(GOOD, "--tcp", broker.bootstrap)

    assert (result.exit_code, "set security.protocol=SASL_PLAINTEXT or SASL_SSL" in result.output) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--tcp", "nonsense"], "'nonsense' is not HOST:PORT"),
        (["--tcp", "localhost:1", "--fresh"], "--tcp and --fresh are mutually exclusive"),
    ],
)
def test_options_that_make_no_sense_are_said(arguments: list[str], complaint: str) -> None:
    """Bad usage ends with 2 and a sentence."""
    result = play(GOOD, *arguments)

    assert result.exit_code == 2
    assert complaint in result.output


def test_a_file_that_is_no_dialogue_is_said(tmp_path: Path) -> None:
    """A broken file is an error that names file and line, a folder without dialogues one that names the folder."""
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{")
    assert "broken.jsonl:1" in play(str(broken)).output
    empty = tmp_path / "empty"
    empty.mkdir()

    assert f"no *.jsonl in {empty}" in play(str(empty)).output
