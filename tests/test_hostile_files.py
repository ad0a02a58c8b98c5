"""Commands that read files which somebody made up end with 0, 1 or 2 and a sentence: no traceback, no endless run."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from fakebroker.cli.main import main
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.conformance.recordings import RECORDINGS

DATA = Path(__file__).parent / "data"
SESSION = (DATA / "sessions" / "confluent-kafka.jsonl").read_bytes()
DIALOGUE = (RECORDINGS / "share-groups" / "fetch_and_accept.jsonl").read_bytes()
COMMANDS = {
    "session": [["replay", "FILE"], ["scenario", "from", "FILE", "--out", "OUT"]],
    "journal": [
        ["journal", "show", "FILE"],
        ["journal", "diff", "FILE", "GOOD"],
        ["journal", "diff", "GOOD", "FILE"],
        ["journal", "pcap", "FILE", "--out", "OUT"],
        ["journal", "trace", "FILE", "--out", "OUT"],
    ],
    "dialogue": [["dialogue", "play", "FILE"]],
    "scenario": [["scenario", "check", "FILE"]],
}
ODD: list[Any] = [
    None, True, -1, 0, 2**31, 2**63, 2**64, 1e308, float("nan"), float("inf"), "", "x", "\0", "A" * 10_000, "ff" * 10,
    [], {}, [[[]]], {"a": {}}, ["request"], [None],
]  # fmt: skip
DEEP = b'{"a":' * 20_000
TOO_LONG_S = 60  # a limit for runs without end, not a measure of speed


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    def too_long(*_: object) -> None:
        raise TimeoutError(f"it has not ended after {seconds} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def journal_of(tmp_path: Path) -> bytes:
    broker = VirtualBroker()
    broker.create_topic("orders")
    broker.topic("orders").produce("a", "b")
    client = broker.client()
    client.join("billing")
    broker.pass_time(s=60)
    broker.journal.save(tmp_path / "good.jsonl")
    return (tmp_path / "good.jsonl").read_bytes()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value, from the outermost."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def with_odd_value(line: bytes, random: Random) -> bytes:
    """One value somewhere in a line is another, or gone."""
    value = json.loads(line)
    *outer, last = random.choice(list(places(value)))
    inner = value
    for key in outer:
        inner = inner[key]
    if random.random() < 0.15:
        del inner[last]
    else:
        inner[last] = random.choice(ODD)
    return json.dumps(value).encode()


def mutated(content: bytes, random: Random) -> bytes:
    lines = content.rstrip(b"\n").split(b"\n")
    at = random.randrange(len(lines))
    match random.randrange(10):
        case 0:
            lines[at] = DEEP
        case 1:
            lines[at] = DEEP + b"1" + b"}" * 20_000
        case 2:
            lines = [*lines[:at], *[lines[at]] * 20, *lines[at:]]
        case 3:
            random.shuffle(lines)
        case 4:
            return content[: random.randrange(len(content))]
        case 5:
            cut = bytearray(content)
            for _ in range(random.choice([1, 5, 50])):
                cut[random.randrange(len(cut))] = random.randrange(256)
            return bytes(cut)
        case _:
            lines[at] = with_odd_value(lines[at], random)
    return b"\n".join([*lines, b""])


def content_of(kind: str, tmp_path: Path) -> bytes:
    if kind == "scenario":
        return json.dumps({"scenario": "x", "steps": [{"broker": "pass_time", "s": 1}]}).encode()
    return {"session": lambda: SESSION, "dialogue": lambda: DIALOGUE, "journal": lambda: journal_of(tmp_path)}[kind]()


def check(tmp_path: Path, command: list[str], content: bytes) -> None:
    """The command ends as it should for a file of that content."""
    file = tmp_path / ("bad.yaml" if command[1] == "check" else "bad.jsonl")
    file.write_bytes(content)
    names = {"FILE": file, "GOOD": tmp_path / "good.jsonl", "OUT": tmp_path / "out"}
    with no_longer_than(TOO_LONG_S):
        result = CliRunner().invoke(main, [str(names.get(word, word)) for word in command])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{command}: {result.exception!r:.200}") from result.exception
    assert result.exit_code in (0, 1, 2)
    assert "Traceback" not in result.output
    assert not result.exit_code or result.output.strip()


@pytest.mark.parametrize("kind", COMMANDS)
def test_files_with_odd_values(kind: str, tmp_path: Path) -> None:
    """Types swapped, numbers beyond any bound, depth, lines lost, cut, doubled and shuffled."""
    random = Random(1)
    content = content_of(kind, tmp_path)
    for _ in range(12):
        for command in COMMANDS[kind]:
            check(tmp_path, command, mutated(content, random))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("kind", COMMANDS)
def test_many_files_with_odd_values(kind: str, seed: int, tmp_path: Path) -> None:
    """The same with more of them."""
    random = Random(seed)
    content = content_of(kind, tmp_path)
    for _ in range(30):
        for command in COMMANDS[kind]:
            check(tmp_path, command, mutated(content, random))


@pytest.mark.parametrize("kind", ["session", "journal", "dialogue"])
@pytest.mark.parametrize("line", [DEEP, DEEP + b"1" + b"}" * 20_000, b"[" * 100_000])
def test_deep_json_is_an_error_of_one_line(kind: str, line: bytes, tmp_path: Path) -> None:
    """The error names file and line."""
    content = content_of(kind, tmp_path)
    first, _, rest = content.partition(b"\n")
    for command in COMMANDS[kind]:
        (tmp_path / "bad.jsonl").write_bytes(first + b"\n" + line + b"\n" + rest)
        words = {"FILE": tmp_path / "bad.jsonl", "GOOD": tmp_path / "good.jsonl", "OUT": tmp_path / "out"}
        result = CliRunner().invoke(main, [str(words.get(word, word)) for word in command])
        assert isinstance(result.exception, SystemExit), f"{command}: {result.exception!r:.200}"
        assert result.exit_code in (1, 2)
        assert "bad.jsonl" in result.output
