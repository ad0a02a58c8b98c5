"""A recorded session becomes a scenario that people can change, and that passes as it is."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from fakebroker.cli.main import main
from fakebroker.protocol.records.batch import build_batch, plain_records
from fakebroker.scenarios.language.yaml_file import Scalar, Table, parse_yaml
from fakebroker.scenarios.recording.exchanges import Exchange
from fakebroker.scenarios.recording.membership import Members
from fakebroker.scenarios.recording.scenario_file import written
from fakebroker.scenarios.recording.scenario_text import line_of
from fakebroker.scenarios.recording.steps import StepMaker
from fakebroker.scenarios.recording.survey import Survey
from fakebroker.scenarios.recording.to_scenario import folded, scenario_of
from tests.scenarios.recording.recorded import SESSIONS, lines_of, write_lines


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session_of_a_real_kafka_becomes_a_scenario_that_passes(path: Path, tmp_path: Path) -> None:
    """Without a change, with its transcript, by the two commands of the README; nothing in it is a mere remark."""
    out = tmp_path / "s.yaml"

    made = CliRunner().invoke(main, ["scenario", "from", str(path), "--out", str(out)])
    run = CliRunner().invoke(main, ["scenario", "run", str(out)])

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

    refused = CliRunner().invoke(main, ["scenario", "from", str(SESSIONS[0]), "--out", str(out)])
    done = CliRunner().invoke(main, ["scenario", "from", str(SESSIONS[0]), "--out", str(out), "--force"])

    assert refused.exit_code == 2
    assert "--force overwrites it" in refused.output
    assert done.exit_code == 0
    assert yaml.safe_load(out.read_text())["timeline"]


def test_a_file_that_is_no_session_is_refused(tmp_path: Path) -> None:
    """With its line, and without a trace of a scenario."""
    path = tmp_path / "s.jsonl"
    path.write_text("{}\n")

    outcome = CliRunner().invoke(main, ["scenario", "from", str(path)])

    assert outcome.exit_code == 2
    assert f"{path}:1: " in outcome.output
    assert not path.with_suffix(".yaml").exists()


def test_texts_stay_texts_for_readers_of_yaml_1_2() -> None:
    """PyYAML writes 4e452 without quotes, which is a number to those who read the scenario."""
    for text in (
        "4e452",
        "1.",
        ".5",
        "0o17",
        "12",
        "-1",
        "true",
        "null",
        "~",
        "",
        "ok",
        "$x",
        "a: b",
        "1e5x",
        "9" * 999,
    ):
        node = parse_yaml(line_of({"key": text, text: 1}), "s.yaml")
        assert isinstance(node, Table)
        value = node.entries["key"]
        assert isinstance(value, Scalar)
        assert value.value == text
        assert text in node.entries


def test_a_session_of_transactions_says_what_is_left_out() -> None:
    """What their producers wrote is in the scenario once, and so is what was written with acks 0."""
    made = scenario_of(next(path for path in SESSIONS if path.stem == "transactions"))
    steps = made.data["timeline"]
    producing = [step for step in steps if any(str(value).startswith("produce ") for value in step.values())]

    assert [next(iter(step)) for step in producing] == ["metrics", "shop", "others", "shop", "others", "shop", "others"]
    assert {step.get("note") for step in producing if "others" in step} == {"the end of a transaction"}
    assert any("InitProducerId" in remark for remark in made.remarks)


def _exchange(api: str, version: int, request: dict[str, Any], answer: dict[str, Any]) -> Exchange:
    return Exchange(1, 1, "a", 1, api, version, request, 0, answer, 1, 2, actor="a")


def test_topics_are_deleted_by_name() -> None:
    """The version that also knows ids has the names in another place."""
    maker = StepMaker(Survey(), Members())
    request = {"Topics": [{"Name": "orders", "TopicId": "AAAAAAAAAAAAAAAAAAAAAA"}], "TimeoutMs": 5}

    (step,) = maker.steps_of(_exchange("DeleteTopics", 6, request, {"Responses": []}))

    assert step == {"a": "request DeleteTopics", "version": 5, "topic_names": ["orders"], "timeout_ms": 5}


def test_a_fetch_session_goes_on_where_it_was() -> None:
    """Its later requests do not name a partition again from which nothing has come yet."""
    maker = StepMaker(Survey(), Members())
    data = build_batch(plain_records([(None, b"x")], 5, 18), base_offset=18)
    asked = {"Topics": [{"Topic": "t", "Partitions": [{"Partition": 0, "FetchOffset": 18}]}]}
    found = {"PartitionIndex": 0, "ErrorCode": 0, "HighWatermark": 19, "Records": {"hex": data.hex()}}
    answer = {"Responses": [{"Topic": "t", "Partitions": [found]}]}

    assert maker.steps_of(_exchange("Fetch", 12, asked, {"Responses": []})) == []
    (step,) = maker.steps_of(_exchange("Fetch", 12, {"Topics": []}, answer))

    assert step["offset"] == 18


def test_a_session_too_long_for_a_scenario_is_refused(tmp_path: Path) -> None:
    """Before memory is full, and with a way to make one of its beginning."""
    lines = lines_of(SESSIONS[0])
    for line in lines:
        if line["kind"] == "request" and line["api"] == "Produce":
            line["size_bytes"] = 5 << 20
    path = write_lines(tmp_path / "s.jsonl", lines)

    outcome = CliRunner().invoke(main, ["scenario", "from", str(path)])

    assert outcome.exit_code == 2
    assert "head -n 2000 s.jsonl > part.jsonl" in outcome.output
    assert not path.with_suffix(".yaml").exists()


def test_a_full_disk_leaves_no_half_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the file, and what was there before is there."""
    out = tmp_path / "s.yaml"
    out.write_text("mine")

    def fail(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", fail)
    outcome = CliRunner().invoke(main, ["scenario", "from", str(SESSIONS[0]), "--out", str(out), "--force"])

    assert outcome.exit_code == 2
    assert "s.yaml.part: No space left on device" in outcome.output
    assert [each.name for each in tmp_path.iterdir()] == ["s.yaml"]
    assert out.read_text() == "mine"
