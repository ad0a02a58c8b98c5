"""The start on a data directory: after a clean stop, after a kill in the middle of a write, on damaged files."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fakebroker import VirtualBroker
from fakebroker.serve.storage.stored_segment import StoredSegment
from tests.support.data_directories import DAY_MS, SETTINGS, SMALL, Life, kept

DATA = "orders-0/00000000000000000000.log"


def files_of(path: Path) -> dict[str, int]:
    """The size of every file."""
    return {str(each.relative_to(path)): each.stat().st_size for each in path.rglob("*") if each.is_file()}


def produce(life: Life) -> None:
    life.client.produce("orders", 0, [(b"k", b"v" * 30)] * 2)


def in_transaction(life: Life) -> None:
    client = life.broker.client("transactional")
    client.init_producer_id("t")
    client.produce("orders", 0, [(b"k", b"v")], transactional=True)
    client.commit_transaction()


def create(life: Life) -> None:
    life.client.create_topic("more", 2)


WRITES = [produce, in_transaction, create, lambda life: life.client.commit({("orders", 0): 1}, group_id="g")]


@pytest.mark.parametrize("write", WRITES)
def test_cut_in_the_middle(life: Life, write: Callable[[Life], object]) -> None:
    """A kill may leave any part of the last write: what came before is whole, and nothing is there in part."""
    check_cuts(life, write, cuts=6)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("write", WRITES)
def test_cut_at_every_byte(life: Life, write: Callable[[Life], object]) -> None:
    """The same after each byte of the last write."""
    check_cuts(life, write, cuts=1_000_000)


def check_cuts(life: Life, write: Callable[[Life], object], cuts: int) -> None:
    """Cut each file that a write made longer after about so many parts of what was written, and start on it."""
    produce(life)
    in_transaction(life)
    before, files = kept(life.broker), files_of(life.path)
    write(life)
    after = kept(life.broker)
    grown = [(name, files.get(name, 0), size) for name, size in files_of(life.path).items() if name.endswith(".log")]
    for name, old_size, new_size in grown:
        for size in range(old_size, new_size, max((new_size - old_size) // cuts, 1)):
            copied = life.copy()
            with (copied / name).open("r+b") as file:
                file.truncate(size)
            with VirtualBroker(data=copied, **life.options) as broker:
                found = kept(broker)
                for log, content in found["logs"].items():
                    wanted = [state["logs"].get(log, content) for state in (before, after)]
                    assert any(is_beginning(content, each) for each in wanted), (name, size, log)
                    assert log not in before["logs"] or is_beginning(before["logs"][log], content), (name, size, log)
                assert found["topics"].items() >= before["topics"].items()
            shutil.rmtree(copied)


def is_beginning(log: dict, other: dict) -> bool:  # type: ignore[type-arg]
    """Whether the batches of one log are those that the other one begins with."""
    batches, others = ([batch for _, each in state["segments"] for batch in each] for state in (log, other))
    return batches == others[: len(batches)]


def test_a_clean_start_reads_no_records(tmp_path: Path) -> None:
    """After a clean stop the segments of a topic are not read before something asks for records."""
    life = Life(tmp_path / "data")
    life.broker.create_topic("orders", config=SETTINGS)
    for _ in range(6):
        life.client.produce("orders", 0, [(b"k", b"v" * 400_000)])
    expected = kept(life.broker)
    life.broker.stop()

    with VirtualBroker(data=life.path, **life.options) as broker:
        log = broker._engine.cluster.topics.partition("orders", 0).log  # type: ignore[union-attr]
        segments = list(log.segments.values())
        assert [each.is_loaded for each in segments if isinstance(each, StoredSegment)] == [False] * 3
        assert (log.log_end_offset, log.size_bytes) == (6, sum(each.size_bytes for each in segments))
        broker.client("client").fetch("orders", 0, 2)
        assert [each.is_loaded for each in segments if isinstance(each, StoredSegment)] == [False, True, False]
        assert kept(broker) == expected


def test_passes_read_no_records_after_a_clean_stop(life: Life) -> None:
    """Retention knows the time of the active segment, too, so it is read for nobody."""
    for value in (b"one", b"two"):
        life.client.produce("orders", 0, [value], timestamp_ms=life.broker._broker_clock.now().wall_ms)
    life.broker.stop()
    with VirtualBroker(data=life.copy(), **life.options) as broker:
        log = broker._engine.cluster.topics.partition("orders", 0).log  # type: ignore[union-attr]
        broker.pass_time(s=6 * DAY_MS // 1000)
        assert [each.is_loaded for each in log.segments.values()] == [False]
        broker.pass_time(s=2 * DAY_MS // 1000)
        assert (log.log_start_offset, log.size_bytes) == (2, 0)


def test_damage_ends_the_log(life: Life, caplog: pytest.LogCaptureFixture) -> None:
    """After a kill every batch is checked: the log ends before one that was changed, and a warning says so."""
    for _ in range(3):
        produce(life)
    copied = life.copy()
    damage(copied / DATA, -1)

    with caplog.at_level(logging.WARNING), VirtualBroker(data=copied, **life.options) as broker:
        assert broker.topic("orders").end_offsets == {0: 4}
    assert "is damaged: its checksum is wrong; the last" in caplog.text


def test_segments_after_the_damage_are_removed(life: Life) -> None:
    """What follows a damaged segment would leave a gap."""
    for _ in range(6):
        life.client.produce("orders", 0, [(b"k", b"v" * 400_000)])
    copied = life.copy()
    damage(copied / DATA, 100)

    with VirtualBroker(data=copied, **life.options) as broker:
        assert broker.topic("orders").end_offsets == {0: 0}
        broker.client("client").produce("orders", 0, [b"goes on"])
    assert [each.name for each in (copied / "orders-0").glob("*.log")] == ["00000000000000000000.log"]


def damage(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)


def test_indexes_are_made_anew(life: Life) -> None:
    """After a kill they are as after a clean stop."""
    for _ in range(20):
        produce(life)
    in_transaction(life)
    copied = life.copy()
    life.broker.stop()
    with VirtualBroker(data=copied, **life.options):
        for suffix in ("index", "timeindex"):
            name = f"orders-0/00000000000000000000.{suffix}"
            assert (copied / name).read_bytes() == (life.path / name).read_bytes()
    assert (copied / "orders-0/00000000000000000000.index").stat().st_size > 0


@pytest.mark.parametrize("name", ["00000000000000000000.index", "00000000000000000000.timeindex", "*.snapshot"])
def test_missing_files_beside_a_log(life: Life, name: str) -> None:
    """What can be made anew of the log may be missing, or be damaged, after a clean stop too."""
    for _ in range(20):
        produce(life)
    in_transaction(life)
    expected = kept(life.broker)
    life.broker.stop()
    for path in (life.path / "orders-0").glob(name):
        path.unlink()

    with VirtualBroker(data=life.path, **life.options) as broker:
        assert kept(broker) == expected
    for path in (life.path / "orders-0").glob(name):
        path.write_bytes(b"\xff" * 17)
    with VirtualBroker(data=life.path, **life.options) as broker:
        assert kept(broker) == expected


def test_changes_under_way_are_completed(life: Life) -> None:
    """A kill in the middle of cleaning or deleting leaves files that the next start removes, or puts in place."""
    produce(life)
    expected = kept(life.broker)
    copied = life.copy()
    folder = copied / "orders-0"
    (copied / DATA).rename(folder / "00000000000000000000.log.swap")
    (folder / "00000000000000000001.log").write_bytes(b"replaced")
    (folder / "00000000000000000007.log.cleaned").write_bytes(b"not finished")
    (folder / "00000000000000000009.log.deleted").write_bytes(b"deleted")
    gone = copied / f"gone-0.{'0' * 32}-delete"
    gone.mkdir()

    with VirtualBroker(data=copied, **life.options) as broker:
        assert kept(broker) == expected
    assert not gone.exists()
    assert {each.name for each in folder.glob("*.log*")} == {"00000000000000000000.log"}


def test_folders_of_no_partition_are_put_aside(life: Life, caplog: pytest.LogCaptureFixture) -> None:
    """So they are in Kafka; a folder of another topic of the same name is one of them."""
    produce(life)
    life.broker.stop()
    stranger = life.path / "stranger-0"
    shutil.copytree(life.path / "orders-0", stranger)
    metadata = life.path / "a-0" / "partition.metadata"
    metadata.parent.mkdir()
    metadata.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAEQ\n")

    with VirtualBroker(data=life.path, **life.options) as broker:
        assert broker.topic("orders").end_offsets == {0: 2}
        assert not broker.topic("stranger").exists
    assert "stranger-0 is of no partition of this cluster: it was renamed to" in caplog.text
    assert len(list(life.path.glob("*-stray"))) == 2


def test_the_clock_is_not_behind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A machine whose time is before the newest record gets a broker whose time is not, and a warning."""
    life = Life(tmp_path / "data")
    life.broker.clock.advance(days=3)
    life.client.commit({("a", 0): 1}, group_id="g")
    now = life.broker.clock.now
    life.broker.stop()

    with VirtualBroker(data=life.path, **life.options) as broker:
        assert broker.clock.now == now
        assert broker.group("g").offsets == {("a", 0): 1}
    assert "the clock is 259200.0 s behind the newest record of" in caplog.text


