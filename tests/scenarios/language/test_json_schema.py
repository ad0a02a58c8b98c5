"""The JSON Schema takes what scenarios say, and refuses much of what they cannot."""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from fakebroker.scenarios.language.declaration import WORDS, actor_verbs
from fakebroker.scenarios.language.json_schema import schema
from fakebroker.scenarios.language.kinds import plain
from fakebroker.scenarios.language.starter import starter_text
from fakebroker.scenarios.language.yaml_file import parse_yaml
from tests.scenarios.texts import with_steps

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "scenarios").rglob("*.yaml"))


@cache
def validator() -> Any:
    jsonschema_rs.meta.validate(schema())
    return jsonschema_rs.Draft202012Validator(schema())


def is_valid(text: str) -> bool:
    return bool(validator().is_valid(plain(parse_yaml(text, "f"))))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_our_scenarios_are_valid(path: Path) -> None:
    """Those that are included, too."""
    assert is_valid(path.read_text())


def test_there_are_scenarios() -> None:
    """The test before this one has something to look at; so has a beginner."""
    assert len(FILES) >= 26
    assert is_valid(starter_text())


@pytest.mark.parametrize(
    "line",
    [
        "{a: join billing, topics: [orders], session_timeout: 10s, later: true, note: x}",
        '{a: "join ${group}", topics: "${topics}", session_timeout: "${timeout}"}',
        "{a: commit, offsets: {orders-0: 42, orders-1: $saved}}",
        "{b: answered, within: 10s, expect: {error: NONE, members: {any: true}}}",
        "{a: request OffsetFetch, version: 7, group_id: billing, topics: null}",
        "{clock: advance 3d}",
        "{clock: advance, days: 3}",
        "{fault: {api: OffsetCommit, error: NOT_COORDINATOR, times: 2, delay: 10ms}, as: refused}",
        "{fault: remove refused}",
        "{group: hold_joins billing, until_members: 3, as: hold}",
        "{hold: release hold, order: [b, a]}",
        "{broker: snapshot, as: before}",
        "{expect: {group: billing, state: Stable, members: 2, offsets: {orders-0: 42}}}",
        "{wait: {group: billing, state: Empty}, within: 10s}",
        "{expect: {journal: [{api: JoinGroup}]}}",
        "{expect: {committed: billing, orders-0: 42}}",
        "{pass: 3s..5s}",
        "{any_order: [{a: heartbeat}, {b: heartbeat}]}",
        "{repeat: 3, steps: [{a: heartbeat}]}",
        "{include: common/two-members.yaml, with: {group: billing}}",
    ],
)
def test_steps_are_valid(line: str) -> None:
    """Each form of a step."""
    assert is_valid(with_steps(line))


@pytest.mark.parametrize(
    "line",
    [
        "heartbeat",
        "{}",
        "{note: x}",
        "{topics: [orders]}",
        "{a: jion billing}",
        "{a: join billing, topcs: [orders]}",
        "{a: join billing, topics: orders}",
        "{a: join billing, session_timeout: 10}",
        "{a: join billing, session_timeout: 10x}",
        "{a: join billing, session_timeout_ms: 10s}",
        "{a: commit, offsets: {orders: 42}}",
        "{a: commit, offsets: {orders-0: x}}",
        "{a: join billing, expect: {generaton_id: 1}}",
        "{a: join billing, later: yes}",
        "{a: pause, expect: {}}",
        "{clock: advanced 3d}",
        "{clock: join billing}",
        "{clock: advance, day: 3}",
        "{node: stop}",
        "{coordinator: move billing, to: two}",
        "{fault: {apy: Heartbeat}}",
        "{broker: reset}",
        "{expect: {gruop: billing, state: Stable}}",
        "{expect: {group: billing, stat: Stable}}",
        "{wait: {group: billing, state: Empty}, within: 10}",
        "{pass: 10}",
        "{repeat: 3}",
        "{repeat: 0, steps: []}",
        "{any_order: {a: heartbeat}}",
    ],
)
def test_wrong_steps_are_not(line: str) -> None:
    """What reading refuses without knowing more than the step."""
    assert not is_valid(with_steps(line))


@pytest.mark.parametrize(
    "text",
    [
        "timeline: []",
        "about: x",
        "about: x\ntimelines: []\ntimeline: []",
        "about: x\nrelease: 4.3\ntimeline: []",
        "about: x\nprofile: tests\ntimeline: []",
        "about: x\nactors: {a: {nod: 1}}\ntimeline: []",
        "about: x\nactors: [a, a]\ntimeline: []",
        "about: x\ntopics: {o: {partition: 2}}\ntimeline: []",
        "about: x\njitter: 5\ntimeline: []",
    ],
)
def test_wrong_files_are_not_valid(text: str) -> None:
    """Keys and values at the top of a file."""
    assert not is_valid(text)


def test_editors_can_say_what_everything_is() -> None:
    """Every verb and every key of a file has a description."""
    made = schema()
    texts = str(made["$defs"]["step"])

    assert all("description" in each for each in made["properties"].values())
    assert [verb.name for verb in actor_verbs().values() if repr(verb.about)[1:-1] not in texts] == []
    assert [v.name for word in WORDS.values() for v in word.verbs.values() if repr(v.about)[1:-1] not in texts] == []


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("{a: join billing, topcs: [orders]}", ["topcs"]),
        ("{a: join billing, topics: orders}", ["topics"]),
        ("{a: joyn billing}", ["a"]),
        ("{a: heartbeat, expect: {members: 2}}", ["expect"]),
        ("{a: heartbeat, expects: {error: NONE}}", ["expects"]),
        ("{a: request OffsetFetch, groupid: g}", ["groupid"]),
        ("{nobody: at work}", ["nobody"]),
    ],
)
def test_what_is_wrong_is_said_of_its_key(line: str, at: list[str]) -> None:
    """Not that the step is none of a hundred forms: the verb decides which form it has."""
    errors = list(validator().iter_errors(plain(parse_yaml(with_steps(line), "f"))))

    assert [each.instance_path for each in errors] == [["timeline", 0, *at]]


def test_words_are_keys_of_other_steps_too() -> None:
    """The value tells them apart; texts that begin with a verb may be the values of other keys."""
    assert is_valid(with_steps("{a: fetch orders, partition: 1, offset: 0}", "{topic: produce orders x, partition: 1}"))
    assert is_valid(with_steps("{a: join billing, note: heartbeat is next, protocol_type: sync it}"))
    assert is_valid(with_steps("{a: commit, offsets: {orders-0: 1}, metadata: join me}"))
