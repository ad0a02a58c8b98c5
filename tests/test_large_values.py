"""Records of 100 KB, 1 MB and 10 MB as a test sees them: by the handles, over HTTP and in scenarios."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fakebroker
from fakebroker import FakeBroker, VirtualBroker
from fakebroker.cli.main import main
from tests.support.serving import controlled

KB = 1000
ROOM = 64 << 20
SIZES = [(100, KB), (1, 1000 * KB), (10, 1000 * KB)]  # records, and bytes of the value of each
CONFIG = {"message.max.bytes": ROOM}
STORY = """
about: Large values come back as they went.
parameters: {v: ""}
config: {message.max.bytes: 64000000}
topics: {t: {partitions: 1}}
actors: [a, member]
timeline:
  - {a: alter_configs g, kind: group, config: {share.auto.offset.reset: earliest}}
  - {member: join_share_group g, topics: [t], expect: {error: NONE}}
PRODUCED
  - {a: fetch t-0, offset: 0, max_bytes: 64000000, expect: {records: [VALUES]}}
  - {member: share_fetch, partitions: [t-0], max_bytes: 64000000, max_wait: 1s, expect: {records: [VALUES]}}
  - {member: share_acknowledge t-0, acknowledgements: accept, expect: {error: NONE}}
  - {expect: {topic: t, records: [VALUES]}}
"""


def values(count: int, size: int) -> list[str]:
    """Values that differ."""
    return [f"{number}:".ljust(size, "v") for number in range(count)]


@pytest.mark.parametrize(("count", "size"), SIZES)
@pytest.mark.parametrize("kind", [FakeBroker, VirtualBroker])
def test_by_the_handles(kind: Callable[..., Any], count: int, size: int, tmp_path: Path) -> None:
    """What was produced is listed, waited for, fetched, kept in a snapshot and saved in the journal."""
    with kind(config=CONFIG) as broker:
        topic = broker.create_topic("t")
        client = broker.client("a")
        topic.produce(*values(count, size))
        expected = [value.encode() for value in values(count, size)]
        assert [each.value for each in topic.records()] == expected
        assert [each.value for each in topic.wait(records=count)] == expected
        assert [each.value for each in client.fetch("t", 0, 0, max_bytes=ROOM)] == expected
        (exchange,) = broker.journal.requests("Fetch")
        assert exchange.errors == ()
        assert broker.journal.save(tmp_path / "journal") > 0
        with broker.snapshot().fork() as fork:
            assert [each.value for each in fork.topic("t").records()] == expected
        assert broker.errors == []
    assert len(broker.story()) < 100 * KB


def ask(url: str, body: object = None) -> Any:
    """The data of an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.parametrize(("count", "size"), SIZES)
def test_over_http(count: int, size: int) -> None:
    """Over real sockets: what was produced by requests of HTTP is listed as a whole."""
    with controlled("--config", f"message.max.bytes={ROOM}", "--topic", "t:1") as url:
        for value in values(count, size):
            assert ask(f"{url}/topics/t/records", {"values": [value]})["records"] == 1
        assert [each["value"] for each in ask(f"{url}/topics/t/records?partition=0")] == values(count, size)
        waited = ask(f"{url}/topics/t/wait", {"records": count})
        assert [each["value"] for each in waited] == values(count, size)
        assert ask(f"{url}/errors") == []


@pytest.mark.parametrize(("count", "size"), SIZES)
def test_in_a_scenario(count: int, size: int, tmp_path: Path) -> None:
    """Steps take them and expectations compare them; a file is smaller than they are, so they come as a parameter."""
    story = tmp_path / "story.yaml"
    produced = "  - {a: produce t-0, records: ['${v}'], expect: {error: NONE}}"
    text = STORY.replace("PRODUCED", "\n".join([produced] * count))
    story.write_text(text.replace("VALUES", ", ".join(["{value: '${v}'}"] * count)))
    assert fakebroker.play(story, parameters={"v": "v" * size}).is_good
    story.write_text(story.read_text().replace("topic: t, records: [", "topic: t, records: [{value: x}, "))
    with pytest.raises(fakebroker.ScenarioFailed) as failed:
        fakebroker.play(story, parameters={"v": "v" * size})
    assert len(str(failed.value)) < 100 * KB


def test_in_a_transcript(tmp_path: Path) -> None:
    """A transcript shows the beginning of a large value."""
    story = tmp_path / "story.yaml"
    text = STORY.replace("PRODUCED", "  - {a: produce t-0, records: ['${v}'], expect: {error: NONE}}")
    story.write_text(text.replace("VALUES", "{value: '${v}'}").replace('v: ""', f'v: "{"v" * (500 * KB)}"'))
    done = CliRunner().invoke(main, ["scenario", "run", "--approve", str(story)])
    assert done.exit_code == 0, done.output[-1000:]
    assert len(story.with_suffix(".transcript").read_text()) < 20 * KB
