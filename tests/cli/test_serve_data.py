"""`fakebroker serve --data`: a second start goes on, and what cannot be started or written ends the command."""

import re
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from fakebroker import VirtualBroker
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import FakebrokerError

TIMEOUT_S = 60


class Served:
    """A process of the command; `end` stops it."""

    def __init__(self, *options: str, largest_file_bytes: int | None = None) -> None:
        self._clients: ScriptedClients | None = None

        def limit() -> None:
            if largest_file_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file_bytes, largest_file_bytes))

        command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit
        )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()

    def client(self) -> ScriptedClient:
        host, _, port = self.line.split()[-1].rpartition(":")
        self._clients = ScriptedClients(TcpDriver(host, int(port)))
        return self._clients.client("client")

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit status and its log."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        log = self.process.communicate(timeout=TIMEOUT_S)[1]
        if self._clients is not None:
            self._clients.close()
        return self.process.returncode, log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_second_start_goes_on(tmp_path: Path, number: int) -> None:
    """After SIGTERM and after SIGKILL; --topic makes what is not there yet."""
    options = ("--data", str(tmp_path / "data"), "--topic", "orders:2")
    first = Served(*options)
    first.client().produce("orders", 1, [b"kept"])
    first.end(number)

    second = Served(*options, "--topic", "more")
    client = second.client()
    assert [record.value for record in client.fetch("orders", 1, 0)] == [b"kept"]
    assert {topic.name for topic in client.metadata().topics} == {"orders", "more"}
    assert second.end()[0] == 0


def test_a_directory_in_use(tmp_path: Path) -> None:
    """The second process ends with status 3 and says why; the first goes on."""
    first = Served("--data", str(tmp_path / "data"))
    second = Served("--data", str(tmp_path / "data"))

    status, log = second.wait()
    assert status == 3
    assert log.endswith("data is in use by another process; stop that broker, or use another directory\n")
    assert first.end()[0] == 0


def test_a_full_disk(tmp_path: Path) -> None:
    """The broker ends without an answer, with status 3; what was acknowledged is there at the next start."""
    options = ("--data", str(tmp_path / "data"), "--topic", "orders")
    full = Served(*options, largest_file_bytes=100_000)
    client, acknowledged = full.client(), 0
    with suppress(FakebrokerError):
        while acknowledged < 10:
            client.produce("orders", 0, [b"v" * 30_000])
            acknowledged += 1

    status, log = full.wait()
    assert (status, acknowledged) == (3, 3)
    assert "node 1 stops: its log directory" in log
    assert re.search(r"the broker has ended: its data directory has failed: .*\.log: File too large", log)
    again = Served(*options)
    assert len(again.client().fetch("orders", 0, 0)) == acknowledged
    assert again.end()[0] == 0


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["--scenario", "x.yaml"], "--data and --scenario are mutually exclusive"),
        (["--from", "snapshot"], "--data data has a cluster already"),
        (["--node-id", "5"], "belongs to node 1, but is used for node 5; see --node-id"),
        (["--as", "4.0"], "has metadata.version 30, but Kafka 4.0"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, options: list[str], wrong: str) -> None:
    """Nothing in the directory is overwritten."""
    with VirtualBroker(data=tmp_path / "data") as broker:
        broker.snapshot().save(tmp_path / "snapshot")
    (tmp_path / "x.yaml").write_text("about: Nothing.\nactors: [a]\ntimeline: []\n")
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--data", "data", *options]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=TIMEOUT_S)

    assert run.returncode == 2, run.stderr
    assert wrong in run.stderr
    VirtualBroker(data=tmp_path / "data").stop()


def test_from_a_snapshot(tmp_path: Path) -> None:
    """An empty directory can begin with a saved snapshot."""
    with VirtualBroker() as broker:
        broker.create_topic("orders").produce("first")
        broker.snapshot().save(tmp_path / "snapshot")
    served = Served("--from", str(tmp_path / "snapshot"), "--data", str(tmp_path / "data"))
    served.end(signal.SIGKILL)

    with VirtualBroker(data=tmp_path / "data") as broker:
        assert [record.value for record in broker.topic("orders").records()] == [b"first"]
