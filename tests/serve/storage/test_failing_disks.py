"""A log directory that cannot be written to: its broker stops before it answers, others go on, and it comes back."""

import errno
import logging
from pathlib import Path

import pytest

from fakebroker import VirtualBroker
from fakebroker.protocol.errors import FakebrokerError
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
                raise OSError(errno.ENOSPC, "No space left on device")
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
    assert "has failed: No space left on device" in caplog.text
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
