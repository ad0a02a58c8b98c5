"""What a Python without its lock (3.13t) does for brokers in threads, next to one with it.

    python -m bench.free_threading PYTHON...     interpreters that have fakebroker's dependencies

Each broker has a thread and an engine of its own, without sockets, as in bench/scale.py. With several threads each
does the same work. `make bench` does not run this, since it needs such interpreters: `FOUND` is what it gave last, for
the page.
"""

import json
import subprocess
import sys
import threading
import time
from itertools import islice
from typing import Any

from bench import requests as r
from bench.counted_cases import TOPIC, Requests, heartbeats
from bench.offsets_memory import resident_mb
from bench.scale import FRAMES_OF_TURN, World

THREADS = (1, 2, 4)
ROUNDS = 3
REQUESTS = {"Heartbeat, pipelined": 20_000, "Produce 1 KiB, pipelined": 5_000}

FOUND = """## Free-threaded Python

Measured on 2026-11-28 by `python -m bench.free_threading PYTHON...` on a machine full of other work, so only processor
time counts: microseconds per request, the best of six rounds, each broker in a thread, without sockets. Neither
interpreter is optimized by profiles. Whether four threads take less time on the clock was not to be seen there.

| case | threads | 3.13.0, with the lock | 3.13.5t, without it |
|---|---|---|---|
| Heartbeat, pipelined | 1 | 2.9 | 4.9 |
| Heartbeat, pipelined | 2 | 2.5 | 6.3 |
| Heartbeat, pipelined | 4 | 2.5 | 6.0 |
| Produce 1 KiB, pipelined | 1 | 15.5 | 23.4 |
| Produce 1 KiB, pipelined | 2 | 16.1 | 27.5 |
| Produce 1 KiB, pipelined | 4 | 15.4 | 29.8 |
| resident memory at rest | | 35 MB | 41 MB |

A broker works there, and takes 1.5 to 2.5 times the processor time: 3.13t does not specialize its bytecode. Two
brokers on two cores can gain little by that. It takes `PYTHON_GIL=0`, since google-crc32c turns the lock on again. An
object that another thread has made is dear to let go of: heartbeats whose bytes come from another thread took 37 us.
There are no wheels for 3.13t of cramjam, cryptography, confluent-kafka, aiokafka, uvloop, zstandard and python-snappy,
and PyO3, with which cramjam is built, wants 3.14t: so nothing is compressed, and there is no TLS. 3.14t was not tried;
no source of it could be had here.
"""


def produces(world: World) -> Requests:
    """Of a record of 1 KiB each, to one partition."""
    world.broker.create_topic(TOPIC, config={"retention.bytes": 5_000_000})
    data = r.batch(1024, 1, r.FIRST_MS)
    while True:
        yield r.produce(TOPIC, data), r.PRODUCE


class Broker(threading.Thread):
    """A broker that serves what it reads; `cpu_s` is the processor time that it took.

    The thread makes the frames itself, as one that reads from sockets does: without the lock, an object that another
    thread has made costs many times as much to let go of.
    """

    def __init__(self, name: str, start_line: threading.Barrier) -> None:
        super().__init__()
        self.cpu_s = 0.0
        self._case, self._start_line = name, start_line
        self._world = World()

    def run(self) -> None:
        """Make the frames, wait for the other brokers, serve."""
        prepare = heartbeats if self._case.startswith("Heartbeat") else produces
        frames = [r.frame(*each, n) for n, each in enumerate(islice(prepare(self._world), REQUESTS[self._case]), 1)]
        reads = [b"".join(frames[at : at + FRAMES_OF_TURN]) for at in range(0, len(frames), FRAMES_OF_TURN)]
        self._start_line.wait()
        began = time.thread_time()
        for data in reads:
            self._serve(data)
        self.cpu_s = time.thread_time() - began

    def _serve(self, data: bytes) -> None:
        world, connection = self._world, self._world.connection
        connection.receive(data, world.now)
        while connection.wants_turn:
            connection.resume(world.now)
        connection.data_to_send()
        world.engine.flush()


def taken(name: str, count: int) -> tuple[float, float]:
    """Microseconds per request of so many brokers in threads: on the clock, and of processor time."""
    start_line = threading.Barrier(count + 1)
    brokers = [Broker(name, start_line) for _ in range(count)]
    for broker in brokers:
        broker.start()
    start_line.wait()
    began = time.perf_counter()
    for broker in brokers:
        broker.join()
    requests = count * REQUESTS[name]
    return (time.perf_counter() - began) / requests * 1e6, sum(broker.cpu_s for broker in brokers) / requests * 1e6


def measured() -> dict[str, Any]:
    """The best of several rounds for each case and number of threads, of this interpreter."""
    is_gil_enabled = getattr(sys, "_is_gil_enabled", lambda: True)
    rest_mb = World() and resident_mb()
    best = {
        f"{name}, {n} threads": [min(values) for values in zip(*(taken(name, n) for _ in range(ROUNDS)), strict=True)]
        for name in REQUESTS
        for n in THREADS
    }
    return {"python": sys.version.split(" (")[0], "gil": is_gil_enabled(), "rest_mb": rest_mb, "us": best}


def main() -> None:
    if sys.argv[1:] == ["--this"]:
        print(json.dumps(measured()))
        return
    for python in sys.argv[1:]:
        found = json.loads(subprocess.check_output([python, "-m", "bench.free_threading", "--this"]))
        lock = "with the lock" if found["gil"] else "without the lock"
        print(f"{found['python']}, {lock}, {found['rest_mb']:.0f} MB at rest")
        for name, (us, cpu_us) in found["us"].items():
            print(f"| {name} | {us:.1f} | {cpu_us:.1f} |")


if __name__ == "__main__":
    main()
