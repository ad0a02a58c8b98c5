"""Writing files of lines: what is written is what is read, at once, and in whole lines."""

import os
from pathlib import Path

import pytest

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.exchanges.messages import frame_of, request_of
from fakebroker.testing.exchanges.writing import LineFile, new_file
from tests.testing.exchanges.sessions import CONNECT, END, HEAD, exchanged, lines_in, saved


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Every line comes back as it was written, in order."""
    lines = [HEAD, CONNECT, exchanged(message={"GroupId": "g\u2028\ud800"}), exchanged("answer", hex="0001"), END]
    writer = LineFile(tmp_path / "s")
    for line in lines:
        writer.write(line)
    writer.close()

    assert lines_in(tmp_path / "s") == lines
    assert writer.error is None


def test_every_line_is_on_its_way_when_it_is_written(tmp_path: Path) -> None:
    """What was written can be read while the writer lives: nothing waits in a buffer for a process that is killed."""
    writer = LineFile(tmp_path / "s")
    writer.write(HEAD)
    writer.write(CONNECT)

    assert lines_in(tmp_path / "s") == [HEAD, CONNECT]
    writer.close()


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    """A recording does not overwrite another one unless it is told to, and says where it cannot be."""
    path = saved(tmp_path / "s", HEAD)

    with pytest.raises(InvalidArgument, match="exists; --force overwrites it"):
        new_file(path)
    with pytest.raises(InvalidArgument, match="cannot be written: No such file"):
        new_file(tmp_path / "none" / "s")
    assert lines_in(path) == [HEAD]
    new_file(path, force=True).close()
    assert path.read_bytes() == b""


def test_a_full_disk_ends_the_recording_with_a_whole_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written of the line that did not fit is taken away, the error is reported, later lines are ignored."""
    writer = LineFile(tmp_path / "s")
    writer.write(HEAD)
    write = os.write

    def write_some(fd: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return write(fd, bytes(data)[:20])

    monkeypatch.setattr(os, "write", write_some)
    writer.write(CONNECT)
    monkeypatch.undo()
    writer.write(END)

    assert writer.error == f"{tmp_path / 's'} cannot be written: No space left on device"
    assert lines_in(tmp_path / "s") == [HEAD]


def test_a_long_frame_is_written_in_pieces(tmp_path: Path) -> None:
    """The bytes of a frame that was not made a text as a whole are all there."""
    frame = os.urandom(3_000_000)
    writer = LineFile(tmp_path / "s")
    writer.write(HEAD)
    writer.write_long(exchanged(api=None, api_key=999), frame)
    writer.close()

    _, line = lines_in(tmp_path / "s")

    assert frame_of(line) == frame
    assert request_of(line) is None


def test_lines_that_are_written_together_are_together(tmp_path: Path) -> None:
    """Several lines make one write, in their order."""
    file = LineFile(tmp_path / "s")
    file.write(HEAD, CONNECT, END)

    assert lines_in(tmp_path / "s") == [HEAD, CONNECT, END]
    file.close()
