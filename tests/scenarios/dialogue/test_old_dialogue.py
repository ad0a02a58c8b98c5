"""Dialogues of the format before: they are read as what they would be today."""

import json
from pathlib import Path

import pytest

from fakebroker.scenarios.dialogue.run import play_in_sim
from fakebroker.scenarios.dialogue.script import read_dialogue
from fakebroker.testing.exchanges.kinds import (
    Close,
    Closed,
    MakeTopics,
    MoveLeader,
    NameNodes,
    NodeControl,
    Ready,
    Receive,
    ScramLogin,
    Send,
    Settled,
    Silent,
    Sleep,
)
from fakebroker.testing.exchanges.reading import UnreadableFile
from tools.convert_dialogues import convert

HEAD = {"name": "n", "about": "shows something", "broker": "Kafka 3.9.1", "config": {"a.b": "1"}, "nodes": 3}
SEND = {"do": "send", "id": 1, "conn": "a", "api": "Fetch", "version": 4, "request": {"MaxWaitMs": 1}}
SCRAM = {"mechanism": "SCRAM-SHA-256", "user": "u", "password": "p", "extensions": "", "error": 0}
STEPS = [
    ({"do": "ready", "group": "g~", "topics": {"t": {}}, "ids": True, "txn": ""}, Ready("g~", {"t": {}}, True, "")),
    ({"do": "ready", "group": None, "topics": None}, Ready()),
    ({**SEND, "save": {"x": "Y"}, "batches": True}, Send(1, "a", "Fetch", 4, {"MaxWaitMs": 1}, {"x": "Y"}, True)),
    ({"do": "silent", "id": 1, "ms": 50}, Silent(1, 50)),
    ({"do": "recv", "id": 1, "response": {"A": 0}, "waited_ms": 3, "untimed": True}, Receive(1, {"A": 0}, 3, True)),
    (
        {"do": "raw", "id": 2, "conn": "a", "api": "ApiVersions", "version": 0, "hex": "00ff"},
        Send(2, "a", "ApiVersions", 0, hex="00ff"),
    ),
    ({"do": "closed", "id": 2}, Closed(2)),
    ({"do": "sleep", "ms": 7}, Sleep(7)),
    ({"do": "close", "conn": "a"}, Close("a")),
    ({"do": "scram", "conn": "a", **SCRAM}, ScramLogin("a", "SCRAM-SHA-256", "u", "p", "", 0)),
    ({"do": "nodes", "group": "g", "txn": "x"}, NameNodes("g", None, "x")),
    ({"do": "topics", "topics": {"t": {"assign": [["a"]]}}}, MakeTopics({"t": {"assign": [["a"]]}})),
    ({"do": "node", "op": "kill", "node": "a"}, NodeControl("kill", "a")),
    ({"do": "move", "to": "b", "topic": "t"}, MoveLeader("b", None, "t")),
    ({"do": "settled", "on": "b", "group": "g"}, Settled("b", "g", None)),
]


def written(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_every_step_is_one_of_today(tmp_path: Path) -> None:
    """Head and steps keep what they say."""
    dialogue = read_dialogue(written(tmp_path, HEAD, *(old for old, _ in STEPS)))

    assert (dialogue.name, dialogue.about, dialogue.broker) == ("n", "shows something", "Kafka 3.9.1")
    assert (dialogue.config, dialogue.nodes) == ({"a.b": "1"}, 3)
    assert dialogue.steps == tuple(step for _, step in STEPS)


def test_it_can_be_played(tmp_path: Path) -> None:
    """A wrong answer is found at its line, a right one is none."""
    send = {"do": "send", "conn": "a", "api": "Heartbeat", "version": 0, "request": {"GroupId": "g"}, "save": {}}
    recv = {"do": "recv", "waited_ms": 0}
    right, wrong = ({**recv, "id": n, "response": {"ErrorCode": code}} for n, code in ((1, 25), (2, 0)))
    path = written(tmp_path, {"name": "n"}, {**send, "id": 1}, right, {**send, "id": 2}, wrong)

    assert play_in_sim(read_dialogue(path)).problems == ["line 5 receive 2 Heartbeat v0: .ErrorCode: 25, Kafka 0"]


def test_it_can_be_converted(tmp_path: Path) -> None:
    """The file says the same in the format of today; a second time nothing is left to do."""
    path = written(tmp_path, HEAD, *(old for old, _ in STEPS))
    before = read_dialogue(path)

    assert convert(path)
    assert read_dialogue(path) == before
    assert path.read_bytes().startswith(b'{"kind":"dialogue","schema_version":2,"name":"n"')
    assert not convert(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"do": "juggle"}, "there is no step 'juggle'"),
        ({"do": ["sleep"]}, "there is no step ['sleep']"),
        ({"do": "sleep"}, "for_ms is missing"),
        ({"do": "sleep", "ms": -1}, "for_ms is -1, not from 0 to a year"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, line: object, problem: str) -> None:
    """Columns are named as they are today."""
    path = written(tmp_path, HEAD, line)

    with pytest.raises(UnreadableFile) as found:
        read_dialogue(path)
    assert str(found.value).startswith(f"{path}:2: {problem}")
