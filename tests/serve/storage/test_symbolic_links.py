"""Symbolic links in a data directory that somebody else has made: no start writes to what they lead to, or cuts it.

The directory itself may be a link, and so may its parents.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fakebroker import InvalidArgument, VirtualBroker
from fakebroker.serve.storage.disk import Disk
from tests.support.data_directories import SMALL, Life, Step

STEPS: list[Step] = [("fill", 3), ("transaction", 4), ("transaction", 6), ("commit", 6), ("hours", 2)]
UNFINISHED = (".tmp", ".swap", ".cleaned", ".deleted")
GONE = f"1/a-0.{'0' * 32}-delete"
NODES = 2
TORN = b"years of work\n" * 10


@pytest.fixture(scope="module", params=["stopped", "killed"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of two brokers whose topics have segments, producers, aborted transactions."""
    life = Life(tmp_path_factory.mktemp("written") / "data", nodes=NODES)
    for step in STEPS:
        life.take(step)
    killed = life.copy()
    life.broker.stop()
    return killed if request.param == "killed" else life.path


def refusal_of(path: Path) -> str:
    """Start on a directory, write to each of its topics and stop; why that is refused, "" if it is not."""
    try:
        broker = VirtualBroker(data=path, nodes=NODES, config=SMALL)
    except InvalidArgument as error:
        return str(error)
    for name in ("a", "b", "c"):
        for partition in range(2):
            broker.topic(name).produce("x", partition=partition)
    broker.stop()
    return ""


def content(path: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}


def of_each_kind(written: Path) -> list[Path]:
    """One file of each kind, in the folder of each kind, of the first broker and of the second."""
    found = {}
    for path in sorted(each.relative_to(written) for each in written.rglob("*") if each.is_file()):
        found[path.parts[0], path.parent.name.rstrip("0123456789"), path.suffix, path.stem[-3:]] = path
    return list(found.values())


def link_away(path: Path, outside: Path, suffix: str) -> None:
    """Put a link in the place of a file, or beside it; it leads to the same content with something behind it."""
    target = outside / f"target{suffix}"
    target.write_bytes(path.read_bytes() + TORN)
    link = path.with_name(path.name + suffix)
    link.unlink(missing_ok=True)
    link.symlink_to(target)


@pytest.mark.parametrize("suffixes", [("",), UNFINISHED])
def test_no_file_is_changed_where_a_link_leads(written: Path, tmp_path: Path, suffixes: tuple[str, ...]) -> None:
    """In the place of each file, and beside each; those that are written to are refused, with the link's name."""
    refused = 0
    data, outside = tmp_path / "data", tmp_path / "outside"
    for name in of_each_kind(written):
        shutil.copytree(written, data)
        outside.mkdir()
        for suffix in suffixes:
            link_away(data / name, outside, suffix)
        before = content(outside)

        refusal = refusal_of(data)

        assert content(outside) == before, name
        if "symbolic link" in refusal:
            assert any(f"{data / name}{suffix}: " in refusal for suffix in suffixes)
            refused += 1
        shutil.rmtree(data)
        shutil.rmtree(outside)
    assert refused > 3


@pytest.mark.parametrize(
    "name",
    [
        "1",
        "2",
        "1/a-0",
        "2/a-0",
        "1/__cluster_metadata-0",
        "2/__cluster_metadata-0",
        "1/gone-0",
        f"1/a-0.{'0' * 32}-delete",
    ],
)
@pytest.mark.parametrize("leads_to", ["a folder", "a file", "nothing"])
def test_a_folder_that_is_a_link_is_refused(written: Path, tmp_path: Path, name: str, leads_to: str) -> None:
    """Of a broker, of a partition, of one that is not there or that is removed: nothing changes where it leads."""
    data, outside = tmp_path / "data", tmp_path / "outside"
    shutil.copytree(written, data)
    outside.mkdir()
    if (data / name).exists():
        shutil.move(data / name, outside / "kept")
    else:
        shutil.copytree(written / "1" / "a-0", outside / "kept")
    (outside / "file").write_bytes(TORN)
    (data / name).symlink_to(outside / {"a folder": "kept", "a file": "file", "nothing": "nothing"}[leads_to])
    before = content(outside)

    assert f"{data / name}: it is a symbolic link, and nothing is written where it leads" in refusal_of(data)
    assert content(outside) == before
    assert not (outside / "nothing").exists()


def test_the_directory_itself_may_be_a_link(written: Path, tmp_path: Path) -> None:
    """So may its parents: who names it knows where it leads."""
    (tmp_path / "real" / "disk").mkdir(parents=True)
    shutil.copytree(written, tmp_path / "real" / "disk" / "data")
    (tmp_path / "disk").symlink_to(tmp_path / "real" / "disk")
    (tmp_path / "data").symlink_to(tmp_path / "disk" / "data")

    assert refusal_of(tmp_path / "data") == ""


@pytest.mark.parametrize(
    "write",
    [
        lambda disk, path: disk.append(path, 0, b"new"),
        lambda disk, path: disk.cut(path, 0),
        lambda disk, path: disk.write(path, b"new"),
        lambda disk, path: disk.replace(path.with_name("file"), b"new"),
    ],
)
def test_no_write_follows_a_link(tmp_path: Path, write: Callable[[Disk, Path], None]) -> None:
    """Also one that was made after the start."""
    there, link = tmp_path / "there", tmp_path / "file.tmp"
    there.write_bytes(b"kept")
    for target in (there, tmp_path / "nothing"):
        with suppress(FileNotFoundError):
            link.unlink()
        link.symlink_to(target)
        with pytest.raises(OSError, match="it is a symbolic link") as raised:
            write(Disk(), link)
        assert raised.value.filename == str(link)
    link.unlink()
    assert content(tmp_path) == {"there": b"kept"}
