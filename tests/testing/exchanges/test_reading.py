"""Reading files of lines: cut off or wrong lines are reported, memory is bounded."""

import json
import logging
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakebroker.testing.exchanges import reading
from fakebroker.testing.exchanges.reading import UnreadableFile, read_lines, read_session
from tests.testing.exchanges.sessions import CONNECT, HEAD, exchanged, lines_in, saved


def problem(path: Path) -> str:
    with pytest.raises(UnreadableFile) as found:
        list(read_session(path))
    return str(found.value)


def test_a_cut_off_last_line_is_reported_and_what_came_before_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A recording that was killed in the middle of a line is read up to there, and somebody is informed."""
    path = saved(tmp_path / "s", HEAD, CONNECT)
    path.write_text(path.read_text() + json.dumps(exchanged())[:50])
    notes: list[str] = []

    assert list(read_session(path, notes.append)) == [(1, HEAD), (2, CONNECT)]
    assert notes == [f"{path}:3: the last line was cut off after 50 bytes; what came before is used"]
    with caplog.at_level(logging.WARNING, "fakebroker"):
        assert lines_in(path) == [HEAD, CONNECT]
    assert "was cut off" in caplog.text


def test_a_whole_last_line_without_its_end_is_read(tmp_path: Path) -> None:
    """Editors leave out the last line's end."""
    path = saved(tmp_path / "s", HEAD, CONNECT)
    path.write_text(path.read_text().rstrip("\n"))

    assert lines_in(path) == [HEAD, CONNECT]


def test_a_line_that_is_being_written_ends_the_session_for_now(tmp_path: Path) -> None:
    """Its end may come right after it was read: that is no line of its own."""
    path = saved(tmp_path / "s", HEAD, CONNECT)
    path.write_text(path.read_text().rstrip("\n"))

    lines = read_session(path)
    assert [next(lines), next(lines)] == [(1, HEAD), (2, CONNECT)]
    with path.open("a") as file:
        file.write("\n")
    assert list(lines) == []
    assert lines_in(path) == [HEAD, CONNECT]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "1: the file is empty"),
        (["no json"], "1: not JSON: "),
        (["", HEAD, "[1]"], "3: a line is a JSON object, not list"),
        (["[1]"], "1: a line is a JSON object, not list"),
        ([CONNECT], "1: a session begins with a line of the kind session"),
        ([HEAD, HEAD], "2: a second line of the kind session"),
        ([HEAD, {"kind": "reqest"}], "2: there is no kind 'reqest'; did you mean 'request'?"),
        ([HEAD, {"kind": ["request"]}], "2: there is no kind ['request']"),
        ([HEAD, {"kind": "connect", "at_ms": 3, "connection": 1}], "2: node is missing"),
        ([HEAD, exchanged(connection="1")], "2: connection is '1', not an integer"),
        ([HEAD, exchanged(version=True)], "2: version is True, not an integer or null"),
        ([HEAD, exchanged(message=[1])], "2: message is [1], not an object"),
        ([HEAD, "{", CONNECT], "2: not JSON: "),
        ([HEAD, '{"a":' * 100_000], "2: not JSON: nested too deeply"),
        ([HEAD, {**CONNECT, "at_ms": 2**63}], "2: at_ms is 9223372036854775808, not from 0 to a year"),
        ([HEAD, {**CONNECT, "at_ms": -1e308}], "2: at_ms is -1e+308, not from 0 to a year"),
        ([HEAD, {**CONNECT, "at_ms": float("nan")}], "2: at_ms is nan, not from 0 to a year"),
        ([{**HEAD, "schema_version": 1}], "1: schema_version is 1, written by fakebroker 0.1; this fakebroker reads 2"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, lines: list[Any], expected: str) -> None:
    """The message says file and line, and what is wrong there."""
    path = saved(tmp_path / "s", *lines)

    assert problem(path).startswith(f"{path}:{expected}")


def test_a_file_that_is_no_session_is_named(tmp_path: Path) -> None:
    """Binary data without a line's end is not read to its end, and a folder or a missing file is reported."""
    path = tmp_path / "s"
    path.write_bytes(b"\0" * 3_000_000)

    assert problem(path).startswith(f"{path}:1: not JSON: ")
    assert problem(tmp_path) == f"{tmp_path}: it cannot be read: Is a directory"
    assert problem(tmp_path / "none") == f"{tmp_path / 'none'}: it cannot be read: No such file or directory"


def test_a_file_of_100_mb_is_read_with_little_memory(tmp_path: Path) -> None:
    """Reading holds one line at a time, however long the file."""
    path = tmp_path / "s"
    line = json.dumps(exchanged(hex="ab" * 100_000)) + "\n"
    with path.open("w") as file:
        file.write(json.dumps(HEAD) + "\n")
        file.writelines(line for _ in range(500))
    assert path.stat().st_size > 100_000_000

    def count(lines: Iterator[Any]) -> int:
        return sum(1 for _ in lines)

    tracemalloc.start()
    try:
        assert count(read_session(path)) == 501
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_line_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without an end is read up to the limit."""
    path = saved(tmp_path / "s", HEAD, exchanged(hex="00" * 1000))
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 500)

    with pytest.raises(UnreadableFile, match="s:2: a line of more than 500 bytes"):
        list(read_lines(path))
