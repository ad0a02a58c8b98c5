"""Work on files that goes on in steps, while topics, replicas and brokers change between them."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.storage import names
from fakebroker.serve.storage.disk import Disk
from fakebroker.serve.storage.removals import Removals
from tests.support.cluster import partition
from tests.support.data_directories import Life, kept

SEGMENTS = 6


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """Three brokers; the first has the partition of topic moved, in several segments."""
    life = Life(tmp_path / "data", nodes=3)
    make(life, [1])
    fill(life)
    yield life
    life.broker.stop()


def make(life: Life, replicas: list[int]) -> None:
    config = {"segment.ms": "1"}
    life.broker._call(lambda: life.cluster.topics.create("moved", assignments=[replicas], config=config))


def fill(life: Life) -> None:
    for number in range(SEGMENTS):
        life.client.produce("moved", 0, [(b"%d" % (number % 2), b"%d" % number)])
        life.broker.pass_time(ms=10)


def moved(life: Life) -> Partition:
    return partition(life.cluster, topic="moved", index=0)


def copying(life: Life, node_id: int) -> Iterator[None]:
    """The steps of a request that copies the partition to a broker, a segment each."""
    storage = life.cluster.storage
    assert storage is not None
    return storage.copied_ahead(moved(life), [node_id], Pace(0))


def values(life: Life) -> list[bytes | None]:
    return [each.value for each in life.broker.topic("moved").records()]


def files(life: Life, node_id: int) -> int:
    return len([*(life.path / str(node_id) / "moved-0").glob("*.log")])


def states(life: Life) -> list[str]:
    return [each.state for each in life.broker.nodes]


def restart(life: Life) -> None:
    life.broker.stop()
    life.__init__(life.path, is_new=False, **life.options)  # type: ignore[misc]


def test_a_topic_is_deleted_while_it_is_copied(life: Life, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing more is copied: there is no folder, and no directory has failed."""
    steps = copying(life, 2)
    next(steps)
    life.broker.topic("moved").delete()
    assert [*steps] == []
    assert (files(life, 1), files(life, 2)) == (0, 0)
    life.broker.pass_time(ms=1)
    assert states(life) == ["running"] * 3
    assert caplog.text == ""


@pytest.mark.parametrize("replicas", [[1], [2], [2, 1]])
def test_a_topic_is_made_anew_while_it_is_copied(life: Life, replicas: list[int]) -> None:
    """The topic of the name gets nothing of the one before."""
    steps = copying(life, 2)
    next(steps)
    life.broker.topic("moved").delete()
    make(life, replicas)
    life.broker.topic("moved").produce(b"new")
    assert [*steps] == []
    assert values(life) == [b"new"]
    with life.after_kill() as after:
        assert kept(after)["logs"] == kept(life.broker)["logs"]
    assert [node_id for node_id in (1, 2, 3) if files(life, node_id)] == sorted(replicas)


def test_a_partition_goes_elsewhere_while_it_is_copied(life: Life) -> None:
    """The copy that was begun is removed, and not gone on with."""
    steps = copying(life, 2)
    next(steps)
    life.broker.topic("moved").partition(0).reassign([3])
    assert [*steps] == []
    assert [files(life, node_id) for node_id in (1, 2, 3)] == [0, 0, SEGMENTS]
    with life.after_kill() as after:
        assert kept(after)["logs"] == kept(life.broker)["logs"]


def test_two_requests_copy_the_same(life: Life) -> None:
    """The second goes on with the copy of the first, in steps."""
    first, second = copying(life, 2), copying(life, 2)
    next(first)
    assert len([*second]) == SEGMENTS - 2  # the last is the move's, the first was copied
    assert [*first] == []


