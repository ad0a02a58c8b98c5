"""A data directory whose whole content is written anew: by a reset, a restore, or a first start.

Killed at any moment, or on a disk that is full, it has all of the old content or all of the new one.
"""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fakebroker import InvalidArgument, VirtualBroker
from fakebroker.serve.storage.disk import Disk
from fakebroker.serve.storage.replacement import DECIDED, MOVING, UNFINISHED, has_cluster
from tests.serve.storage.test_killed_at_every_write import CHANGES, Killer
from tests.support.data_directories import SMALL, Life, kept

CHANGES_OF_ALL = [*CHANGES, (os, "replace"), (Disk, "write")]


class Restored(Life):
    """A life with a snapshot of an earlier state."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        for number in range(4):
            self.client.produce("a", 0, [(b"k", b"%d" % number)])
        self.client.delete_records("a", 0, 2)
        self.snapshot = self.broker.snapshot()
        self.client.produce("b", 1, [(b"k", b"later")])
        self.client.delete_records("a", 0, 3)
        self.broker.create_topic("more", 2)
        self.broker.pass_time(ms=1)


def restore(life: Restored) -> None:
    life.broker.restore(life.snapshot)


def reset(life: Restored) -> None:
    life.broker.reset()


def restore_while_stopped(life: Restored) -> None:
    life.broker.stop()
    life.broker.restore(life.snapshot)


def main_state(broker: VirtualBroker) -> dict[str, Any]:
    """What is kept but for leaders, which a start elects anew."""
    found = kept(broker)
    return {name: found[name] for name in ("topics", "logs", "configs")} | {"id": broker._engine.cluster.cluster_id}


def started(life: Life, path: Path) -> VirtualBroker:
    return VirtualBroker(data=path, start_wall_ms=life.broker._broker_clock.now().wall_ms, **life.options)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("step", [restore, reset, restore_while_stopped])
def test_killed_at_every_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Callable[[Restored], None], nodes: int
) -> None:
    """Also when the start that goes on with it is killed."""
    monkeypatch.setattr("tests.serve.storage.test_killed_at_every_write.CHANGES", CHANGES_OF_ALL)
    life = Restored(tmp_path / "whole", nodes=nodes)
    before = main_state(life.broker)
    killer = Killer(life.path, 1_000_000)
    with killer.armed():
        step(life)
    after = main_state(life.broker)
    life.broker.stop()
    assert before != after
    outcomes = []
    for number in range(killer.count):
        life = Restored(tmp_path / str(number), nodes=nodes)
        with Killer(life.path, number).armed():
            step(life)
        copied = life.copy()
        life.abandon()
        with Killer(copied, number % 7).armed():
            life.broker = started(life, copied)
        life.abandon()
        again = life.path.with_name(f"{number}-again")
        shutil.copytree(copied, again)  # the lock of the one that was killed is not held by this process
        with started(life, again) as broker:
            found = main_state(broker)
            assert found in (before, after), number
            outcomes.append(found == after)
            assert not any((again / name).exists() for name in (UNFINISHED, DECIDED, MOVING))
        for path in tmp_path.glob(f"{number}*"):
            shutil.rmtree(path)
    assert outcomes == sorted(outcomes)
    assert outcomes[0] is False
    assert outcomes[-1] is True


@pytest.mark.parametrize("step", [restore, reset, restore_while_stopped])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Callable[[Restored], None]) -> None:
    """The broker goes on with what it had, and so does the next one."""
    life = Restored(tmp_path / "data")
    before = main_state(life.broker)
    append = Disk.append

    def full(disk: Disk, path: Path, size_bytes: int, data: bytes) -> None:
        if UNFINISHED in path.parts:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        append(disk, path, size_bytes, data)

    with monkeypatch.context() as patch:
        patch.setattr(Disk, "append", full)
        with pytest.raises(InvalidArgument, match="No space left on device"):
            step(life)
    assert main_state(life.broker) == before
    life.broker.start()
    life.broker.topic("b").produce("after")
    assert not (life.path / UNFINISHED).exists()
    expected = main_state(life.broker)
    life.broker.stop()
    with started(life, life.path) as broker:
        assert main_state(broker) == expected


def test_what_is_decided_and_cannot_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker keeps nothing more; the next one has the new state."""
    life = Restored(tmp_path / "data")
    failures: list[str] = []
    assert life.broker._storage is not None
    life.broker._storage.on_failure = failures.append

    def fails(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", fails)
        with pytest.raises(InvalidArgument, match="cannot be written: Input/output error"):
            life.broker.restore(life.snapshot)
    assert failures == ["its data directory has failed: Input/output error"]
    assert has_cluster(life.path)
    with suppress(InvalidArgument):
        life.broker.stop()
    with started(life, life.path) as broker:
        assert main_state(broker)["topics"].keys() >= {"a", "b", "c"}
        assert not broker.topic("more").exists


def test_a_first_start_that_was_not_finished(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The next one is the first."""
    path = tmp_path / "data"
    (path / UNFINISHED / "a-0").mkdir(parents=True)
    (path / UNFINISHED / "meta.properties").write_text("version=1\n")
    assert not has_cluster(path)
    VirtualBroker(data=path, config=SMALL).stop()
    assert "what a reset, a restore or a first start has not finished is removed" in caplog.text
    assert has_cluster(path)
    assert not (path / "a-0").exists()


def test_of_one_broker_but_used_for_several(tmp_path: Path) -> None:
    """What was decided for one broker is not taken for that of several, and so removed."""
    path = tmp_path / "data"
    VirtualBroker(data=path, config=SMALL).stop()
    decided = path / DECIDED
    decided.mkdir()
    (path / "meta.properties").rename(decided / "meta.properties")
    with pytest.raises(InvalidArgument, match="is the directory of one broker, not of several"):
        VirtualBroker(data=path, config=SMALL, nodes=2)
    assert (decided / "meta.properties").exists()
