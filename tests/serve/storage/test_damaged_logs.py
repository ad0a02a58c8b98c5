"""A start on damaged files: Kafka 4.3.1 cut off the same, and every other damage is refused or logged."""

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fakebroker import VirtualBroker
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument
from fakebroker.protocol.records.batch import build_batch, plain_records
from fakebroker.protocol.records.metadata_records import encode_metadata_record
from fakebroker.protocol.records.metadata_records_schema import TopicRecord
from fakebroker.serve.storage.metadata_log import batches_of
from fakebroker.serve.storage.segment_content import read_content
from tests.support.data_directories import SMALL

FIRST, LAST = "00000000000000000000.log", "00000000000000000003.log"
MAX = (1 << 31) - 1
BATCH_BYTES = 300_072  # of a batch with one record of 300,000 bytes


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """Offsets 0 to 2 are in a closed segment, 3 to 5 in the active one; the stop was clean, the recovery point is 6."""
    path = tmp_path / "data"
    with VirtualBroker(data=path, config=SMALL) as broker:
        broker.create_topic("orders", config={"segment.bytes": 1 << 20})
        for _ in range(6):
            broker.client("client").produce("orders", 0, [bytes(300_000)])
    return path


@pytest.fixture
def killed(stopped: Path, tmp_path: Path) -> Path:
    """Offsets 6 and 7 were written after the recovery point, when the broker was killed."""
    broker = VirtualBroker(data=stopped, config=SMALL)
    for _ in range(2):
        broker.client("again").produce("orders", 0, [bytes(1000)])
    path = tmp_path / "killed"
    shutil.copytree(stopped, path)
    broker.stop()
    return path


def damage(name: str, position: int) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with (path / "orders-0" / name).open("r+b") as file:
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 0xFF]))

    return change


def tear(path: Path) -> None:
    """Cut off a part of the last batch."""
    file = path / "orders-0" / LAST
    os.truncate(file, file.stat().st_size - 400)


@pytest.mark.rules("LR-8")
@pytest.mark.parametrize(
    ("change", "end_offset"),
    [
        (damage(FIRST, BATCH_BYTES + 1000), 8),  # before the segment with the recovery point
        (damage(LAST, BATCH_BYTES + 1000), 4),  # in that segment, before the recovery point
        (damage(LAST, 3 * BATCH_BYTES + 500), 6),  # after it
        (tear, 7),
    ],
)
def test_after_a_kill(killed: Path, change: Callable[[Path], None], end_offset: int) -> None:
    """The log ends before the first damaged batch from the segment with the recovery point on, and goes on there."""
    change(killed)

    with VirtualBroker(data=killed, config=SMALL) as broker:
        assert broker.topic("orders").end_offsets == {0: end_offset}
        broker.client("client").produce("orders", 0, [b"goes on"])
    with VirtualBroker(data=killed, config=SMALL) as broker:
        assert broker.topic("orders").end_offsets == {0: end_offset + 1}


@pytest.mark.rules("LR-8")
@pytest.mark.parametrize("name", [FIRST, LAST])
def test_after_a_clean_stop(stopped: Path, name: str) -> None:
    """No batch is looked at: a consumer gets the damaged one."""
    damage(name, BATCH_BYTES + 1000)(stopped)

    with VirtualBroker(data=stopped, config=SMALL) as broker:
        assert broker.topic("orders").end_offsets == {0: 6}
        log = broker._engine.cluster.topics.partition("orders", 0).log  # type: ignore[union-attr]
        assert log.size_bytes == 6 * BATCH_BYTES


