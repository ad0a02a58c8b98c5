"""A broker that is killed before each change that it makes to files: what it had before is there after a start."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from fakebroker import VirtualBroker
from fakebroker.protocol.records.batch import parse_header, read_records
from tests.support.data_directories import Life, kept

CHANGES: list[tuple[Any, str]] = [
    (os, "pwrite"),
    (os, "ftruncate"),
    (os, "rename"),
    (os, "unlink"),
    (os, "rmdir"),
    (os, "mkdir"),
    (Path, "write_bytes"),
]
"""The functions with which files are changed, by what they belong to; those of Path call the ones of os."""


class Killed(BaseException):
    """The process has ended here."""


class Killer:
    """Kills the broker of a life before the change of its directory with a number; counts them."""

    def __init__(self, folder: Path, number: int) -> None:
        self.count = 0
        self._folder = folder
        self._number = number

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Count, and kill, in this block."""
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in CHANGES:
                patch.setattr(owner, name, self._counted(getattr(owner, name)))
            with suppress(Killed):
                yield

    def _counted(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if self.count >= self._number:
                raise Killed
            self.count += 1
            return change(*arguments, **options)

        return counted


def roll(life: Life) -> None:
    for _ in range(3):
        life.client.produce("a", 0, [(b"k", b"v" * 400_000)])


def compact(life: Life) -> None:
    life.client.alter_configs("c", {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"})
    life.broker.pass_time(s=60)


def retain(life: Life) -> None:
    life.client.alter_configs("a", {"retention.bytes": "1000000"})
    life.broker.pass_time(s=600)


def create(life: Life) -> None:
    life.client.create_topic("more", 2)
    life.client.produce("more", 1, [(b"k", b"v")])


def delete(life: Life) -> None:
    life.broker.topic("a").delete()


def transaction(life: Life) -> None:
    client = life.broker.client("transactional")
    client.init_producer_id("t")
    client.produce("b", 0, [(b"k", b"v")], transactional=True)
    client.abort_transaction()


def commit(life: Life) -> None:
    life.client.commit({("a", 0): 7}, group_id="g")


def stop(life: Life) -> None:
    life.broker.stop()


STEPS = [roll, compact, retain, create, delete, transaction, commit, stop]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with closed segments, a transaction that was aborted, and commits."""
    life = Life(tmp_path_factory.mktemp("begun") / "data")
    for number in range(7):
        for topic in ("a", "c"):
            life.client.produce(topic, 0, [(b"k%d" % (number % 2), b"%d" % number + b"v" * 400_000)])
    transaction(life)
    life.client.commit({("a", 0): 3, ("b", 0): 1}, group_id="g")
    life.broker.stop()
    return life.path


def resumed(begun: Path, path: Path) -> Life:
    shutil.copytree(begun, path)
    life = Life(path, is_new=False)
    life.broker.pass_time(ms=1)
    return life


def content(broker: VirtualBroker) -> dict[str, dict[int, tuple[bytes | None, bytes | None]]]:
    """By log the records of all topics, by their offsets."""
    return {
        log: {
            record.offset: (record.key, record.value)
            for _, batches in state["segments"]
            for batch in batches
            if not parse_header(batch).is_control
            for record in read_records(batch)
        }
        for log, state in kept(broker)["logs"].items()
    }


def topics_of(broker: VirtualBroker) -> set[str]:
    return set(kept(broker)["topics"])


def offsets_of(broker: VirtualBroker) -> dict[Any, int]:
    return dict(broker.group("g").offsets)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_every_change(begun: Path, tmp_path: Path, step: Callable[[Life], object]) -> None:
    """What is there before a step and after it is there after a kill in its middle, and nothing but what it wrote."""
    life = resumed(begun, tmp_path / "whole")
    before, topics_before, offsets_before = content(life.broker), topics_of(life.broker), offsets_of(life.broker)
    killer = Killer(life.path, 1_000_000)
    with killer.armed():
        step(life)
    after, topics_after, offsets_after = content(life.broker), topics_of(life.broker), offsets_of(life.broker)
    if step is not stop:
        assert (before, topics_before, offsets_before) != (after, topics_after, offsets_after)
        life.broker.stop()
    assert killer.count > 0

    for number in range(killer.count):
        life = resumed(begun, tmp_path / str(number))
        with Killer(life.path, number).armed():
            step(life)
        copied = life.copy()
        life.abandon()
        with VirtualBroker(
            data=copied, start_wall_ms=life.broker._broker_clock.now().wall_ms, **life.options
        ) as broker:
            found, topics = content(broker), topics_of(broker)
            assert topics_before & topics_after <= topics <= topics_before | topics_after, number
            assert offsets_of(broker) in (offsets_before, offsets_after), number
            for log, records in found.items():
                old, new = before.get(log, {}), after.get(log, {})
                if log in after or log.rpartition("-")[0] in topics_after:
                    missing = {offset for offset in old.keys() & new.keys() if records.get(offset) != old[offset]}
                    assert not missing, (number, log)
                assert records.items() <= {**old, **new}.items(), (number, log)
        for path in life.path.parent.glob(f"{number}*"):
            shutil.rmtree(path)
