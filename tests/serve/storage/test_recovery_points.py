"""What a start after a kill need not check: segments that the disk has stored before the recovery point."""

import errno
from pathlib import Path

import pytest

from fakebroker import VirtualBroker
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.checkpoints import decode_offsets
from fakebroker.serve.storage.disk import Disk
from fakebroker.serve.storage.stored_segment import StoredSegment
from tests.support.data_directories import Life, kept

MINUTE_S = 60


def fill(life: Life, records: int) -> None:
    """Two records take a segment."""
    for _ in range(records):
        life.client.produce("orders", 0, [(b"k", b"v" * 400_000)])


def wait_for_disk(life: Life) -> None:
    storage = life.broker._storage
    assert storage is not None
    assert storage._store is not None
    storage._store._flusher.end()


def recovery_point(folder: Path) -> int:
    return decode_offsets((folder / names.RECOVERY_POINTS).read_bytes(), "points").get(("orders", 0), 0)  # type: ignore[call-overload,no-any-return]


def damage(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)


def log_of(broker: VirtualBroker) -> PartitionLog:
    return broker._engine.cluster.topics.partition("orders", 0).log  # type: ignore[union-attr]


def test_closed_segments_are_stored_and_not_checked(life: Life) -> None:
    """A minute after segments were closed the recovery point is behind them: damage before it is not looked for."""
    fill(life, 5)
    wait_for_disk(life)
    assert not (life.path / names.RECOVERY_POINTS).exists()
    life.broker.pass_time(s=MINUTE_S)
    assert recovery_point(life.path) == 4

    copied = life.copy()
    damage(copied / "orders-0" / "00000000000000000002.log", -1)
    with VirtualBroker(data=copied, **life.options) as broker:
        assert broker.topic("orders").end_offsets == {0: 5}
    damage(copied / "orders-0" / "00000000000000000004.log", -1)
    (copied / names.CLEAN_SHUTDOWN).unlink()
    (copied / names.RECOVERY_POINTS).write_bytes(b"0\n1\norders 0 4\n")
    with VirtualBroker(data=copied, **life.options) as broker:
        assert broker.topic("orders").end_offsets == {0: 4}


def test_the_point_waits_for_the_disk(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the disk has not stored a segment the recovery point is before it, and a later checkpoint has it."""
    waiting: list[Path] = []
    monkeypatch.setattr(Disk, "flush_closed", waiting.append)
    storage = life.broker._storage
    assert storage is not None
    assert storage._store is not None
    taken = storage._store._flusher.take_done
    monkeypatch.setattr(storage._store._flusher, "take_done", lambda: iter(()))
    fill(life, 3)
    wait_for_disk(life)
    life.broker.pass_time(s=MINUTE_S)
    assert recovery_point(life.path) == 0
    assert [path.name for path in waiting] == [
        f"00000000000000000000{suffix}" for suffix in (".log", ".index", ".timeindex", ".txnindex")
    ]

    monkeypatch.setattr(storage._store._flusher, "take_done", taken)
    life.broker.pass_time(s=MINUTE_S)
    assert recovery_point(life.path) == 2


def test_a_check_keeps_nothing_in_memory(life: Life) -> None:
    """A start after a kill reads every batch, and its log has none of them before something asks for records."""
    fill(life, 5)
    expected = kept(life.broker)
    with VirtualBroker(data=life.copy(), **life.options) as broker:
        segments = list(log_of(broker).segments.values())
        assert [each.is_loaded for each in segments if isinstance(each, StoredSegment)] == [False] * 3
        largest = [each.largest_timestamp_ms for each in log_of(life.broker).segments.values()]
        assert [each.largest_timestamp_ms for each in segments] == largest
        broker.stop()
        assert [each.is_loaded for each in segments if isinstance(each, StoredSegment)] == [False] * 3
        broker.start()
        assert kept(broker)["logs"] == expected["logs"]


def test_a_log_that_ends_at_its_recovery_point_is_not_checked(life: Life, caplog: pytest.LogCaptureFixture) -> None:
    """After a clean stop and a kill nothing has to be read again; one byte more, and it is checked and cut off."""
    fill(life, 3)
    life.broker.stop()
    (life.path / names.CLEAN_SHUTDOWN).unlink()
    copied = life.copy()
    index = copied / "orders-0" / "00000000000000000002.index"
    index.write_bytes(b"")
    with VirtualBroker(data=copied, **life.options) as broker:
        assert broker.topic("orders").end_offsets == {0: 3}
        assert index.read_bytes() == b""
    copied = life.copy()
    with (copied / "orders-0" / "00000000000000000002.log").open("ab") as file:
        file.write(b"torn")
    with VirtualBroker(data=copied, **life.options) as broker:
        assert broker.topic("orders").end_offsets == {0: 3}
    assert "the last 4 bytes are cut off" in caplog.text


def test_a_truncated_log(life: Life) -> None:
    """The recovery point is not behind the end of the log."""
    fill(life, 5)
    wait_for_disk(life)
    life.broker.pass_time(s=MINUTE_S)
    life.broker.topic("orders").truncate(1)
    fill(life, 2)
    wait_for_disk(life)
    life.broker.pass_time(s=MINUTE_S)
    assert recovery_point(life.path) == 2
    with VirtualBroker(data=life.copy(), **life.options) as broker:
        assert kept(broker)["logs"] == kept(life.broker)["logs"]


def test_a_disk_that_fails_to_store(
    life: Life, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its broker stops, as at any other error of the disk."""

    def fail(_path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Disk, "flush_closed", fail)
    fill(life, 3)
    wait_for_disk(life)
    life.broker.pass_time(s=1)
    assert life.broker.node(1).state == "killed"
    assert "has failed: Input/output error" in caplog.text
    assert not (life.path / names.RECOVERY_POINTS).exists()
    monkeypatch.undo()
    life.broker.node(1).start()
