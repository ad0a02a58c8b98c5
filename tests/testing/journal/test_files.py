"""Journal files: named when finished, whole but for a last line, and never in the way of the broker."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker import FakeBroker, InvalidArgument
from fakebroker.broker.engine.journal import Exchange, Journal, Peer
from fakebroker.protocol.instant import Instant
from fakebroker.testing.exchanges.reading import UnreadableFile
from fakebroker.testing.journal.files import JournalFile
from fakebroker.testing.journal.saved import load
from tests.support.frames import request

HEARTBEAT = request("Heartbeat", 4, 9, client_id="c", group_id="g", generation_id=1, member_id="m")


def exchanges(count: int) -> list[Exchange]:
    journal = Journal()
    for number in range(count):
        journal.exchange(
            Peer(1, "/127.0.0.1", 1), HEARTBEAT[4:], None, Instant(number, number), Instant(number, number)
        )
    return journal.requests()


def names(directory: Path) -> list[str]:
    return sorted(path.name.partition("-")[2].partition("-")[2] for path in directory.iterdir())


def test_a_broker_writes_what_happens_and_names_the_file_at_its_end(tmp_path: Path) -> None:
    """While it runs the file is open, and holds what has happened; after `stop` it has its name."""
    with FakeBroker(journal_dir=tmp_path / "new" / "dir") as broker:
        broker.client("svc-1").join("billing")
        (path,) = (tmp_path / "new" / "dir").iterdir()
        assert path.name.endswith(".jsonl.open")
        assert "JoinGroup" in path.read_text()
        in_memory = broker.journal.rows()
    saved = load(tmp_path / "new" / "dir")

    assert path.with_suffix("").exists()
    assert [{**row, "run": "memory"} for row in saved.rows][: len(in_memory)] == in_memory
    assert saved.rows[-1]["kind"] == "disconnected"
    assert saved.torn == 0


def test_a_broker_goes_on_in_another_file(tmp_path: Path) -> None:
    """`stop` and `start` of one broker: one run, numbers go on, two files."""
    broker = FakeBroker(journal_dir=tmp_path)
    for _ in range(2):
        with broker:
            broker.client("svc-1").request("Heartbeat", 4, group_id="g", member_id="m")
    rows = load(tmp_path).rows

    assert names(tmp_path) == ["00001.jsonl", "00002.jsonl"]
    assert len({row["run"] for row in rows}) == 1
    numbers = [(row["seq"], row["part"]) for row in rows]
    assert numbers == sorted(set(numbers))


def test_a_broker_that_does_nothing_leaves_no_file(tmp_path: Path) -> None:
    """An empty file says nothing."""
    with FakeBroker(journal_dir=tmp_path):
        pass
    assert names(tmp_path) == []


def test_files_are_renamed_at_a_size(tmp_path: Path) -> None:
    """After the turn in which a file is full the next one begins; no line is in two files."""
    file = JournalFile(tmp_path, max_bytes=1)
    for entry in exchanges(3):
        file.tell([entry])
    assert names(tmp_path) == ["00001.jsonl", "00002.jsonl", "00003.jsonl"]
    assert [row["seq"] for row in load(tmp_path).rows] == [0, 1, 2]


def test_files_are_renamed_at_an_age(tmp_path: Path) -> None:
    """Also by a turn in which nothing happened."""
    file = JournalFile(tmp_path, max_age_s=0)
    file.tell([])
    assert names(tmp_path) == []
    file.tell(exchanges(1))
    assert names(tmp_path) == ["00001.jsonl"]


def test_what_an_earlier_broker_left_stays(tmp_path: Path) -> None:
    """Its open file is kept as it is, and read with the others."""
    left = JournalFile(tmp_path)
    left.tell(exchanges(2))
    JournalFile(tmp_path).tell(exchanges(1))

    assert names(tmp_path) == ["00001.jsonl.open", "00001.jsonl.open"]
    assert len(load(tmp_path).rows) == 3
    left.end()


@pytest.mark.parametrize("keep", [1, 10, -1])
def test_a_torn_last_line_is_left_out(tmp_path: Path, keep: int) -> None:
    """Wherever it was torn, the lines before it are read and it is counted."""
    file = JournalFile(tmp_path)
    file.tell(exchanges(2))
    (path,) = tmp_path.iterdir()
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second.rstrip(b"\n")[:keep])

    saved = load(path)
    assert ([row["seq"] for row in saved.rows], saved.torn) == ([0], 1)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("what?", "not JSON: "),
        ("[1]", "a line is a JSON object, not list"),
        ('{"kind": "request"}', "schema_version is missing"),
    ],
)
def test_a_file_that_is_no_journal_is_an_error(tmp_path: Path, line: str, why: str) -> None:
    """The error names file, line and what is wrong."""
    path = tmp_path / "other.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UnreadableFile, match=r"other\.jsonl:1: ") as raised:
        load(path)
    assert why in str(raised.value)
    with pytest.raises(InvalidArgument, match="no journal found at"):
        load(tmp_path / "nothing")


def test_a_directory_that_cannot_be_written_is_an_error_at_once(tmp_path: Path) -> None:
    """The broker is not made; the error names argument and directory."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match="cannot write a journal to") as raised:
        FakeBroker(journal_dir=tmp_path / "file")
    assert raised.value.field == "journal_dir"


