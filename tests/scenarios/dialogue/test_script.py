"""Reading recordings."""

import json
from pathlib import Path

import pytest

from fakebroker.scenarios.dialogue.script import (
    Closed,
    DialogueError,
    Raw,
    Ready,
    Receive,
    Send,
    Unsupported,
    find_dialogues,
    read_dialogue,
)

HEAD = {"name": "n", "about": "shows something", "broker": "Kafka 3.9.1", "config": {"a.b": "1"}}


def written(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "n.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_head_and_steps_are_read(tmp_path: Path) -> None:
    """A recording is its head and its steps, in order."""
    dialogue = read_dialogue(
        written(
            tmp_path,
            HEAD,
            {"do": "ready", "group": "g~", "topics": None},
            {"do": "send", "id": 1, "conn": "a", "api": "Heartbeat", "version": 4, "request": {}, "save": {"x": "Y"}},
            {"do": "recv", "id": 1, "response": {"ErrorCode": 25}, "waited_ms": 3},
            {"do": "raw", "id": 2, "conn": "a", "api": "ApiVersions", "version": 0, "hex": "00ff"},
            {"do": "closed", "id": 2},
        )
    )

    assert (dialogue.name, dialogue.release, dialogue.config) == ("n", "3.9", {"a.b": "1"})
    assert dialogue.steps == (
        Ready("g~", {}, False, None),
        Send(1, "a", "Heartbeat", 4, {}, {"x": "Y"}, False),
        Receive(1, {"ErrorCode": 25}, 3),
        Raw(2, "a", "ApiVersions", 0, b"\x00\xff"),
        Closed(2),
    )


def test_steps_of_other_players_are_reported_when_played(tmp_path: Path) -> None:
    """A kind of step we do not play does not keep the file from being read."""
    dialogue = read_dialogue(written(tmp_path, HEAD, {"do": "juggle", "conn": "a"}))

    assert dialogue.steps == (Unsupported('steps of kind "juggle" are not supported yet'),)


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    """Who edits a dialogue by hand learns where it is wrong."""
    path = written(tmp_path, HEAD, {"do": "sleep", "ms": 1}, {"do": "silent", "id": 1})

    with pytest.raises(DialogueError, match=r"n\.jsonl:3: 'ms' is missing"):
        read_dialogue(path)


def test_a_line_that_is_no_json_is_reported(tmp_path: Path) -> None:
    """Half a line is no line."""
    path = tmp_path / "half.jsonl"
    path.write_text(json.dumps(HEAD) + '\n{"do": \n')

    with pytest.raises(DialogueError, match=r"half\.jsonl:2: "):
        read_dialogue(path)


def test_folders_are_searched(tmp_path: Path) -> None:
    """A folder stands for every recording in it; one without any is an error."""
    path = written(tmp_path, HEAD)

    assert find_dialogues([tmp_path]) == [path]
    with pytest.raises(DialogueError, match=r"no \*\.jsonl"):
        find_dialogues([])
