"""Lines of requests like one before are the lines that they would have had anyway."""

from pathlib import Path

import pytest

from fakebroker import FakeBroker
from fakebroker.broker.engine.journal import BrokerStarted, Exchange, Peer, Recorded
from fakebroker.protocol.instant import Instant
from fakebroker.testing.exchanges.writing import line_of
from fakebroker.testing.journal import repeated_lines
from fakebroker.testing.journal.files import JournalFile
from fakebroker.testing.journal.repeated_lines import RepeatedLines
from fakebroker.testing.journal.rows import rows_of
from fakebroker.testing.journal.saved import load
from tests.support.frames import request

ANSWER = bytes.fromhex("00000009" + "00" + "00000000" + "0000" + "00")


def heartbeat(seq: int, *, client_id: str = "100 %d é", member_id: str = "m%s", connection: int = 1) -> Exchange:
    """A Heartbeat v4 and its answer, whose numbers all follow from `seq`."""
    frame = request(
        "Heartbeat",
        4,
        seq * 7,
        client_id=client_id,
        group_id="g",
        member_id=member_id,
    )
    answer = frame[8:12] + ANSWER[4:]
    received, answered = Instant(1_000 + seq, 10 + seq), Instant(3_000 + seq, 25 + 2 * seq)
    return Exchange(seq, (Peer(connection, "/127.0.0.1", 2), frame[4:], answer, received, answered))


def encoded(exchange: Exchange) -> bytes:
    return b"".join(map(line_of, rows_of(exchange, "run")))


def test_the_line_is_the_same() -> None:
    """Whatever a client calls itself and whatever the numbers are; a correlation id may be negative."""
    lines = RepeatedLines("run")
    assert lines.line_of(heartbeat(0)) is None
    assert lines.lines_and_learn(heartbeat(0)) == encoded(heartbeat(0))
    for seq in (1, 2, -5, 300_000_000):
        assert lines.line_of(heartbeat(seq)) == encoded(heartbeat(seq)), seq


def test_what_differs_gets_no_line() -> None:
    """Another member, another client, another connection, another answer, none, and the same after another start."""
    lines = RepeatedLines("run")
    first = heartbeat(0)
    lines.lines_and_learn(first)
    others = [heartbeat(1, member_id="n"), heartbeat(1, client_id="d"), heartbeat(1, connection=2)]
    others += [
        Exchange(1, (first.peer, first.request_frame, answer, first.received, first.answered))
        for answer in (None, ANSWER[:-2] + b"\x1b\0")
    ]
    assert [lines.line_of(other) for other in others] == [None] * len(others)
    lines.clear()
    assert lines.line_of(heartbeat(1)) is None


def test_templates_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members that come and go do not fill the memory, nor do long requests."""
    monkeypatch.setattr(repeated_lines, "MAX_TEMPLATES", 5)
    lines = RepeatedLines("run")
    for number in range(23):
        lines.lines_and_learn(heartbeat(0, member_id=str(number)))
        assert len(lines._templates) <= 5
    lines.lines_and_learn(heartbeat(0, member_id="m" * 600))
    assert lines.line_of(heartbeat(1, member_id="m" * 600)) is None


def test_a_file_has_them(tmp_path: Path) -> None:
    """A file with repeated requests reads as the journal in memory; another start forgets what was repeated."""
    with FakeBroker(journal_dir=tmp_path) as broker:
        client = broker.client("svc-1")
        for _ in range(5):
            client.request("Heartbeat", 4, group_id="g", member_id="m")
            client.request("ApiVersions", 3)
        in_memory = broker.journal.rows()
    rows = load(tmp_path).rows
    assert [{**row, "run": "memory"} for row in rows][: len(in_memory)] == in_memory

    file = JournalFile(tmp_path / "other")
    file.tell([heartbeat(0)])
    assert file._repeated.line_of(heartbeat(1)) is not None
    file.tell([Recorded(1, Instant(0, 0), BrokerStarted("4.3", {}))])
    assert file._repeated.line_of(heartbeat(1)) is None
