"""Differential play finds what two brokers answer otherwise, shrinks it, and keeps what came of it."""

import json
import socket
import time
from collections.abc import Iterator
from multiprocessing.pool import ThreadPool
from pathlib import Path
from threading import Event

import pytest

from fakebroker import FakeBroker
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.dialogue.run import play_in_sim
from fakebroker.scenarios.dialogue.script import read_dialogue
from fakebroker.testing.exchanges.kinds import Send
from tools.differential import brokers, worker
from tools.differential.__main__ import lines_of, parts, until
from tools.differential.chapters import CHAPTERS
from tools.differential.fitting import fitting
from tools.differential.mutation import mutated
from tools.differential.pair import Asked, History, Restart
from tools.differential.played import Play, keep, read
from tools.differential.recording import recording
from tools.differential.worker import Found, Part, Result, Worker

SETTINGS = brokers.settings_of(brokers.NAMED["fakebroker"])
# Their timers take seconds of real time.
TAKE_TIME = ("timers", "locks")
OURS = ("fakebroker", "fakebroker")  # started by a part that restarts its brokers


@pytest.fixture(autouse=True)
def shrink_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted difference needs no long search."""
    monkeypatch.setattr(worker, "SHRINK_S", 2)


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[FakeBroker, FakeBroker]]:
    """Two brokers with the settings of the play."""
    with FakeBroker(profile="kafka", config=SETTINGS) as one, FakeBroker(profile="kafka", config=SETTINGS) as other:
        yield one, other


def address(broker: FakeBroker) -> Address:
    host, _, port = broker.bootstrap.rpartition(":")
    return Address(host, int(port))


def played(
    pair: tuple[FakeBroker, FakeBroker], chapter: str, out: Path, *, tag: str, steps: int = 30, seed: int = 1
) -> Result:
    """What comes of a part."""
    reference, subject = map(address, pair)
    return Worker(Part(chapter, tag, seed, steps, reference, subject, OURS, "Kafka 4.3.1", (), out)).play()


@pytest.mark.parametrize("chapter", [name for name in CHAPTERS if not name.endswith(TAKE_TIME)])
def test_two_equal_brokers_do_not_differ(pair: tuple[FakeBroker, FakeBroker], chapter: str, tmp_path: Path) -> None:
    """Every chapter is played, and nothing is found."""
    result = played(pair, chapter, tmp_path, tag="equal-")

    assert result.why_not == ""
    assert result.steps >= 30
    assert (result.differences, list(tmp_path.iterdir())) == ([], [])


def test_a_difference_is_shrunk_and_written(pair: tuple[FakeBroker, FakeBroker], tmp_path: Path) -> None:
    """The shortest history has nothing that is not needed; it is a dialogue that the reference plays to its end."""
    with pair[1].fault(api="DeleteGroups", error="GROUP_AUTHORIZATION_FAILED"):
        result = played(pair, "offsets", tmp_path, tag="planted-", steps=80)

    found = result.differences[0]
    assert found.kind.startswith("DeleteGroups: ")
    assert ".Results[].ErrorCode 30 " in found.kind
    dialogue = read_dialogue(Path(found.file))
    asked = [step.api for step in dialogue.steps if isinstance(step, Send)]
    assert asked in (["DeleteGroups"], ["OffsetCommit", "DeleteGroups"])
    assert play_in_sim(dialogue).problems == []


def test_a_restart_is_written_as_a_dialogue(tmp_path: Path) -> None:
    """The dialogue kills the broker and starts it again; it is one that can be controlled."""
    restart = History([("restart", Restart("kill"))])
    path = tmp_path / "restart.jsonl"
    path.write_bytes(recording({"name": "n", "about": "a"}, "r-", (), {}, restart))

    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert lines[0]["nodes"] == 1
    assert [each for each in lines if each["kind"] == "control_node"] == [
        {"kind": "control_node", "action": "kill", "on": "a"},
        {"kind": "control_node", "action": "restart", "on": "a"},
    ]
    assert play_in_sim(read_dialogue(path)).problems == []


def test_the_same_difference_is_found_once(pair: tuple[FakeBroker, FakeBroker], tmp_path: Path) -> None:
    """Histories that end with a kind of difference that is known are counted, and the play goes on."""
    with pair[1].fault(api="DeleteGroups", error="GROUP_AUTHORIZATION_FAILED"):
        result = played(pair, "offsets", tmp_path, tag="again-", steps=100)

    kinds = [found.kind for found in result.differences]
    assert len(kinds) == len(set(kinds)) > 0
    assert result.steps >= 100


def test_a_chapter_that_a_broker_does_not_serve_is_not_played(tmp_path: Path) -> None:
    """The result says what is missing."""
    with FakeBroker(as_release="3.9") as one, FakeBroker(as_release="3.9") as other:
        result = played((one, other), "share groups", tmp_path, tag="missing-")

    assert result.why_not == "ShareGroupHeartbeat not served by both"
    assert list(lines_of(result)) == ["share groups: not played: ShareGroupHeartbeat not served by both"]


def test_a_broker_that_is_gone_ends_a_part(pair: tuple[FakeBroker, FakeBroker], tmp_path: Path) -> None:
    """The result says that it was not played to its end, and why."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        gone = Address(*unused.getsockname())

    part = Part("log", "gone-", 1, 30, address(pair[0]), gone, OURS, "", (), tmp_path)

    assert Worker(part).play().why_not.startswith(f"not to its end: no broker answers at {gone}")


