"""Reading dialogues."""

import json
from pathlib import Path

import pytest

from fakebroker.scenarios.dialogue.script import DialogueError, find_dialogues, read_dialogue
from fakebroker.testing.exchanges.kinds import Closed, Ready, Receive, Send
from fakebroker.testing.exchanges.reading import UnreadableFile

HEAD = {"kind": "dialogue", "schema_version": 2, "name": "n", "broker": "Kafka 3.9.1", "config": {"a.b": "1"}}
SEND = {"kind": "request", "id": 1, "connection": "a", "api": "Heartbeat", "version": 4}


def written(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "n.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("broker", "release"),
    [
        ("Kafka 3.9.1", "3.9"),
        ("fakebroker 0.1.0", "4.3"),
        ("fakebroker --as 3.9 0.1.0", "3.9"),
        ("kfake v0.0.0-20260918054303-01f206a7e32c", "4.3"),
        ("", "4.3"),
    ],
)
def test_the_release_is_that_of_kafka(tmp_path: Path, broker: str, release: str) -> None:
    """The version of a broker that is no Kafka is not taken for a release of Kafka."""
    assert read_dialogue(written(tmp_path, {**HEAD, "broker": broker})).release == release


def test_head_and_steps_are_read(tmp_path: Path) -> None:
    """A recording is its head and its steps, in order."""
    dialogue = read_dialogue(
        written(
            tmp_path,
            HEAD,
            {"kind": "ready", "group": "g~"},
            {**SEND, "message": {}, "save": {"x": "Y"}},
            {"kind": "answer", "id": 1, "message": {"ErrorCode": 25}, "waited_ms": 3},
            {"kind": "request", "id": 2, "connection": "a", "api": "ApiVersions", "version": 0, "hex": "00ff"},
            {"kind": "closed", "id": 2},
        )
    )

    assert (dialogue.name, dialogue.release, dialogue.config) == ("n", "3.9", {"a.b": "1"})
    assert dialogue.steps == (
        Ready("g~", {}, False, None),
        Send(1, "a", "Heartbeat", 4, {}, {"x": "Y"}, False),
        Receive(1, {"ErrorCode": 25}, 3),
        Send(2, "a", "ApiVersions", 0, hex="00ff"),
        Closed(2),
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"kind": "unanswered", "id": 1}, "for_ms is missing"),
        ({"kind": "wait", "for_ms": "1"}, "for_ms is '1', not an integer"),
        ({"kind": "wait", "for_ms": 10**15}, "for_ms is 1000000000000000, not from 0 to a year"),
        ({"kind": "wiat", "for_ms": 1}, "there is no kind 'wiat'; did you mean 'wait'?"),
        ({"do": "sleep", "ms": 1}, "there is no kind ''"),
        (HEAD, "a second line of the kind dialogue"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, line: object, problem: str) -> None:
    """A dialogue that was edited wrongly is refused with the place of the mistake."""
    path = written(tmp_path, HEAD, {"kind": "wait", "for_ms": 1}, line)

    with pytest.raises(UnreadableFile) as found:
        read_dialogue(path)
    assert str(found.value).startswith(f"{path}:3: {problem}")


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_line_that_is_no_json_is_reported(tmp_path: Path, end: str) -> None:
    """Half a line is no line, also where the file ends with it: what is missing would not be played."""
    path = tmp_path / "half.jsonl"
    path.write_text(json.dumps(HEAD) + '\n{"kind": ' + end)

    with pytest.raises(UnreadableFile, match=r"half\.jsonl:2: "):
        read_dialogue(path)


def test_folders_are_searched(tmp_path: Path) -> None:
    """A folder stands for every recording in it; one without any is an error."""
    path = written(tmp_path, HEAD)

    assert find_dialogues([tmp_path]) == [path]
    with pytest.raises(DialogueError, match=r"no \*\.jsonl"):
        find_dialogues([])
