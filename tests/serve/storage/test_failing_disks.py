"""A log directory that cannot be written to: its broker stops before it answers, others go on, and it comes back."""

import errno
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker import VirtualBroker
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from fakebroker.serve.storage.disk import Disk
from tests.support.data_directories import SMALL, kept


class FullDisk:
    """Lets every write below a folder fail after its first half, from `fill` to `free`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._is_full = False
        append = Disk.append

        def half(disk: Disk, path: Path, size_bytes: int, data: bytes) -> None:
            if self._is_full and folder in path.parents:
                append(disk, path, size_bytes, data[: len(data) // 2])
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            append(disk, path, size_bytes, data)

        monkeypatch.setattr(Disk, "append", half)

    def fill(self) -> None:
        self._is_full = True

    def free(self) -> None:
        self._is_full = False


def test_the_only_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """It is killed, nothing is acknowledged; after a start it writes what it had in memory."""
    disk = FullDisk(tmp_path, monkeypatch)
    broker = VirtualBroker(data=tmp_path / "data", config=SMALL)
    broker.create_topic("orders").produce("before")
    disk.fill()
    with pytest.raises(FakebrokerError):
        broker.client("client").produce("orders", 0, [b"never acknowledged"])

    assert broker.node(1).state == "killed"
    assert "node 1 stops: its log directory" in caplog.text
    assert "00000000000000000000.log: No space left on device" in caplog.text
    broker.node(1).start()  # and it fails again
    assert broker.node(1).state == "killed"
    disk.free()
    broker.node(1).start()
    broker.client("another").produce("orders", 0, [b"after"])
    expected = kept(broker)
    broker.stop()
    with VirtualBroker(data=tmp_path / "data", config=SMALL) as again:
        assert kept(again)["logs"] == expected["logs"]
        assert again.topic("orders").records()[-1].value == b"after"


def test_a_kill_leaves_a_torn_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The half that the failed write has left is cut off by the next start."""
    disk = FullDisk(tmp_path, monkeypatch)
    broker = VirtualBroker(data=tmp_path / "data", config=SMALL)
    broker.create_topic("orders").produce("before")
    disk.fill()
    with pytest.raises(FakebrokerError):
        broker.client("client").produce("orders", 0, [b"never acknowledged"])
    broker.stop()
    disk.free()

    with VirtualBroker(data=tmp_path / "data", config=SMALL) as again:
        assert [record.value for record in again.topic("orders").records()] == [b"before"]


def test_one_of_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The others lead its partitions when its session is over; when it is back it has everything that they have."""
    caplog.set_level(logging.ERROR)
    disk = FullDisk(tmp_path / "data" / "1", monkeypatch)
    broker = VirtualBroker(data=tmp_path / "data", nodes=3, config=SMALL)
    broker.create_topic("orders", partitions=3, replication_factor=3)
    disk.fill()
    broker.topic("orders").produce("a", partition=0)
    assert [node.state for node in broker.nodes] == ["killed", "running", "running"]
    broker.pass_time(s=60)
    assert 1 not in broker.topic("orders").leaders.values()
    for partition in range(3):
        broker.topic("orders").produce("b", partition=partition)
    broker.create_topic("more", replication_factor=2).produce("c")
    disk.free()
    broker.node(1).start()
    broker.topic("orders").produce("d", partition=0)
    expected = kept(broker)
    broker.stop()

    segments = {path.read_bytes() for path in (tmp_path / "data").glob("*/orders-0/*.log")}
    metadata = {path.read_bytes() for path in (tmp_path / "data").glob("*/__cluster_metadata-0/*.log")}
    assert (len(segments), len(metadata)) == (1, 1)
    with VirtualBroker(data=tmp_path / "data", nodes=3, config=SMALL) as again:
        assert kept(again)["logs"] == expected["logs"]


TWO = {**SMALL, "log.dirs": "/a,/b"}
OFFLINE = ErrorCode.KAFKA_STORAGE_ERROR


def produce(client: ScriptedClient, partition: int, value: bytes) -> int:
    return int(client.produce("orders", partition, [value]).responses[0].partition_responses[0].error_code)


@pytest.mark.rules("LR-4")
def test_one_of_two_log_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker goes on with the other; what was not written is not acknowledged, and is nowhere afterwards."""
    disk = FullDisk(tmp_path / "data" / "orders-1", monkeypatch)
    broker = VirtualBroker(data=tmp_path / "data", config=TWO)
    broker.create_topic("orders", partitions=4)
    client = broker.client("client")
    assert [produce(client, partition, b"before") for partition in range(4)] == [0, 0, 0, 0]
    disk.fill()
    with pytest.raises(FakebrokerError):
        produce(client, 1, b"never acknowledged")

    log_file = tmp_path / "data" / "orders-1" / "00000000000000000000.log"
    assert f"node 1 cannot write to orders-1: {log_file}: No space left on device" in caplog.text
    assert [each.is_online for each in broker.node(1).log_directories] == [True, False]
    client = broker.client("again")
    assert [produce(client, partition, b"after") for partition in range(4)] == [0, OFFLINE, 0, OFFLINE]
    disk.free()
    broker.node(1).restart()
    assert [produce(broker.client("third"), partition, b"last") for partition in range(4)] == [0, 0, 0, 0]
    expected = kept(broker)
    broker.stop()
    with VirtualBroker(data=tmp_path / "data", config=TWO) as again:
        assert kept(again)["logs"] == expected["logs"]
        assert [record.value for record in again.topic("orders").records(partition=1)] == [b"before", b"last"]