def test_parts_share_the_steps(tmp_path: Path) -> None:
    """Each chapter gets its share, in parts with seeds of their own, which are played in turn."""
    one = brokers.Running(Address("h", 1), "Kafka 4.3.1", "4.3.1", {"a": "b"})

    made = list(parts(["log", "admin"], 5_000, 7, (one, one), OURS, tmp_path))

    assert [(part.chapter, part.seed) for part in made[:3]] == [("log", 7000), ("admin", 7000), ("log", 7001)]
    assert sum(part.steps for part in made if part.chapter == "log") in range(2_500, 2_510)
    assert {(part.broker, part.config) for part in made} == {("Kafka 4.3.1", (("a", "b"),))}


def test_a_play_ends_on_time() -> None:
    """At the end of the time the results that are there count, and those under way do not."""
    is_over = Event()

    def part(name: str) -> Result:
        if name == "late":
            assert is_over.wait(30)
        return Result(name)

    with ThreadPool(2) as pool:
        results = until(time.monotonic() + 0.5, pool.imap_unordered(part, ["log", "late"]))
        assert [result.chapter for result in results] == ["log"]
        is_over.set()


def test_requests_of_sessions_are_not_asked_again() -> None:
    """A session counts its requests: the same one again would carry an old epoch."""
    sessionless = [Asked("f", "Fetch", 12, {}), Asked("f", "Fetch", 12, {"SessionEpoch": -1})]
    counted = [Asked("f", "Fetch", 12, {"SessionEpoch": 0}), Asked("a", "ShareFetch", 2, {"ShareSessionEpoch": 3})]
    assert [each.is_of_session for each in (*sessionless, *counted)] == [False, False, True, True]
    assert [each.is_read for each in (*sessionless, *counted)] == [True, True, False, False]


def test_plays_are_kept(tmp_path: Path) -> None:
    """Parts of a chapter add up; plays stand in the file one after the other."""
    play = Play("Kafka 4.3.1", "fakebroker 0.1", seed=3)
    for file in ("a", "b"):
        play.add(Result("log", steps=10, histories=2, differences=[Found("Fetch: x", "Fetch\n  x", file)]))
    for _ in range(2):
        keep(play, tmp_path / "played.json")

    first, second = read(tmp_path / "played.json")
    assert first == second == play
    assert (first.steps, first.chapters["log"].kinds) == (20, {"Fetch: x": "Fetch x"})
    assert next(play.lines()) == "log: 20 steps in 4 histories, 1 differences"


def test_a_broker_without_a_name_is_refused() -> None:
    """The error lists the names."""
    with (
        pytest.raises(ValueError, match=r"kafka-9: no broker; give HOST:PORT or one of fakebroker, kafka-4\.3\.1"),
        brokers.running("kafka-9"),
    ):
        pass


def test_mutated_requests_are_wrong_in_one_place() -> None:
    """All places are reached; waits are kept, and names that histories would share."""
    request = {"GroupId": "g", "MaxWaitMs": 5, "Topics": [{"Name": "t", "Indexes": [1, 2]}]}

    made = [mutated(request, number) for number in range(400)]

    assert all(each["MaxWaitMs"] == 5 and each["GroupId"] for each in made)
    assert {str(each["Topics"]) for each in made} >= {"[]", "[{'Name': '', 'Indexes': [1, 2]}]"}
    assert request == {"GroupId": "g", "MaxWaitMs": 5, "Topics": [{"Name": "t", "Indexes": [1, 2]}]}


def test_requests_fit_their_api() -> None:
    """Names that an API does not have are left out, at every depth."""
    topics = [{"Name": "t", "Topic": "t", "Partitions": [{"Partition": 0, "Odd": 1}]}]

    fitted = fitting(api("Fetch").request, {"Topics": topics, "Odd": 1})

    assert fitted == {"Topics": [{"Topic": "t", "Partitions": [{"Partition": 0}]}]}
