"""Snapshots and set-up: what a test pays for them, in this process."""

import statistics
import time
from collections.abc import Callable
from functools import partial

from bench import requests as r
from bench.driver import ask, connect
from fakebroker import FakeBroker

GROUPS, OFFSETS, RECORDS, BATCHES = 1_000, 10, 100_000, 1_000
SIZE = f"{GROUPS:,} groups x {OFFSETS} offsets and {RECORDS:,} records"


def filled_broker() -> FakeBroker:
    """A running broker with 1,000 groups of 10 committed offsets each, and 100,000 records in 1,000 batches."""
    broker = FakeBroker().start()
    broker.create_topic("orders", partitions=OFFSETS)
    values = [b"a record of some length"] * (RECORDS // BATCHES)
    for n in range(BATCHES):
        broker.topic("orders").produce(*values, partition=n % OFFSETS)
    listener = broker.listeners[0]
    with connect((listener.host, listener.port)) as sock:
        for n in range(GROUPS):
            ask(sock, r.commit(f"group-{n}", ["orders"], OFFSETS), r.COMMIT)
    return broker


def ms(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def fixture_ms() -> float:
    """What the fixture `fakebroker` does for one test: a fresh broker is started and stopped."""
    return ms(lambda: FakeBroker().start().stop())


FIXTURE, FIRST, NEXT = "the fixture `fakebroker`: start and stop", f"`snapshot()` of {SIZE}, the first", "the next one"
RESTORE, AGAIN, FORK, FILE = (
    "`restore()` of that",
    "`restore()`, again",
    "`fork()`, without its start",
    "`to_bytes()` of it",
)
GOALS_MS = {FIXTURE: 10, FIRST: 250, NEXT: 10, RESTORE: 250, AGAIN: 50, FORK: 50, FILE: 50}


def measured(rounds: int = 7) -> dict[str, list[float]]:
    """Milliseconds by what was measured."""
    fixture_ms()  # loads what is to be loaded
    found: dict[str, list[float]] = {name: [] for name in GOALS_MS}
    found[FIXTURE] = [fixture_ms() for _ in range(rounds * 5)]
    for _ in range(rounds):
        broker = filled_broker()
        found[FIRST].append(ms(broker.snapshot))
        found[NEXT].append(ms(broker.snapshot))
        snapshot = broker.snapshot()
        for name in (RESTORE, AGAIN):
            found[name].append(ms(partial(broker.restore, snapshot)))
        found[FORK].append(ms(snapshot.fork))
        found[FILE].append(ms(snapshot.to_bytes))
        broker.stop()
    return found


if __name__ == "__main__":
    for name, values in measured(3).items():
        print(f"{name}: {statistics.median(values):.1f} ms ({min(values):.1f} .. {max(values):.1f})")