def test_a_full_disk_ends_the_journal_and_not_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged once; clients are served."""

    def full(_fd: int, _data: object) -> int:
        raise OSError(28, "No space left on device")

    with FakeBroker(journal_dir=tmp_path) as broker:
        with monkeypatch.context() as patch:
            patch.setattr("fakebroker.testing.journal.files.os.write", full)
            broker._call(lambda: broker._engine.journal.exchange(*_any_exchange()))
            broker._call(lambda: broker._engine.journal.exchange(*_any_exchange()))
        client = broker.client("svc-1")
        client.join("billing")
        assert broker.group("billing").members
    assert [r.message for r in caplog.records if "No space left" in r.message] == [
        f"the journal ends here: {tmp_path / next(tmp_path.iterdir())} cannot be written: No space left on device"
    ]


def test_a_stopped_broker_leaves_no_file_open(tmp_path: Path) -> None:
    """What a test does to it after the stop is in a file that has its name as well."""
    with FakeBroker(journal_dir=tmp_path) as broker:
        broker.client("svc-1").join("billing")
    broker.clock.advance(days=1)
    assert names(tmp_path) == ["00001.jsonl", "00002.jsonl"]
    assert [row["kind"] for row in load(tmp_path / sorted(os.listdir(tmp_path))[1]).rows][:1] == ["clock_moved"]


def test_an_error_in_writing_the_journal_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a bug of ours: the file gets its name with what was written before, and the broker goes on."""
    with FakeBroker(journal_dir=tmp_path) as broker:
        broker.client("svc-1").join("billing")
        with monkeypatch.context() as patch:
            patch.setattr("fakebroker.testing.journal.files.rows_of", lambda *_: 1 // 0)
            broker.clock.advance(days=1)
        assert names(tmp_path) == ["00001.jsonl"]
        assert broker.client("svc-2").request("Heartbeat", 4, group_id="g", member_id="m").error_code
    assert [row["client"] for row in load(tmp_path).of_kind("request")][:1] == ["svc-1"]


def test_a_file_that_cannot_be_closed_is_closed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that was closed may be another file's: it is not closed a second time."""
    file = JournalFile(tmp_path)
    file.tell(exchanges(1))
    closed: list[int] = []

    def full(fd: int) -> None:
        closed.append(fd)
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("fakebroker.testing.journal.files.os.close", full)
        file.end()
    assert len(closed) == 1
    os.close(closed[0])


def _any_exchange() -> tuple[Peer, bytes, None, Instant, Instant]:
    return Peer(1, "/127.0.0.1", 1), HEARTBEAT[4:], None, Instant(0, 0), Instant(0, 0)


def test_a_forked_child_does_not_write_into_its_parents_file(tmp_path: Path) -> None:
    """The child has copies of broker and file; only the parent's lines are there."""
    with FakeBroker(journal_dir=tmp_path) as broker:
        broker.client("parent").request("Heartbeat", 4, group_id="g", member_id="m")
        pid = os.fork()
        if not pid:
            broker._engine.journal.exchange(*_any_exchange())
            broker._engine.journal.tell()
            os._exit(0)
        os.waitpid(pid, 0)
        broker.client("parent").request("Heartbeat", 4, group_id="g", member_id="m")
    clients = {row["client"] for row in load(tmp_path).rows if row["kind"] == "request"}
    assert clients == {"parent"}


def test_a_killed_broker_has_written_what_it_answered(tmp_path: Path) -> None:
    """kill -9 after an answer was read: everything up to the turn before is in the file, readable."""
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--journal", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline().rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), 30) as client:
            for _ in range(20):
                client.sendall(HEARTBEAT)
                assert client.recv(10_000)
        process.send_signal(signal.SIGKILL)
    saved = load(tmp_path)

    assert names(tmp_path) == ["00001.jsonl.open"]
    assert len(saved.of_kind("request")) in (19, 20)
    assert saved.torn <= 1


def test_lines_are_ascii_safe(tmp_path: Path) -> None:
    """Names that are no UTF-8, line breaks and other odd characters stay within their line."""
    journal = Journal()
    frame = request("Heartbeat", 4, 9, client_id="a\n\u2028\x00\x7f é", group_id="g", generation_id=1, member_id="m")
    journal.exchange(Peer(1, "/127.0.0.1", 1), frame[4:], None, Instant(0, 0), Instant(0, 0))
    file = JournalFile(tmp_path)
    file.tell(journal.requests())
    (path,) = tmp_path.iterdir()

    assert path.read_bytes().count(b"\n") == 1
    assert json.loads(path.read_bytes())["client"] == "a\n\u2028\x00\x7f é"
    file.end()
