"""Journals of any length for measuring: one of 10,000 lines that a broker wrote, as often as is asked for."""

from pathlib import Path

from bench.spark.records import CACHE
from fakebroker import VirtualBroker

LINES_A_JOURNAL = 10_000
_GROUPS, _PARTITIONS, _ROUNDS = 8, 4, 320


def journals_of(lines: int) -> Path:
    """A folder of journals with so many lines in all; made if it is not there yet."""
    folder = CACHE / f"journals-{lines}"
    if not (folder / "_complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        written, run = _journal()
        for number in range(lines // LINES_A_JOURNAL):
            (folder / f"run-{number}.jsonl").write_bytes(written.replace(run, run + b"-%d" % number))
        (folder / "_complete").touch()
    return folder


def _journal() -> tuple[bytes, bytes]:
    """The lines of one journal, and the name of its run: eight groups of a member each, which consume and commit."""
    with VirtualBroker(seed=1) as broker:
        broker.create_topic("orders", partitions=_PARTITIONS)
        members = [broker.client(f"service-{number}") for number in range(_GROUPS)]
        for number, member in enumerate(members):
            member.join(f"group-{number}", ["orders"])
            member.sync({member.member_id: {"orders": list(range(_PARTITIONS))}})
        for number in range(_ROUNDS):
            for member in members:
                member.produce("orders", number % _PARTITIONS, [(b"key", b"value" * 4)])
                member.commit({("orders", number % _PARTITIONS): number})
                member.heartbeat()
            broker.clock.advance(seconds=5)
        path = CACHE / "journal.jsonl"
        broker.journal.save(path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) >= LINES_A_JOURNAL, "the broker wrote fewer lines than are wanted"
    assert any(b'"kind":"offset_committed"' in line for line in lines), "no commit was accepted"
    run = lines[0].split(b'"run":"', 1)[1].split(b'"', 1)[0]
    return b"".join(lines[:LINES_A_JOURNAL]), run
