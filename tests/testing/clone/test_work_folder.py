"""The folder of a clone: what is finished stays, whatever was being written when it stopped."""

import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker import InvalidArgument
from fakebroker.testing.clone.work_folder import InternalRecord, WorkFolder

IDENTITY = {"cluster": "c", "options": [1, "x"]}
RECORDS = [InternalRecord(0, n, 1_000 + n, b"key", b"value %d" % n) for n in range(4)]


def make(folder: WorkFolder, number: int) -> int:
    """A part that writes to both files."""
    folder.data += b"data%d" % number
    folder.add_record(RECORDS[number])
    folder.note(f"problem {number}")
    return number


def data_of(folder: WorkFolder) -> bytes:
    with folder.data.read() as file:
        return file.read()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder with two finished parts, and a third that was being made."""
    folder = WorkFolder(tmp_path / "x.part", IDENTITY)
    for number in range(2):
        assert folder.part(f"part {number}", make, folder, number) == number
    folder.data += b"unfinished"
    folder.add_record(RECORDS[3])
    folder.close()
    return tmp_path / "x.part"


def test_finished_parts_stay(path: Path) -> None:
    """Parts, their problems, data and records are there again; what belongs to no part is dropped."""
    folder = WorkFolder(path, IDENTITY)

    assert folder.parts == {"part 0": 0, "part 1": 1}
    assert folder.problems == ["problem 0", "problem 1"]
    assert data_of(folder) == b"data0data1"
    assert list(folder.read_records()) == RECORDS[:2]
    assert folder.part("part 1", make, folder, 3) == 1  # is not made again
    folder.remove()
    assert not path.exists()


@pytest.mark.parametrize("cut", [1, 10, 50])
def test_a_line_that_is_cut_off_is_no_part(path: Path, cut: int) -> None:
    """The part of an incomplete line is made again."""
    lines = path / "parts.jsonl"
    lines.write_bytes(lines.read_bytes()[:-cut])
    folder = WorkFolder(path, IDENTITY)

    assert folder.parts == {"part 0": 0}
    assert data_of(folder) == b"data0"
    assert folder.part("part 1", make, folder, 1) == 1
    assert list(folder.read_records()) == RECORDS[:2]
    folder.close()


def test_missing_data_is_damage(path: Path) -> None:
    """Data that is shorter than a finished part says cannot be gone on with."""
    (path / "data").write_bytes(b"data")

    with pytest.raises(InvalidArgument, match=r"x\.part is damaged: .* has 4 bytes, and should have 10"):
        WorkFolder(path, IDENTITY)


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "ab")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


def test_another_process_clones_into_it(path: Path) -> None:
    """The second clone is refused, and changes nothing."""
    before = {each.name: each.read_bytes() for each in path.iterdir()}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path / "clone.json")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(InvalidArgument, match=r"x\.part is in use by another clone; wait for it to end"):
            WorkFolder(path, IDENTITY)
        other.communicate()
    assert {each.name: each.read_bytes() for each in path.iterdir()} == before


def test_other_options(path: Path) -> None:
    """A clone goes on only with the options that it began with."""
    with pytest.raises(InvalidArgument, match=r"x\.part is a clone with other options; remove it, or use --restart"):
        WorkFolder(path, {**IDENTITY, "options": []})
