"""Directories that no broker can start on: what is wrong, where, and that nothing stays locked."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fakebroker import FakeBroker, InvalidArgument, VirtualBroker
from fakebroker.protocol.errors import FakebrokerError, Unavailable
from tests.support.data_directories import SMALL


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory of a broker that was stopped."""
    path = tmp_path / "data"
    with VirtualBroker(data=path, config=SMALL) as broker:
        broker.create_topic("orders")
        broker.topic("orders").produce("x")
    return path


def replace(name: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        content = (path / name).read_bytes()
        assert old in content
        (path / name).write_bytes(content.replace(old, new))

    return change


def remove(name: str) -> Callable[[Path], None]:
    return lambda path: (path / name).unlink()


def write(name: str, content: bytes) -> Callable[[Path], int]:
    return lambda path: (path / name).write_bytes(content)


METADATA = "__cluster_metadata-0/00000000000000000000.log"


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (replace("meta.properties", b"version=1", b"version=2"), r"meta.properties: it has version 2; only version 1"),
        (replace("meta.properties", b"node.id=1", b"node.id=5"), "belongs to node 5, but is used for node 1"),
        (remove("meta.properties"), r"is no data directory: it has files, such as .*, but no meta.properties"),
        (write("meta.properties", b""), "meta.properties: it has no version"),
        (remove(METADATA), "00000000000000000000.log: is missing: the topics of the directory are not known"),
        (lambda path: os.truncate(path / METADATA, 100), "names no broker: 9 bytes at position 91 are too few"),
        (write("recovery-point-offset-checkpoint", b"0\n2\n"), "cut off: it has 0 entries, but names 2"),
        (write("log-start-offset-checkpoint", b"1\n0\n"), "has version '1'; only version 0 is read"),
    ],
)
def test_what_is_wrong(data: Path, change: Callable[[Path], object], wrong: str) -> None:
    """Each is refused with the file's name, and can be used once it is mended."""
    saved = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    change(data)

    with pytest.raises(InvalidArgument, match=wrong):
        VirtualBroker(data=data, config=SMALL)
    for path, content in saved.items():
        path.write_bytes(content)
    VirtualBroker(data=data, config=SMALL).stop()


def test_a_metadata_log_of_several_segments(data: Path) -> None:
    """A Kafka closes one after a week: to read the first one only would lose topics."""
    (data / "__cluster_metadata-0" / "00000000000000000100.log").write_bytes(b"")
    with pytest.raises(InvalidArgument, match=r"has the segment 00000000000000000100.log: .*; use --data-from"):
        VirtualBroker(data=data, config=SMALL)


def test_a_newer_release(data: Path) -> None:
    """A directory of Kafka 4.3 has metadata that 4.0 does not know."""
    with pytest.raises(InvalidArgument, match=r"has metadata.version 30, but Kafka 4.0.* knows levels up to 25"):
        VirtualBroker(data=data, config=SMALL, as_release="4.0")


def test_other_brokers(data: Path, tmp_path: Path) -> None:
    """The number of brokers, and their ids, are those of the directory."""
    with pytest.raises(InvalidArgument, match="is the directory of one broker, not of several"):
        VirtualBroker(data=data, nodes=3)
    VirtualBroker(data=tmp_path / "three", nodes=3).stop()
    with pytest.raises(InvalidArgument, match="has the brokers 1, 2, 3, but is used for 1, 2"):
        VirtualBroker(data=tmp_path / "three", nodes=2)
    with pytest.raises(InvalidArgument, match=r"has the brokers 1, 2, 3, but is used for 1$"):
        VirtualBroker(data=tmp_path / "three")


def test_another_cluster(tmp_path: Path) -> None:
    """The directories of several brokers are of one cluster."""
    for name, seed in (("x", 0), ("y", 1)):
        VirtualBroker(data=tmp_path / name, nodes=2, seed=seed).stop()
    (tmp_path / "x" / "2").rename(tmp_path / "old")
    (tmp_path / "y" / "2").rename(tmp_path / "x" / "2")

    with pytest.raises(InvalidArgument, match="has brokers of several clusters"):
        VirtualBroker(data=tmp_path / "x", nodes=2)


def test_a_file_in_its_place(tmp_path: Path) -> None:
    """The path of a file is no directory."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidArgument, match="is not a directory"):
        VirtualBroker(data=tmp_path / "file")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_no_rights(tmp_path: Path) -> None:
    """A directory that cannot be written to is refused."""
    (tmp_path / "data").mkdir(0o500)
    with pytest.raises(InvalidArgument, match=r"cannot be used: .*Permission denied"):
        VirtualBroker(data=tmp_path / "data")


def test_in_use_by_this_process(data: Path) -> None:
    """One broker at a time; a stopped one lets others use the directory, and does not go on after them."""
    first = FakeBroker(data=data, config=SMALL)
    with pytest.raises(Unavailable, match="is in use by another broker of this process"):
        FakeBroker(data=data, config=SMALL)
    first.stop()
    with FakeBroker(data=data, config=SMALL) as second:
        second.create_topic("more")
    with pytest.raises(InvalidArgument, match="was used by another broker since this one was stopped"):
        first.start()


def test_in_use_by_another_process(data: Path) -> None:
    """The lock is Kafka's own, which another process sees."""
    code = f"from fakebroker import VirtualBroker\nVirtualBroker(data={str(data)!r}, config={SMALL!r})"
    broker = VirtualBroker(data=data, config=SMALL)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    broker.stop()

    assert "is in use by another process; stop that broker, or use another directory" in run.stderr
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_missing_segment_is_an_error_of_its_readers(data: Path) -> None:
    """A file that vanishes while a broker runs is KAFKA_STORAGE_ERROR for those who read it."""
    broker = VirtualBroker(data=data, config=SMALL)
    (data / "orders-0" / "00000000000000000000.log").unlink()

    with pytest.raises(FakebrokerError, match="KAFKA_STORAGE_ERROR"):
        broker.client("client").fetch("orders", 0, 0)
    broker.errors.clear()
    broker.stop()
