"""Opening; locks and writes in the ways of Unix and of Windows, which tests/support/windows_like.py simulates."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker.platform.files import lock_for_descriptor, lock_for_process, regular_file
from tests.support.image import ROOT
from tests.support.windows_like import windows_like
from tests.test_hostile_files import no_longer_than

LOCKED = """
import sys
from fakebroker.platform.files import {lock}
with open(sys.argv[1], "r+b") as file:
    file.read(1)
    try:
        {lock}(file.fileno())
    except BlockingIOError:
        print("held", file.tell())
    else:
        print("free", file.tell())
"""
WRITTEN = """
import os, sys
from fakebroker.platform.files import OPEN_FLAGS, write_at
fd = os.open(sys.argv[1], os.O_RDWR | OPEN_FLAGS)
assert write_at(fd, b"new", 2) == 3
"""


THROUGH = """
import sys
from fakebroker.platform.files import file_in_place
for mode in ("wb", "ab", "r+b"):
    try:
        file_in_place(sys.argv[1], mode).close()
    except OSError as error:
        print(error.filename, error.strerror.partition(",")[0])
"""


def commands(code: str, file: Path) -> list[list[str]]:
    """A process of Unix and one like Windows that run code on a file."""
    return [[sys.executable, "-c", code, str(file)], windows_like(code, str(file))]


def output(command: list[str]) -> str:
    """What a command prints that must succeed."""
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("lock", [lock_for_process, lock_for_descriptor])
def test_a_lock_is_held_until_its_file_is_closed(lock: object, tmp_path: Path) -> None:
    """Another process gets BlockingIOError until then; the place in the file stays as it was."""
    file = tmp_path / "lock"
    file.write_bytes(b"content")
    code = LOCKED.format(lock=getattr(lock, "__name__"))  # noqa: B009
    for command in commands(code, file):
        holder = [*command]
        holder[2] += "\n    sys.stdout.flush(); sys.stdin.read()"
        with subprocess.Popen(holder, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert process.stdout.readline() == "free 1\n"
            assert output(command) == "held 1\n"
            process.communicate()
        assert output(command) == "free 1\n"


def test_a_write_at_a_position_leaves_the_rest(tmp_path: Path) -> None:
    """With `pwrite` and without."""
    for number, command in enumerate(commands(WRITTEN, tmp_path / "file")):
        (tmp_path / "file").write_bytes(b"\r\n.....")
        output(command)
        assert (tmp_path / "file").read_bytes() == b"\r\nnew..", number


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
@pytest.mark.parametrize("mode", ["rb", "wb", "ab", "r+b"])
def test_only_regular_files_are_opened(tmp_path: Path, mode: str) -> None:
    """A FIFO, a device, a socket and a folder are errors at once, with their name, in every mode."""
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    for path in (tmp_path / "fifo", tmp_path / "socket", Path("/dev/zero"), tmp_path):
        with no_longer_than(10), pytest.raises(OSError, match=r"not a regular file|Is a directory") as raised:
            regular_file(path, mode)
        assert raised.value.filename == str(path)


def test_what_is_written_to_is_no_symbolic_link(tmp_path: Path) -> None:
    """In no mode a link is followed, to a file or to nothing; the file is as it was, and the error names the link."""
    there, link = tmp_path / "there", tmp_path / "link"
    for command in commands(THROUGH, link):
        there.write_bytes(b"kept")
        for target in (there, tmp_path / "nothing"):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
            assert output(command) == f"{link} it is a symbolic link\n" * 3
        assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "there"]
        assert there.read_bytes() == b"kept"
    for command in commands(THROUGH, there):
        assert output(command) == ""
