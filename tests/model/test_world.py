"""What the model prints of a failing run is a dialogue that can be played."""

from pathlib import Path
from typing import Any

from fakebroker.scenarios.dialogue.run import play_in_sim
from fakebroker.scenarios.dialogue.script import read_dialogue
from tests.model.world import GROUP, World


def join(member_id: str) -> dict[str, Any]:
    return {
        "GroupId": GROUP,
        "SessionTimeoutMs": 10_000,
        "RebalanceTimeoutMs": 10_000,
        "MemberId": member_id,
        "GroupInstanceId": None,
        "ProtocolType": "consumer",
        "Protocols": [{"Name": "range", "Metadata": {"hex": "00"}}],
    }


def a_run(delay_ms: int) -> World:
    """Two clients join, one of them leaves its connection, time passes."""
    world = World({"group.initial.rebalance.delay.ms": delay_ms, "offsets.topic.replication.factor": 1}, "4.3")
    for name in ("a", "b"):
        answer = world.send(name, "JoinGroup", 9, join("")).answer
        assert answer is not None
        world.send(name, "JoinGroup", 9, join(answer["MemberId"]))
        world.sleep(500)
    world.close("b")
    world.sleep(30_000)
    return world


def test_a_run_can_be_played(tmp_path: Path) -> None:
    """Played on a fresh broker it goes as it went; on one with another delay it does not."""
    path = tmp_path / "run.jsonl"
    path.write_text(a_run(3000).dialogue())
    assert play_in_sim(read_dialogue(path)).problems == []

    path.write_text(path.read_text().replace('"3000"', '"1000"', 1))
    assert play_in_sim(read_dialogue(path)).problems != []
