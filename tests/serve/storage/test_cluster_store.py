"""What a data directory keeps, and what a broker on it has after a kill or a stop."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakebroker import VirtualBroker
from fakebroker.broker.core.long_passes import LongPasses
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.checkpoints import decode_offsets, encode_offsets
from fakebroker.protocol.storage.names import PartitionFolder
from fakebroker.serve.storage import removals
from fakebroker.serve.storage.stored_log import StoredLog
from tests.support.cluster import partition
from tests.support.data_directories import STEPS, Life, Step, kept

steps = st.lists(st.tuples(st.sampled_from(list(STEPS)), st.integers(0, 20)), max_size=25)


@pytest.mark.random
@settings(max_examples=10, deadline=None)
@given(steps)
def test_nothing_acknowledged_is_lost_by_a_kill(history: list[Step]) -> None:
    """After any steps a broker on a copy of the directory has the same metadata and the same logs."""
    with TemporaryDirectory() as folder:
        life = Life(Path(folder) / "data")
        for step in history:
            life.take(step)
        with life.after_kill() as after:
            assert kept(after) == kept(life.broker)
        life.broker.stop()


@pytest.mark.random
@settings(max_examples=10, deadline=None)
@given(steps, steps)
def test_a_stop_keeps_everything(before: list[Step], after: list[Step]) -> None:
    """A broker goes on where one before it was stopped, also after a second life."""
    with TemporaryDirectory() as folder:
        life = Life(Path(folder) / "data")
        for history in (before, after):
            for step in history:
                life.take(step)
            expected = kept(life.broker)
            life.broker.stop()
            life.broker = VirtualBroker(data=life.path, **life.options)
            life.client = life.broker.client("client")
            assert kept(life.broker) == expected
        life.broker.stop()


CHECKPOINTS = (names.RECOVERY_POINTS, names.LOG_STARTS, names.CLEANER_OFFSETS)


def made_anew(life: Life) -> None:
    """Topic a once more, with fewer records than the one before it had lost."""
    life.broker.create_topic("a", partitions=2)
    for _ in range(5):
        life.client.produce("a", 0, [(b"k", b"acknowledged")])


def checkpoints_of(life: Life) -> dict[str, dict[PartitionFolder, int]]:
    return {each: decode_offsets((life.path / each).read_bytes(), each) for each in CHECKPOINTS}


def test_a_topic_made_anew_has_nothing_of_the_one_before(life: Life) -> None:
    """Not its log start, nor how far it was flushed or cleaned: checkpoints go by names."""
    for _ in range(8):
        life.client.produce("a", 0, [(b"k", b"v")])
    life.client.delete_records("a", 0, 8)
    partition(life.cluster, topic="a", index=1).log.cleaned_until = 7
    life.broker.topic("a").delete()
    assert not any(name.topic == "a" for offsets in checkpoints_of(life).values() for name in offsets)

    made_anew(life)
    with life.after_kill() as after:
        assert kept(after) == kept(life.broker)


@pytest.mark.parametrize("is_used", [False, True])
def test_what_still_has_a_partition_of_a_deleted_topic_makes_no_files(life: Life, is_used: bool) -> None:
    """Its log is that of nobody: neither a folder of the deleted topic comes of it, nor one in that made anew."""
    before = partition(life.cluster, topic="a", index=0)
    if is_used:
        life.client.produce("a", 0, [(b"k", b"v")])
    life.broker.topic("a").delete()
    assert before.log.log_end_offset == 0
    life.broker.pass_time(ms=1)
    assert not [each for each in life.path.iterdir() if each.name.startswith("a-")]

    made_anew(life)
    before.forget_log()
    assert before.log.log_end_offset == 0
    with life.after_kill() as after:
        assert kept(after) == kept(life.broker)


def test_a_kill_between_a_deletion_and_its_checkpoints(life: Life) -> None:
    """The next start takes the topic out of them."""
    life.broker.topic("a").delete()
    for each in CHECKPOINTS:
        (life.path / each).write_bytes(encode_offsets({PartitionFolder("a", 0): 8}))
    life.abandon()
    life.broker = VirtualBroker(data=life.path, **life.options)
    life.client = life.broker.client("client")
    assert not any(name.topic == "a" for offsets in checkpoints_of(life).values() for name in offsets)

    made_anew(life)
    with life.after_kill() as after:
        assert kept(after) == kept(life.broker)


def fill_segments(life: Life, count: int = 5) -> None:
    """So many segments of a record each in partition a-0, all in one turn."""
    log, now = partition(life.cluster, topic="a").log, life.broker._broker_clock.now()
    life.client.alter_configs("a", {"segment.ms": "1"})

    def append() -> None:
        for number in range(count):
            log.append(build_batch([Record(0, now.wall_ms + 10 * number, b"k", b"v")]), now)

    life.broker._call(append)
    assert len(log.segments) == count


def check_after_both_ends(life: Life) -> None:
    """All is there after a kill, and after a stop and another start."""
    expected = kept(life.broker)
    with life.after_kill() as after:
        assert kept(after) == expected
    life.broker.stop()
    life.broker = VirtualBroker(data=life.path, **life.options)
    assert kept(life.broker) == expected


def test_several_segments_that_begin_in_one_turn(life: Life) -> None:
    """All are written, also when the partition had none before."""
    fill_segments(life)
    check_after_both_ends(life)


def test_a_snapshot_with_several_segments(life: Life) -> None:
    """A restored cluster is written whole."""
    fill_segments(life)
    snapshot = life.broker.snapshot()
    life.broker.topic("a").delete()
    life.broker.restore(snapshot)
    check_after_both_ends(life)


@pytest.mark.parametrize("is_started_again", [False, True])
@pytest.mark.parametrize("replicas", [[2], [1, 2], [3, 2]])
def test_a_reassigned_partition_with_several_segments(
    tmp_path: Path, replicas: list[int], is_started_again: bool
) -> None:
    """Its new copies have all segments, also those that were not read since the start, before the old ones go."""
    life = Life(tmp_path / "data", nodes=3)
    topic = life.broker.topic("a")
    topic.partition(0).reassign([1])
    fill_segments(life)
    if is_started_again:
        life.broker.stop()
        life.broker = VirtualBroker(data=life.path, **life.options)
    life.broker.topic("a").partition(0).reassign(replicas)
    check_after_both_ends(life)
    for node_id in replicas:
        assert len([*(life.path / str(node_id) / "a-0").glob("*.log")]) == 5
    life.broker.stop()


def test_a_large_topic_is_removed_in_steps(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folders are renamed at once, as in Kafka, and removed in the next turns; a stop waits for that."""
    monkeypatch.setattr(removals, "FILES_PER_STEP", 2)
    life.broker.create_topic("large", partitions=10)
    for index in range(10):
        life.client.produce("large", index, [(b"k", b"v")])

    def folders(*, are_deleted: bool) -> int:
        found = [each.name for each in life.path.iterdir() if each.name.startswith("large-")]
        return sum(names.is_deleted_folder(each) is are_deleted for each in found)

    seen: list[int] = []
    rmtree = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", lambda path: (seen.append(folders(are_deleted=False)), rmtree(path)))
    put_off = LongPasses.put_off
    turns: list[int] = []
    monkeypatch.setattr(LongPasses, "put_off", lambda *args: (turns.append(len(seen)), put_off(*args)))
    life.broker.topic("large").delete()
    assert len(turns) > 1
    life.broker.stop()
    assert seen == [0] * 10
    assert folders(are_deleted=True) == 0


