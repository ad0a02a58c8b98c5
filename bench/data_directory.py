"""What a data directory costs: requests with `serve --data` beside those without, and the start on 1 GiB of records."""

import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import requests as r
from bench.driver import connect, read_frame
from bench.rows import section
from bench.targets import Target, fakebroker
from fakebroker import VirtualBroker
from fakebroker.protocol.schema import Message

WINDOW = 32
START_BYTES = 1 << 30
ROUNDS = 3

Asked = tuple[str, int, Callable[[int], Message]]
CASES: Sequence[Asked] = (
    (
        "Produce 16 KiB, 16 records",
        r.PRODUCE,
        lambda n: r.produce("orders", r.unlike_batch(16 << 10, 16, n)),
    ),
    ("OffsetCommit of 10 partitions", r.COMMIT, lambda _: r.commit("billing", ["orders"], 10)),
)


def cpu_us(target: Target, case: Asked, count: int) -> float:
    """CPU time of the broker for a request, with WINDOW requests in flight."""
    _, version, make = case
    frames = [r.frame(make(n), version) for n in range(WINDOW)]
    with connect(target.address) as sock:
        sock.sendall(r.frame(r.create({"orders": 10}), r.CREATE_TOPICS))
        read_frame(sock)
        _exchange(sock, frames, 1)  # warm
        before = target.cpu_us()
        _exchange(sock, frames, count // WINDOW)
        return (target.cpu_us() - before) / (count // WINDOW * WINDOW)


def _exchange(sock: socket.socket, frames: Sequence[bytes], rounds: int) -> None:
    joined = b"".join(frames)
    for _ in range(rounds):
        sock.sendall(joined)
        for _ in frames:
            read_frame(sock)


def measured(rounds: int, count: int = 3200) -> list[str]:
    """The rows of the page: CPU per request without and with a directory."""
    rows = []
    for case in CASES:
        found: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(rounds):
            for has_data in found:
                folder = tempfile.mkdtemp(prefix="fakebroker-bench-")
                target = fakebroker(*(["--data", f"{folder}/data"] if has_data else []))
                try:
                    found[has_data].append(cpu_us(target, case, count))
                finally:
                    target.stop()
                    shutil.rmtree(folder)
        without, with_data = (statistics.median(found[each]) for each in (False, True))
        rows.append(f"| {case[0]} | {without:.0f} µs | {with_data:.0f} µs | {with_data / without:.2f} |")
    return rows


def start_ms(folder: Path) -> dict[str, float]:
    """Milliseconds of a start on about 1 GiB: after a clean stop, and after a kill with all of it to be checked."""
    data = folder / "data"
    with VirtualBroker(data=data) as broker:
        broker.create_topic("orders", partitions=4)
        client, value = broker.client("writer"), b"v" * 1000
        for n in range(START_BYTES // (250 * 1000)):
            client.produce("orders", n % 4, [value] * 250)
    found = {}
    began = time.perf_counter()
    VirtualBroker(data=data).stop()
    found["after a clean stop"] = (time.perf_counter() - began) * 1000
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (data / name).unlink()
    began = time.perf_counter()
    VirtualBroker(data=data).stop()
    found["after a kill, all of it is checked"] = (time.perf_counter() - began) * 1000
    return found


def report(rounds: int) -> str:
    """The section of the page."""
    header = ["what", "without `--data`", "with `--data`", "ratio"]
    folder = Path(tempfile.mkdtemp(prefix="fakebroker-bench-"))
    try:
        starts = [f"| start on 1 GiB, {what} | | {ms:.0f} ms | |" for what, ms in start_ms(folder).items()]
    finally:
        shutil.rmtree(folder)
    return section("Data directory: CPU per request, and the start", header, [*measured(rounds), *starts])


if __name__ == "__main__":
    sys.stdout.write(report(ROUNDS))
