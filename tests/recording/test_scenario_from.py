"""A recorded session becomes a scenario that people can change, and that passes as it is."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from fakebroker.recording.folding import folded
from fakebroker.recording.scenario_file import written
from fakebroker.recording.to_scenario import scenario_of
from fakebroker.scenario.command import scenario
from tests.recording.recorded import SESSIONS, lines_of, write_lines


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session_of_a_real_kafka_becomes_a_scenario_that_passes(path: Path, tmp_path: Path) -> None:
    """Without a change, with its transcript, by the two commands of the README; nothing in it is a mere remark."""
    out = tmp_path / "s.yaml"

    made = CliRunner().invoke(scenario, ["from", str(path), "--out", str(out)])
    run = CliRunner().invoke(scenario, ["run", str(out)])

    assert made.exit_code == 0, made.output
    assert run.exit_code == 0, run.output
    assert "answered otherwise" not in out.read_text()


def test_members_are_spoken_of_by_their_actors() -> None:
    """Members of a group are actors with verbs; their ids are nowhere in the file."""
    path = next(path for path in SESSIONS if "kafkajs" in path.name)
    made = scenario_of(path)
    text = written(made, path.name).text
    ids = [line["message"]["MemberId"] for line in lines_of(path) if line.get("api") == "JoinGroup"]

    words = [next(iter(step.values())) for step in made.data["timeline"] if "consumer_1" in step]

    assert not any(member_id and member_id in text for member_id in ids)
    assert "rejoin" in words
    assert "heartbeat" in words
    assert any(str(word).startswith("join ") for word in words)


def test_offsets_assignments_and_errors_are_expected() -> None:
    """What matters of the answers is in the expectations."""
    steps = [step for path in SESSIONS for step in scenario_of(path).data["timeline"] if "expect" in step]

    assert any("assignment" in step["expect"] for step in steps)
    assert any(step["expect"].get("error") == "REBALANCE_IN_PROGRESS" for step in steps)
    assert any("committed_offset" in repr(step["expect"]) for step in steps)
    assert any("records" in step["expect"] for step in steps)


def test_what_fakebroker_answers_otherwise_is_a_remark(tmp_path: Path) -> None:
    """The scenario passes all the same, and says in the step what the recorded broker did."""
    lines = lines_of(SESSIONS[0])
    answer = next(
        line for line in reversed(lines) if line["kind"] == "answer" and line["api"] in ("Heartbeat", "OffsetCommit")
    )
    _set_error(answer["message"], 25)
    path = write_lines(tmp_path / "s.jsonl", lines)

    found = written(scenario_of(path), path.name)

    assert found.problems == []
    assert "the recorded broker answered otherwise: error: expected UNKNOWN_MEMBER_ID" in found.text


def _set_error(message: object, code: int) -> None:
    if isinstance(message, dict):
        if "ErrorCode" in message:
            message["ErrorCode"] = code
        for each in message.values():
            _set_error(each, code)
    elif isinstance(message, list):
        for each in message:
            _set_error(each, code)


def test_what_comes_again_and_again_is_folded() -> None:
    """A minute of heartbeats is one `repeat`; what comes less than three times in a row stays."""
    steps = [{"a": "join"}, *[{"pass": "3s"}, {"a": "heartbeat"}] * 20, {"a": "leave"}]

    assert folded(steps) == [
        {"a": "join"},
        {"repeat": 20, "steps": [{"pass": "3s"}, {"a": "heartbeat"}]},
        {"a": "leave"},
    ]
    assert folded([{"a": "heartbeat"}] * 2) == [{"a": "heartbeat"}] * 2
    assert folded([{"a": "x", "save": {"n": "m"}}] * 5) == [{"a": "x", "save": {"n": "m"}}] * 5


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    """Unless it is asked for: people have changed it."""
    out = tmp_path / "s.yaml"
    out.write_text("mine")

    refused = CliRunner().invoke(scenario, ["from", str(SESSIONS[0]), "--out", str(out)])
    done = CliRunner().invoke(scenario, ["from", str(SESSIONS[0]), "--out", str(out), "--force"])

    assert refused.exit_code == 2
    assert "--force overwrites it" in refused.output
    assert done.exit_code == 0
    assert yaml.safe_load(out.read_text())["timeline"]


def test_a_file_that_is_no_session_is_refused(tmp_path: Path) -> None:
    """With its line, and without a trace of a scenario."""
    path = tmp_path / "s.jsonl"
    path.write_text("{}\n")

    outcome = CliRunner().invoke(scenario, ["from", str(path)])

    assert outcome.exit_code == 2
    assert f"{path}:1: " in outcome.output
    assert not path.with_suffix(".yaml").exists()