def test_a_long_name_is_cut_off_where_a_folder_is_put_aside(tmp_path: Path) -> None:
    """A broker starts where a kill has left folders of a topic with the longest name that there may be."""
    topic = "x" * 249
    life = Life(tmp_path / "data")
    life.broker.create_topic(topic)
    life.client.produce(topic, 0, [(b"k", b"v")])
    folder = life.path / names.folder_name(topic, 0)
    left = tmp_path / "left"
    shutil.copytree(folder, left)
    life.broker.topic(topic).delete()
    life.broker.stop()
    shutil.copytree(left, folder)
    with VirtualBroker(data=life.path, **life.options) as broker:
        assert not broker.topic(topic).exists


def test_a_log_that_cannot_be_written_keeps_no_other_from_the_disk(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker reports it; what the same turn wrote to other logs is kept."""
    errors, write = list[Exception](), StoredLog.write
    life.cluster.timers.passes.on_error = errors.append
    life.broker.create_topic("evil")

    def failing(stored: StoredLog, *args: Any) -> None:
        if stored.log.name == "evil-0":
            raise ValueError("nobody has thought of this")
        write(stored, *args)

    monkeypatch.setattr(StoredLog, "write", failing)
    for topic in ("evil", "a"):
        life.client.produce(topic, 0, [(b"k", b"v")])
    assert [str(each) for each in errors] == ["nobody has thought of this"]
    with life.after_kill() as after:
        assert len(after.topic("a").records()) == 1
    monkeypatch.undo()
    life.broker.stop()
