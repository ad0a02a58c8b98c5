"""FIFOs and devices where a data directory has files: nothing waits for a writer, or reads what has no end."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fakebroker import InvalidArgument, Snapshot, VirtualBroker
from tests.support.data_directories import SMALL, Life, Step
from tests.test_hostile_files import no_longer_than

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
LIMIT_S = 10  # each start takes milliseconds, or has no end
STEPS: list[Step] = [("fill", 3), ("transaction", 4), ("transaction", 6), ("commit", 6), ("hours", 2)]
UNFINISHED = (".tmp", ".swap", ".cleaned", ".deleted")


def endless(path: Path) -> None:
    """A file that can be read for ever."""
    path.symlink_to("/dev/zero")


def started(path: Path) -> None:
    """A broker that starts on the directory, writes to it and stops."""
    broker = VirtualBroker(data=path, config=SMALL)
    broker.topic("a").produce("x")
    broker.stop()


def copied(path: Path) -> None:
    """A broker that begins with what the directory has."""
    Snapshot.from_data(path).fork()


@pytest.fixture(scope="module", params=["stopped", "killed"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose topics have segments, producers, aborted transactions."""
    life = Life(tmp_path_factory.mktemp("written") / "data")
    for step in STEPS:
        life.take(step)
    killed = life.copy()
    life.broker.stop()
    return killed if request.param == "killed" else life.path


def check_each(written: Path, folder: Path, change: Callable[[Path], None], begin: Callable[[Path], None]) -> int:
    """Begin on a copy with each file changed, until one of each kind was; returns how often the file was refused."""
    refused = 0
    names = sorted(path.relative_to(written) for path in written.rglob("*") if path.is_file())
    for name in {(each.parent.name.rstrip("0123456789"), each.suffix, each.stem[-3:]): each for each in names}.values():
        shutil.copytree(written, folder)
        change(folder / name)
        with no_longer_than(LIMIT_S):
            try:
                begin(folder)
            except InvalidArgument as error:
                refusal = str(error)
                refused += 1
            else:
                refusal = f"{name}: it is not a regular file"
        assert str(name) in refusal
        assert "it is not a regular file" in refusal or "it is a symbolic link" in refusal
        shutil.rmtree(folder)
    return refused


@pytest.mark.parametrize("begin", [started, copied])
@pytest.mark.parametrize("kind", [os.mkfifo, endless])
def test_in_the_place_of_each_file(
    written: Path, tmp_path: Path, kind: Callable[[Path], None], begin: Callable[[Path], None]
) -> None:
    """The broker starts without the file, or names it: no start waits or takes all memory."""

    def change(path: Path) -> None:
        path.unlink()
        kind(path)

    assert check_each(written, tmp_path / "data", change, begin) > 3


@pytest.mark.parametrize("kind", [os.mkfifo, endless])
def test_beside_each_file(written: Path, tmp_path: Path, kind: Callable[[Path], None]) -> None:
    """The same of files under the names that a broker gives to unfinished ones."""

    def change(path: Path) -> None:
        for suffix in UNFINISHED:
            with suppress(FileExistsError):
                kind(path.with_name(path.name + suffix))

    check_each(written, tmp_path / "data", change, started)