@pytest.mark.rules("LR-4")
def test_a_restart_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker with a directory that is offline can be stopped; the next has what was acknowledged."""
    disk = FullDisk(tmp_path / "data" / "orders-1", monkeypatch)
    broker = VirtualBroker(data=tmp_path / "data", config=TWO)
    broker.create_topic("orders", partitions=2)
    assert produce(broker.client("client"), 1, b"before") == 0
    disk.fill()
    with pytest.raises(FakebrokerError):
        produce(broker.client("again"), 1, b"never acknowledged")
    assert produce(broker.client("third"), 0, b"acknowledged") == 0
    broker.stop()
    disk.free()

    with VirtualBroker(data=tmp_path / "data", config=TWO) as again:
        topic = again.topic("orders")
        assert [record.value for record in topic.records(partition=0)] == [b"acknowledged"]
        assert [record.value for record in topic.records(partition=1)] == [b"before"]
        assert produce(again.client("client"), 1, b"more") == 0


@pytest.mark.rules("LR-4")
def test_the_powers_with_a_data_directory(tmp_path: Path) -> None:
    """A disk that a test fills refuses the same; nothing of what was refused is in the files."""
    broker = VirtualBroker(data=tmp_path / "data", config=TWO)
    broker.create_topic("orders", partitions=2)
    client = broker.client("client")
    broker.node(1).fill_disk(after_bytes=200, directory="/b")
    assert [produce(client, 1, value) for value in (b"fits", bytes(200))] == [0, OFFLINE]
    broker.stop()

    with VirtualBroker(data=tmp_path / "data", config=TWO) as again:
        assert [record.value for record in again.topic("orders").records(partition=1)] == [b"fits"]


FILL = """
import resource, sys
from fakebroker import VirtualBroker
from fakebroker.protocol.errors import FakebrokerError

broker = VirtualBroker(data=sys.argv[1])
broker.create_topic("orders")
client = broker.client("client")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
count = 0
try:
    while count < 1000:
        client.produce("orders", 0, [count.to_bytes(1000, "big")])
        count += 1
except FakebrokerError:
    print(count, broker.node(1).state)
"""


def test_a_limit_of_the_system(tmp_path: Path) -> None:
    """A real error of the system, in a process that ends without a stop: exactly what was acknowledged is there."""
    run = subprocess.run(
        [sys.executable, "-c", FILL, str(tmp_path / "data")], capture_output=True, text=True, check=True
    )
    count, state = run.stdout.split()
    assert (state, 50 < int(count) < 100) == ("killed", True)
    assert "00000000000000000000.log: File too large" in run.stderr

    with VirtualBroker(data=tmp_path / "data") as again:
        values = [record.value for record in again.topic("orders").records()]
        assert values == [number.to_bytes(1000, "big") for number in range(int(count))]