def test_restart_goes_on(tmp_path: Path) -> None:
    """stop() and start() of one broker keep its state, and what was done between them."""
    broker = VirtualBroker(data=tmp_path / "data", config=SMALL)
    broker.create_topic("a")
    broker.stop()
    broker.create_topic("b")
    broker.topic("b").produce("while stopped")
    broker.start()
    broker.topic("b").produce("later")
    broker.stop()

    with VirtualBroker(data=tmp_path / "data", config=SMALL) as again:
        assert [record.value for record in again.topic("b").records()] == [b"while stopped", b"later"]


def test_reset_and_restore_replace_everything(tmp_path: Path) -> None:
    """The directory has what the broker has, and nothing of before."""
    broker = VirtualBroker(data=tmp_path / "data", config=SMALL)
    broker.create_topic("a")
    broker.topic("a").produce("x")
    snapshot = broker.snapshot()
    broker.reset()
    assert not (tmp_path / "data" / "a-0").exists()
    broker.create_topic("b")
    broker.restore(snapshot)
    broker.stop()

    with VirtualBroker(data=tmp_path / "data", config=SMALL) as again:
        assert [topic.name for topic in again.topics if not topic.name.startswith("_")] == ["a"]
        assert [record.value for record in again.topic("a").records()] == [b"x"]