def test_a_torn_end_after_a_clean_stop(stopped: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file that was cut, as by a copy that was not finished: the rest of the batch goes, and nothing follows it."""
    tear(stopped)

    with caplog.at_level(logging.WARNING), VirtualBroker(data=stopped, config=SMALL) as broker:
        assert broker.topic("orders").end_offsets == {0: 5}
        broker.client("client").produce("orders", 0, [b"goes on"])
    assert "is cut off after 299672 bytes; the last 299672 bytes are cut off" in caplog.text
    with VirtualBroker(data=stopped, config=SMALL) as broker:
        assert [len(record.value or b"") for record in broker.topic("orders").records()] == [300_000] * 5 + [7]


@pytest.mark.parametrize(("content", "why"), [(b"", "it is empty"), (b"\xff" * 99, "no batch begins at position 0")])
def test_no_metadata(stopped: Path, content: bytes, why: str) -> None:
    """A metadata log without a whole batch is refused, and stays as it is."""
    path = stopped / "__cluster_metadata-0" / FIRST
    path.write_bytes(content)

    with pytest.raises(InvalidArgument, match=f"{FIRST}: has no metadata: {why}"):
        VirtualBroker(data=stopped, config=SMALL)
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["orders-0", "orders-0/" + LAST])
def test_files_that_are_missing_after_a_clean_stop(stopped: Path, caplog: pytest.LogCaptureFixture, name: str) -> None:
    """A warning says how far the log went before."""
    (stopped / name).rename(stopped.parent / "moved")

    with caplog.at_level(logging.WARNING), VirtualBroker(data=stopped, config=SMALL) as broker:
        [end_offset] = broker.topic("orders").end_offsets.values()
    assert f"orders-0 ends at offset {end_offset}, but ended at 6 at the clean stop" in caplog.text


def test_a_topic_id_that_cannot_be_read(stopped: Path) -> None:
    """The start is refused, and the folder keeps its name: its records may be whole."""
    make_directory(stopped / "orders-0" / "partition.metadata")

    with pytest.raises(InvalidArgument, match=r"cannot be read: .*partition\.metadata: Is a directory"):
        VirtualBroker(data=stopped, config=SMALL)
    assert (stopped / "orders-0").is_dir()


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "unreadable": make_directory,  # a directory in its place: the superuser may read every file
    "cut": lambda path: os.truncate(path, max(path.stat().st_size - 7, 0)),
    "empty": lambda path: os.truncate(path, 0),
    "garbage": lambda path: path.write_bytes(b"\xff\xfe\x00garbage" * 9),
}


@pytest.mark.parametrize("after_kill", [False, True])
@pytest.mark.parametrize("how", DAMAGES)
def test_every_file(stopped: Path, tmp_path: Path, how: str, after_kill: bool) -> None:
    """Whatever becomes of a single file: the start says which file it is, or the broker serves what is left."""
    names = [path.relative_to(stopped) for path in sorted(stopped.rglob("*")) if path.is_file()]
    for name in names:
        copied = tmp_path / "copied"
        shutil.copytree(stopped, copied)
        if after_kill:
            (copied / ".kafka_cleanshutdown").unlink()
        if (copied / name).exists():
            DAMAGES[how](copied / name)
        refusal = ""
        try:
            broker = VirtualBroker(data=copied, config=SMALL)
        except FakebrokerError as error:
            refusal = str(error)
        if refusal:
            assert str(copied) in refusal
        else:
            broker.client("client").produce("orders", 0, [b"goes on"])
            assert broker.topic("orders").end_offsets[0] > 0
            broker.errors.clear()
            broker.stop()
        shutil.rmtree(copied)


@pytest.mark.parametrize(("last_offset", "end_offset"), [(3 + MAX, 4 + MAX), (4 + MAX, 8), ((1 << 63) - 1, 8)])
def test_a_batch_is_not_too_far_from_its_segments_first(killed: Path, last_offset: int, end_offset: int) -> None:
    """Offsets in indexes have 32 bits: a batch that no index can name is not read, also if its checksum is right."""
    with (killed / "orders-0" / LAST).open("ab") as file:
        file.write(build_batch(plain_records([(None, b"far")] * 2, 0, last_offset - 1)))

    with VirtualBroker(data=killed, config=SMALL) as broker:
        assert broker.topic("orders").partition(0).high_watermark == end_offset
        broker.topic("orders").produce("x")
    with VirtualBroker(data=killed, config=SMALL) as broker:
        assert broker.topic("orders").partition(0).high_watermark == end_offset + 1


def test_a_topic_whose_creation_was_cut_short_is_left_out(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Records of a large creation are several batches; a kill may come before those of the first partitions."""
    path = killed / "__cluster_metadata-0" / FIRST
    end_offset = read_content(path.read_bytes(), 0, check_crc=True).end_offset
    topic = encode_metadata_record(TopicRecord(name="half", topic_id=bytes(15) + b"\x07"))
    with path.open("ab") as file:
        file.write(batches_of([topic], end_offset, 0))

    with caplog.at_level(logging.WARNING), VirtualBroker(data=killed, config=SMALL) as broker:
        assert "half" not in [topic.name for topic in broker.topics]
        broker.create_topic("half")
    assert "topic 'half' has no partition 0; it is left out" in caplog.text
    with VirtualBroker(data=killed, config=SMALL) as broker:
        assert broker.topic("half").partitions == 1
