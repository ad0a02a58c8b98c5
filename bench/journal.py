"""What the journal costs: heartbeats on the engine with no journal, with the ring, with the file.

    python -m bench.journal

In one process and without sockets, so that the journal's share is as large as it can be: on sockets it is less.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from fakebroker.broker.engine.journal import Journal
from fakebroker.cli.main import tune_garbage_collector
from fakebroker.testing.journal.make import make_journal
from tests.support.engine import SimEngine
from tests.support.frames import request

REQUESTS = 20_000
PIPELINED = 50
ROUNDS = 15


class NoJournal(Journal):
    """Keeps nothing."""

    def _use_fresh(self) -> None:
        self.append: Any = len  # the cheapest there is

    def exchange(self, *_: Any) -> None:
        """Nothing."""

    def event(self, *_: Any) -> None:
        """Nothing."""


def us_per_heartbeat(journal: Journal) -> float:
    """CPU time of one heartbeat of a member, in microseconds."""
    lab = SimEngine()
    client = lab.client()
    joined = client.join("g")
    client.ask("SyncGroup", 3, group_id="g", generation_id=1, member_id=joined.member_id, assignments=[])
    beat = request("Heartbeat", 3, 9, group_id="g", generation_id=1, member_id=joined.member_id) * PIPELINED
    lab.engine.journal = journal
    client.socket.send(beat)
    began = time.process_time()
    for _ in range(REQUESTS // PIPELINED):
        client.socket.send(beat)
        journal.tell()
        client.socket.take()
    return (time.process_time() - began) / REQUESTS * 1e6


def rows() -> Iterator[str]:
    """A table's rows: the best of rounds that take turns."""
    with tempfile.TemporaryDirectory() as directory:
        kinds: dict[str, Callable[[], Journal]] = {
            "none": NoJournal,
            "ring in memory (always there)": Journal,
            "ring and file (`--journal`)": lambda: make_journal(directory, verbose=False),
        }
        measured: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(ROUNDS):
            for name, make in kinds.items():
                measured[name].append(us_per_heartbeat(make()))
    base = min(measured["none"])
    for name, values in measured.items():
        yield f"| {name} | {min(values):.2f} | {min(values) - base:.2f} | {(min(values) / base - 1) * 100:.0f} % |"


def report() -> str:
    """The part of docs/reference/benchmarks.md about the journal."""
    lines = [
        "## The journal",
        "",
        "CPU of a Heartbeat on the engine alone, in one process and without sockets, the best of several rounds. Over",
        "sockets the microseconds are the same, and their share is less. These heartbeats are alike; one whose bytes",
        "the file has not seen before takes about six times as long, since a line has the decoded request and answer.",
        "Requests that name topics are always encoded: an OffsetCommit of a partition is two lines of 1,166 bytes.",
        "Of that time a sixth is JSON's text, a quarter the messages as data, a twelfth their decoding, the rest the",
        "columns. So 5 us need a line with places for offsets, too; a file of frames would have another format.",
        "",
        "| journal | us per Heartbeat | more than without it | |",
        "|---|---|---|---|",
        *rows(),
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    tune_garbage_collector()  # as `serve` does
    print(report())