def test_a_broker_whose_directory_fails_while_it_gets_a_copy(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops, as when it fails in a turn of writing; when it is back it has the partition."""
    steps = copying(life, 2)
    next(steps)
    with monkeypatch.context() as patch:
        fail_in(patch, life.path / "2")
        assert [*steps] == []
    life.broker.pass_time(ms=1)
    assert states(life) == ["running", "killed", "running"]
    life.broker.topic("moved").partition(0).reassign([1, 2])
    life.broker.node(2).start()
    assert files(life, 2) == SEGMENTS
    with life.after_kill() as after:
        assert kept(after)["logs"] == kept(life.broker)["logs"]


def fail_in(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let every write below a folder fail."""
    append = Disk.append

    def refused(disk: Disk, path: Path, size_bytes: int, data: bytes) -> None:
        if folder in path.parents:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        append(disk, path, size_bytes, data)

    patch.setattr(Disk, "append", refused)


def test_a_replica_goes_before_its_files_are_read(life: Life) -> None:
    """What was not read since the start is read from the replica that stays."""
    life.broker.topic("moved").partition(0).reassign([1, 2])
    restart(life)
    life.broker.topic("moved").partition(0).reassign([2])
    assert files(life, 1) == 0
    assert values(life) == [b"%d" % number for number in range(SEGMENTS)]


def test_a_partition_moves_to_a_broker_that_is_down_before_its_files_are_read(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing has the files any more: they are read before they go, and written when the broker is back."""
    restart(life)
    with monkeypatch.context() as patch:
        fail_in(patch, life.path / "3")
        life.broker.topic("moved").partition(0).reassign([3])
    assert states(life) == ["running", "running", "killed"]
    life.broker.node(3).start()
    assert values(life) == [b"%d" % number for number in range(SEGMENTS)]
    assert (files(life, 1), files(life, 3)) == (0, SEGMENTS)


def test_a_stop_while_folders_are_removed(
    life: Life, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The stop removes all of it; the steps that were under way find nothing left, and nothing has failed."""
    monkeypatch.setattr(Removals, "begin", lambda *_: None)
    monkeypatch.setattr("fakebroker.serve.storage.removals.FILES_PER_STEP", 0)
    life.broker.topic("moved").delete()
    removals = life.cluster.storage._removals  # type: ignore[union-attr]
    steps = removals._in_steps()
    next(steps)
    removals.finish()
    for _ in steps:
        pass
    assert not [each for each in (life.path / "1").iterdir() if names.is_deleted_folder(each.name)]
    life.broker.pass_time(ms=1)
    assert states(life) == ["running"] * 3
    assert caplog.text == ""


@pytest.mark.parametrize("steps", range(SEGMENTS))
def test_a_kill_while_old_segments_are_removed(life: Life, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """The log begins where it began; the segments that are left go when retention looks at it next."""
    with monkeypatch.context() as patch:
        patch.setattr(Removals, "begin", lambda *_: None)
        life.client.alter_configs("moved", {"retention.bytes": "1"})
        life.broker.pass_time(s=600)
        stored = life.cluster.storage._stored(moved(life))  # type: ignore[union-attr]
        assert stored.has_leaving
        for _ in range(steps):
            assert stored.copies[0].remove_next()
        life.cluster.storage.write_checkpoints(life.broker._engine.now)  # type: ignore[union-attr]
    assert files(life, 1) == SEGMENTS - steps
    expected = kept(life.broker)["logs"]
    with life.after_kill() as after:
        assert kept(after)["logs"]["moved-0"]["offsets"] == expected["moved-0"]["offsets"]
        after.pass_time(s=600)
        assert kept(after)["logs"] == expected
        (path,) = after._storage._data.directories[1].path.glob("moved-0")  # type: ignore[union-attr]
        assert len([*path.glob("*.log")]) == 1


@pytest.mark.parametrize("steps", range(SEGMENTS))
@pytest.mark.parametrize("change", ["retention", "cleaning", "truncation", "deletion", "move"])
def test_a_log_changes_while_cleaned_segments_are_removed(
    life: Life, monkeypatch: pytest.MonkeyPatch, change: str, steps: int
) -> None:
    """Whatever happens to it then, a kill leaves what it is, and no file more."""
    with monkeypatch.context() as patch:
        patch.setattr(Removals, "begin", lambda *_: None)
        life.client.alter_configs("moved", {"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0.0"})
        life.broker.pass_time(s=60)
        copy = life.cluster.storage._stored(moved(life)).copies[0]  # type: ignore[union-attr]
        for _ in range(steps):
            copy.remove_next()
    CHANGES[change](life)
    life.broker.pass_time(s=60)
    expected = kept(life.broker)["logs"]
    with life.after_kill() as after:
        assert kept(after)["logs"] == expected
    assert sum(files(life, node_id) for node_id in (1, 2, 3)) == len(
        expected.get("moved-0", {"segments": []})["segments"]
    )


def clean_again(life: Life) -> None:
    fill(life)
    life.broker.pass_time(s=60)


CHANGES: dict[str, Callable[[Life], object]] = {
    "retention": lambda life: life.client.alter_configs("moved", {"retention.bytes": "1"}),
    "cleaning": clean_again,
    "truncation": lambda life: life.broker.topic("moved").truncate(4),
    "deletion": lambda life: life.broker.topic("moved").delete(),
    "move": lambda life: life.broker.topic("moved").partition(0).reassign([2]),
}


@pytest.mark.parametrize("how", ["made anew", "moved there and back"])
def test_a_folder_comes_again_before_its_last_segment_is_removed(
    life: Life, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """What is appended goes into a file of the new folder: that of before is not open any more."""

    def make_again() -> None:
        life.broker._call(lambda: life.cluster.topics.create("again", assignments=[[1]]))

    make_again()
    life.client.produce("again", 0, [(b"k", b"old")])
    life.broker.pass_time(ms=10)
    with monkeypatch.context() as patch:
        patch.setattr(Removals, "begin", lambda *_: None)
        life.client.alter_configs("again", {"retention.ms": "1"})
        life.broker.pass_time(s=600)
        if how == "made anew":
            life.broker.topic("again").delete()
            make_again()
        else:
            life.broker.topic("again").partition(0).reassign([2])
            life.client.alter_configs("again", {"retention.ms": "-1"})
            life.broker.topic("again").truncate(0)
            life.broker.topic("again").partition(0).reassign([1])
    life.client.produce("again", 0, [(b"k", b"new")])
    life.broker.pass_time(ms=10)
    with life.after_kill() as after:
        assert kept(after) == kept(life.broker)


@pytest.mark.parametrize("replicas", [[2], [1, 2], [2, 3]])
def test_deleted_records_stay_deleted_where_a_partition_moves(life: Life, replicas: list[int]) -> None:
    """The checkpoint of the log start is that of the broker that has the log now."""
    life.client.produce("moved", 0, [(b"k", b"%d" % number) for number in range(5)])
    start = life.broker.topic("moved").end_offsets[0] - 2  # amid the active segment
    life.client.delete_records("moved", 0, start)
    life.broker.topic("moved").partition(0).reassign(replicas)
    if replicas[0] != 1:
        life.broker.topic("moved").partition(0).move_leader(replicas[0])
    life.broker.pass_time(ms=10)
    with life.after_kill() as after:
        assert kept(after) == kept(life.broker)
        assert min(each.offset for each in after.topic("moved").records()) == start
