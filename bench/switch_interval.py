"""A broker in a thread beside a busy Python thread: what a round trip takes at several switch intervals of Python.

    python -m bench.switch_interval

A thread that is to run waits until the one that holds the interpreter's lock gives it up; a busy one does so when it is
asked to, `sys.getswitchinterval()` (5 ms by default) after somebody began to wait. A round trip needs the lock several
times: in the broker's thread, and in the client's when the answer is there. The client computes a while between its
requests, as a test does; one that only waits is seldom late, because client and broker hand the lock to each other.

The price of a short interval is what busy threads lose when they change places more often: how much two of them
compute in a second of processor time.
"""

import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench import requests as r
from bench.driver import connect, read_frame
from bench.rows import line, section
from fakebroker import FakeBroker
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest

INTERVALS_MS = (5.0, 1.0, 0.2, 0.05)
ROUND_TRIPS = 100
WORK_S = 0.007  # between them
COMPUTE_S = 0.3
ROUNDS = 3
DEFAULT = " (Python's default)"


class Busy:
    """A thread that computes; `rounds` says how far it came."""

    def __init__(self) -> None:
        self.rounds = 0
        self._is_over = False
        self._thread = threading.Thread(target=self._compute)
        self._thread.start()

    def _compute(self) -> None:
        while not self._is_over:
            for _ in range(1_000):
                pass
            self.rounds += 1

    def stop(self) -> None:
        """Let it come to its end."""
        self._is_over = True
        self._thread.join()


@contextmanager
def busy_threads(count: int) -> Iterator[list[Busy]]:
    """So many of them, for as long as the block takes."""
    threads = [Busy() for _ in range(count)]
    try:
        yield threads
    finally:
        for thread in threads:
            thread.stop()


@contextmanager
def switch_interval(ms: float) -> Iterator[None]:
    """Python's switch interval is so long in the block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(ms / 1000)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def round_trip_ms(broker: FakeBroker, round_trips: int = ROUND_TRIPS) -> float:
    """The mean of ApiVersions from a client in this thread."""
    host, port = broker.bootstrap.split(":")
    request = r.frame(ApiVersionsRequest(), 0)
    taken = []
    with connect((host, int(port))) as sock:
        for _ in range(round_trips):
            began = time.perf_counter()
            sock.sendall(request)
            read_frame(sock)
            taken.append((time.perf_counter() - began) * 1000)
            until = time.perf_counter() + WORK_S
            while time.perf_counter() < until:
                pass
    return statistics.fmean(taken)


def computed() -> float:
    """How much two busy threads compute in a second of processor time."""
    with busy_threads(2) as threads:
        began = time.process_time()
        time.sleep(COMPUTE_S)
        return sum(thread.rounds for thread in threads) / (time.process_time() - began)


def rows() -> list[str]:
    """A row for each interval: medians of rounds in which they take turns."""
    alone, beside, work = (dict[float, list[float]]((ms, []) for ms in INTERVALS_MS) for _ in range(3))
    with FakeBroker() as broker:
        for _ in range(ROUNDS):
            for interval_ms in INTERVALS_MS:
                with switch_interval(interval_ms):
                    alone[interval_ms].append(round_trip_ms(broker))
                    with busy_threads(1):
                        beside[interval_ms].append(round_trip_ms(broker))
                    work[interval_ms].append(computed())
    full = statistics.median(work[INTERVALS_MS[0]])
    table = []
    for ms in INTERVALS_MS:
        trips = [f"{statistics.median(values[ms]):.2f} ms" for values in (alone, beside)]
        name = f"{ms:g} ms{DEFAULT if ms == INTERVALS_MS[0] else ''}"
        table.append(line([name, *trips, f"{statistics.median(work[ms]) / full:.0%}"]))
    return table


def report() -> str:
    """The page's section."""
    header = ["switch interval", "round trip alone", "beside a busy thread", "two busy threads compute"]
    return section("A broker in a thread beside a busy one", header, rows())


if __name__ == "__main__":
    print(report())
