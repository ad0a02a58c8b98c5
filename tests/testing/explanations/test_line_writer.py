"""Lines from a thread of their own: in order, bounded, counted when lost, and always lines."""

import logging
import os
import select
import threading
from collections.abc import Iterator

import pytest

from fakebroker.testing.explanations.line_writer import MAX_WAITING_BYTES, LineHandler, LineWriter


@pytest.fixture
def pipe() -> Iterator[tuple[int, LineWriter]]:
    """The end to read from, and a writer to the other."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream:
        yield reader, LineWriter(stream)
    os.close(reader)


def test_lines_come_in_order(pipe: tuple[int, LineWriter]) -> None:
    """All that was put before the flush has been written after it."""
    reader, lines = pipe
    for number in range(100):
        lines.put(f"line {number}")
    lines.flush(20)
    assert os.read(reader, 10_000).decode().splitlines() == [f"line {number}" for number in range(100)]


def test_what_nobody_reads_is_bounded_and_counted(pipe: tuple[int, LineWriter]) -> None:
    """The line that finds room again tells how many did not."""
    reader, lines = pipe
    count = 4 * MAX_WAITING_BYTES // 1001
    for number in range(count):
        lines.put(f"{number:06}".ljust(1000))
    lines.flush(0)  # does not wait for a reader
    read = b""
    while b"lost" not in read:
        read += os.read(reader, 1 << 20)
        lines.put("again")
    read += drained(reader, lines)
    written = [line for line in read.decode().splitlines() if line[:6].isdigit() and "lost" not in line]
    lost = sum(
        int(line.split()[0])
        for line in read.decode().splitlines()
        if line.endswith(" lines lost: the reader was too slow")
    )
    assert len(written) < count / 2
    assert len(written) + lost >= count


def drained(reader: int, lines: LineWriter) -> bytes:
    """What is read until all that waits is written."""
    ending, read = threading.Thread(target=lines.flush, args=(20,)), b""
    ending.start()
    while ending.is_alive() or select.select([reader], [], [], 0)[0]:
        if select.select([reader], [], [], 0.05)[0]:
            read += os.read(reader, 1 << 20)
    return read


def test_nowhere_to_write_is_no_error() -> None:
    """A closed descriptor is None for Python; a pipe without a reader breaks."""
    nowhere = LineWriter(None)
    nowhere.put("x")
    nowhere.flush(20)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        broken = LineWriter(stream)
        broken.put("x")
        broken.put("y")
        broken.flush(20)
        assert not broken._lines


def test_a_record_is_one_line_and_a_traceback_is_indented(pipe: tuple[int, LineWriter]) -> None:
    """What a client sent cannot look like a record of its own."""
    reader, lines = pipe
    handler = LineHandler(lines)
    try:
        raise ValueError("bad\n2026 ERROR forged\x1b[31m")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    handler.emit(logging.LogRecord("fakebroker", logging.ERROR, "", 0, "a\nb %s", ("\x1b",), info))
    lines.flush(20)
    first, *rest = os.read(reader, 10_000).decode().splitlines()
    assert first.endswith(r" ERROR a\nb \x1b")
    assert all(line.startswith("  ") for line in rest)
    assert rest[-1] == r"  2026 ERROR forged\x1b[31m"
