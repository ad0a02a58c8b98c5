"""What a benchmark compares, each in its own process: fakebroker, librdkafka's mock."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

RDKAFKA_MOCK = """
import confluent_kafka, signal, sys
producer = confluent_kafka.Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1, "log_level": 0})
broker = next(iter(producer.list_topics(timeout=10).brokers.values()))
print(f"listening on {broker.host}:{broker.port}", flush=True)
signal.pause()
"""


class Target:
    """One running broker process.

    A "{port}" in its command becomes a free port; then `accepted_ms` is the time from spawning it to the first
    connection it accepts.
    """

    def __init__(self, name: str, command: list[str], root: Path = ROOT) -> None:
        self.name = name
        port = free_port()
        is_chosen = any("{port}" in word for word in command)
        command = [word.replace("{port}", str(port)) for word in command]
        began = time.perf_counter()
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=root
        )
        self.accepted_ms = first_accept_ms(port, began) if is_chosen else 0.0
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        match = re.search(r"listening on (\S+):(\d+)", line)
        if match is None:
            raise RuntimeError(f"{name} did not start: {line!r}")
        self.address = (match[1], int(match[2]))
        self.pid = self._process.pid

    def cpu_us(self) -> float:
        """CPU time of all its threads so far, in microseconds (Linux; 0 elsewhere)."""
        try:
            tasks = os.listdir(f"/proc/{self.pid}/task")
            return sum(int(Path(f"/proc/{self.pid}/task/{t}/schedstat").read_text().split()[0]) for t in tasks) / 1000
        except OSError:
            return 0.0

    def rss_mb(self) -> float:
        """Resident memory in MB (Linux; 0 elsewhere)."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        except OSError:
            return 0.0

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Elsewhere(Target):
    """A broker that somebody else started and will stop; what it costs is not known."""

    def __init__(self, name: str, bootstrap: str) -> None:
        self.name, self.pid = name, 0
        host, _, port = bootstrap.rpartition(":")
        self.address = (host, int(port))

    def cpu_us(self) -> float:
        return 0.0

    def stop(self) -> None:
        """Leave it alone."""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def first_accept_ms(port: int, began: float) -> float:
    """Milliseconds since `began` when the port first accepts a connection."""
    while time.perf_counter() - began < 30:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.001)
        else:
            return (time.perf_counter() - began) * 1000
    raise TimeoutError(f"nobody listens on port {port} after 30 s")


def fakebroker(*options: str, root: Path | None = None) -> Target:
    """Ours; with `root` the code of another checkout, which Python finds in its current directory."""
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:{port}", *options]
    return Target("fakebroker", command, root or ROOT)


def rdkafka_mock() -> Target:
    return Target("librdkafka mock", [sys.executable, "-c", RDKAFKA_MOCK])
