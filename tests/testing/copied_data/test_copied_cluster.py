"""Data directories that a broker here has written, read as those of a Kafka; and directories that cannot be used."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker, InvalidArgument, Snapshot
from fakebroker.protocol.errors import Unavailable
from fakebroker.protocol.records.batch import build_batch, parse_header, plain_records, split_batches
from fakebroker.protocol.records.message_set import build_message_set
from fakebroker.protocol.records.metadata_records import encode_metadata_record
from fakebroker.protocol.records.metadata_records_schema import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    TopicRecord,
)
from fakebroker.protocol.records.quorum_records import (
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    encode_quorum_record,
)
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema import Message
from fakebroker.testing.copied_data.copied_cluster import CopiedCluster
from tests.support.alike_clusters import answers, fill
from tests.testing.clone.test_cloning import FEW_PARTITIONS

METADATA = "__cluster_metadata-0"
FIRST = "00000000000000000000.log"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A data directory with some of everything, and what its broker answered."""
    folder = tmp_path_factory.mktemp("written") / "data"
    with FakeBroker(data=folder, profile="kafka", config=FEW_PARTITIONS) as broker:
        fill(broker.bootstrap)
        before = answers(broker.bootstrap)
    return folder, before


@pytest.fixture
def copy(written: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    shutil.copytree(written[0], tmp_path / "data")
    return tmp_path / "data"


def test_it_answers_as_the_broker_did(written: tuple[Path, dict[str, Any]]) -> None:
    """Groups, offsets, topics and records are the same, and no file is changed."""
    folder, before = written
    files = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with Snapshot.from_data(folder).fork() as broker:
        assert answers(broker.bootstrap) == before
        assert broker.snapshot().state.cluster.group_configs == {"sharing": {"share.auto.offset.reset": "earliest"}}
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == files


def test_the_time_goes_on(written: tuple[Path, dict[str, Any]]) -> None:
    """The broker begins at the time of the newest metadata, so that nothing expires by the age of a copy."""
    broker = Snapshot.from_data(written[0]).fork()

    assert broker.group("simple-0").offsets
    broker.clock.advance(days=8)
    assert broker.group("simple-0").offsets == {}


def test_the_directories_of_several_brokers(tmp_path: Path) -> None:
    """They are merged, from the folder that holds them or one by one; partitions without files are empty."""
    with FakeBroker(data=tmp_path / "data", nodes=2) as broker:
        broker.create_topic("orders", partitions=2, replication_factor=1)
        for index in range(2):
            broker.topic("orders").produce(f"to {index}", partition=index)
        before = [each.value for each in broker.topic("orders").records()]
    whole = Snapshot.from_data(tmp_path / "data")
    problems: list[str] = []
    half = Snapshot.from_data(tmp_path / "data" / "1", on_problem=problems.append)

    assert [each.value for each in whole.fork().topic("orders").records()] == before
    assert whole == Snapshot.from_data(tmp_path / "data" / "1", tmp_path / "data" / "2")
    assert len(half.fork().topic("orders").records()) == 1
    assert any("no files in these directories: the partition is empty" in each for each in problems)


@pytest.mark.parametrize(("isr", "elr"), [([1], []), ([], [1])])
def test_a_clean_stop_leaves_no_leader(copy: Path, isr: list[int], elr: list[int]) -> None:
    """The partitions of an only broker have no leader then, and perhaps no replica in sync: both come back."""
    state = Snapshot.from_data(copy).state.cluster
    topic = next(each for each in state.topics if each.name == "orders")
    stopped = PartitionChangeRecord(topic_id=topic.id, partition_id=0, leader=-1, isr=isr, eligible_leader_replicas=elr)
    _append_metadata(copy, stopped)
    partition = next(each for each in Snapshot.from_data(copy).state.cluster.topics if each.id == topic.id).partitions[
        0
    ]

    assert (partition.leader, partition.isr, partition.elr) == (1, (1,), ())
    assert partition.leader_epoch == topic.partitions[0].leader_epoch + 2


# -- damaged directories -----------------------------------------------------------------------------------------------


def refused(folder: Path) -> str:
    with pytest.raises((InvalidArgument, Unavailable)) as error:
        Snapshot.from_data(folder)
    return str(error.value)


def _metadata(*messages: Message, offset: int = 0) -> bytes:
    pairs = [(None, encode_metadata_record(each)) for each in messages]
    return build_batch(plain_records(pairs, 1_000, offset))


def _append_metadata(folder: Path, *messages: Message) -> None:
    path = folder / METADATA / FIRST
    end = parse_header(list(split_batches(path.read_bytes()))[-1]).last_offset + 1
    path.write_bytes(path.read_bytes() + _metadata(*messages, offset=end))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no meta.properties": (
        lambda folder: (folder / "meta.properties").unlink(),
        "has no meta.properties: it is no log directory of Kafka",
    ),
    "a newer meta.properties": (
        lambda folder: (folder / "meta.properties").write_text("version=2\ncluster.id=x\nnode.id=1\n"),
        "meta.properties cannot be used: it has version 2; only version 1",
    ),
    "one of ZooKeeper": (
        lambda folder: (folder / "meta.properties").write_text("version=0\ncluster.id=x\nbroker.id=1\n"),
        "it has version 0; only version 1 (KRaft) is read",
    ),
    "no metadata": (
        lambda folder: shutil.rmtree(folder / METADATA),
        "has no __cluster_metadata-0: give the directory of a controller, too",
    ),
    "an empty metadata log": (
        lambda folder: (folder / METADATA / FIRST).unlink(),
        "has no log and no snapshot",
    ),
    "metadata of a newer release": (
        lambda folder: _append_metadata(folder, FeatureLevelRecord(name="metadata.version", feature_level=99)),
        "has metadata.version 99; the newest that is read is 30, of Kafka 4.3.1",
    ),
    "a file that is a folder": (
        lambda folder: ((folder / "orders-0" / FIRST).unlink(), (folder / "orders-0" / FIRST).mkdir()),
        "cannot be read: Is a directory",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_directories_that_cannot_be_used(name: str, copy: Path) -> None:
    """The error says which file is wrong and what would be right."""
    damage, said = DAMAGE[name]
    damage(copy)

    assert said in refused(copy)


def test_a_missing_directory_and_a_file(tmp_path: Path) -> None:
    """The error says which of the two is wrong."""
    (tmp_path / "file").write_text("x")

    assert refused(tmp_path / "missing").endswith("missing does not exist")
    assert "has no meta.properties" in refused(tmp_path / "file")
    assert "has no meta.properties" in refused(tmp_path)


def test_a_state_that_is_not_in_its_place(tmp_path: Path) -> None:
    """A broker was killed in the middle of a restore: neither what is there nor the rest of it is read."""
    (tmp_path / ".replacement.moving").mkdir()
    assert "has a state that is not moved into place" in refused(tmp_path)


def test_a_directory_in_use(tmp_path: Path) -> None:
    """A broker that runs on it is noticed, and goes on to hold its lock."""
    with FakeBroker(data=tmp_path / "data") as broker:
        assert "is in use by a running broker; stop it, or use a copy" in refused(tmp_path / "data")
        with pytest.raises(Unavailable):
            FakeBroker(data=tmp_path / "data").start()
        assert broker.is_running


def test_directories_of_two_clusters(tmp_path: Path) -> None:
    """They are not merged."""
    for name in ("a", "b"):
        with FakeBroker(data=tmp_path / name, seed=len(name) + (name == "b")):
            pass
    with pytest.raises(InvalidArgument, match=r"is of cluster .*, but .* of "):
        Snapshot.from_data(tmp_path / "a", tmp_path / "b")


def test_a_log_that_is_cut_off(copy: Path, written: tuple[Path, dict[str, Any]]) -> None:
    """It ends before the batch that is cut, or damaged; each is a problem that names file and position."""
    path = copy / "orders-0" / FIRST
    batches = list(split_batches(path.read_bytes()))
    path.write_bytes(b"".join(batches)[:-7])
    other = copy / "orders-2" / FIRST
    damaged = list(split_batches(other.read_bytes()))
    damaged[1] = damaged[1][:-1] + bytes([damaged[1][-1] ^ 1])
    other.write_bytes(b"".join(damaged))
    problems: list[str] = []
    with Snapshot.from_data(copy, on_problem=problems.append).fork() as broker:
        ranges = answers(broker.bootstrap)["ranges"]

    assert ranges["orders", 0] == (0, parse_header(batches[-1]).base_offset)
    assert ranges["orders", 2] == (0, parse_header(damaged[1]).base_offset)
    assert f"{path} is read up to byte {sum(map(len, batches[:-1]))} only: the batch there is cut off" in problems
    assert any(f"{other} is read up to byte {len(damaged[0])} only: the batch's checksum" in each for each in problems)


def test_folders_that_are_not_used(copy: Path) -> None:
    """Folders of no topic, of a deleted one, and damaged files beside logs are named."""
    shutil.copytree(copy / "orders-0", copy / "gone-0")
    (copy / "orders-1" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    (copy / "log-start-offset-checkpoint").write_text("nonsense")
    problems: list[str] = []
    Snapshot.from_data(copy, on_problem=problems.append)

    assert f"{copy / 'gone-0'} is not used: it is of no topic" in problems
    assert f"{copy / 'orders-1'} is not used: it is of a topic that was deleted" in problems
    assert (
        f"{copy / 'log-start-offset-checkpoint'} has version 'nonsense'; only version 0 is read; it is not used"
        in problems
    )


def test_a_folder_without_segments(copy: Path) -> None:
    """The partition is empty, and a problem names the folder."""
    (copy / "orders-0" / FIRST).unlink()
    problems: list[str] = []
    broker = Snapshot.from_data(copy, on_problem=problems.append).fork()

    assert broker.topic("orders").end_offsets[0] == 0
    assert f"{copy / 'orders-0'} has no .log file: the partition is empty" in problems


def test_a_partition_without_a_folder(copy: Path) -> None:
    """A problem names it, or says how many there are."""
    shutil.rmtree(copy / "orders-0")
    problems: list[str] = []
    Snapshot.from_data(copy, on_problem=problems.append)

    assert any("orders-0" in each and "no files in these directories" in each for each in problems)


def test_old_message_formats(copy: Path) -> None:
    """Messages of format 1, as an upgraded Kafka still has them, are read."""
    records = [Record(n, 1_000 + n, b"k", b"old %d" % n) for n in range(3)]
    for path in (copy / "events-0").glob("*.snapshot"):
        path.unlink()
    (copy / "events-0" / FIRST).write_bytes(build_message_set(records, 1, codec=2))
    found = Snapshot.from_data(copy).fork().topic("events").records()

    assert [(each.offset, each.timestamp_ms, each.value) for each in found] == [
        (n, 1_000 + n, b"old %d" % n) for n in range(3)
    ]


# -- the metadata log --------------------------------------------------------------------------------------------------


def test_metadata_transactions(copy: Path) -> None:
    """Records of a transaction count when it has ended; those of an aborted or an open one never do."""
    ids = [bytes([n]) * 16 for n in range(1, 4)]
    topics = [TopicRecord(name=f"topic-{n}", topic_id=each) for n, each in enumerate(ids)]
    _append_metadata(copy, BeginTransactionRecord(), topics[0], EndTransactionRecord())
    _append_metadata(copy, BeginTransactionRecord(), topics[1], AbortTransactionRecord())
    _append_metadata(copy, BeginTransactionRecord(), topics[2])

    names = CopiedCluster([copy])._metadata().image.topics
    assert [each.hex()[:2] for each in names if each in ids] == ["01"]


def test_a_snapshot_of_the_metadata(copy: Path) -> None:
    """The newest whole snapshot is read, and the log from there on; one that is cut off is not used."""
    path = copy / METADATA / FIRST
    batches = list(split_batches(path.read_bytes()))
    middle = len(batches) // 2
    first = parse_header(batches[middle]).base_offset
    records = b"".join(each for each in batches[:middle] if not parse_header(each).is_control)
    header = build_batch(
        plain_records([encode_quorum_record(SnapshotHeaderRecord(last_contained_log_timestamp=5))], 0), control=True
    )
    footer = build_batch(plain_records([encode_quorum_record(SnapshotFooterRecord())], 0), control=True)
    whole = Snapshot.from_data(copy).state
    (copy / METADATA / f"{first:020}-0000000001.checkpoint").write_bytes(header + records + footer)
    (copy / METADATA / f"{first + 1:020}-0000000001.checkpoint").write_bytes(header + records)
    path.unlink()
    (copy / METADATA / f"{first:020}.log").write_bytes(b"".join(batches[middle:]))
    problems: list[str] = []

    assert Snapshot.from_data(copy, on_problem=problems.append).state == whole
    assert any(each.endswith(".checkpoint is not used: it is not whole") for each in problems)


def test_metadata_with_a_hole(copy: Path) -> None:
    """A log that begins after offset 0 without a snapshot is refused."""
    path = copy / METADATA / FIRST
    path.rename(path.with_name(f"{40:020}.log"))

    assert "begins at offset 40, and no snapshot reaches so far: records are missing" in refused(copy)
