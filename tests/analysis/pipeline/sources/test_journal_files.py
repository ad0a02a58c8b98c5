"""Journals from files: which files, which lines, and what becomes of bad ones."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.pipeline.sources import journal_files as reading
from fakebroker.analysis.pipeline.sources.journal_files import (
    Span,
    journal_files,
    journal_lines,
    read_journals,
    spans_of,
)
from fakebroker.analysis.pipeline.sources.journal_line import Line, parse_line
from fakebroker.analysis.pipeline.tables.journal_rejects import CONTRADICTION
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.exchanges.writing import line_of
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.analysis.pipeline.bad_journals import BAD_LINES, event, write_bad_journals


def test_a_brokers_journal_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Every line of a journal is an event with its columns, decoded messages as JSON text; there are no rejects."""
    with VirtualBroker() as broker:
        client = broker.client("a")
        client.join("billing", ["orders"])
        client.sync({client.member_id: {"orders": [0]}})
        client.commit({("orders", 0): 42}, metadata="é")
        broker.journal.save(tmp_path / "run.jsonl")
    written = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text("utf-8").splitlines()]

    events, rejects = read_journals([tmp_path])

    assert rejects == []
    assert [row["line"] for row in events] == list(range(1, len(written) + 1))
    assert [
        {name: _plain(name, row[name]) for name in line} for row, line in zip(events, written, strict=True)
    ] == written


def _plain(name: str, value: Any) -> Any:
    return json.loads(value) if name in ("request", "response", "settings") and value is not None else value


def test_folders_are_read_with_all_that_is_in_them(tmp_path: Path) -> None:
    """Of a folder those files are journals that are named so, in its folders, too; each once, in order."""
    names = ["a/2.jsonl", "a/b/1.jsonl.open", "a/1.jsonl.gz", "a/notes.txt", "a/x.jsonl.tmp"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")

    found = journal_files([tmp_path, tmp_path / "a", tmp_path / "a" / "notes.txt"])

    assert [str(path.relative_to(tmp_path)) for path in found] == [names[2], names[0], names[1], names[3]]


def test_a_path_without_anything_is_an_error(tmp_path: Path) -> None:
    """A path where there is no file or folder is named in the error."""
    with pytest.raises(InvalidArgument, match=r"no journal found at '.*nothing'"):
        read_journals([tmp_path / "nothing"])


def test_each_bad_line_is_a_reject_that_says_what_is_wrong(tmp_path: Path) -> None:
    """A bad line costs nothing but itself; its reject names the file, the line and the reason."""
    write_bad_journals(tmp_path)

    events, rejects = read_journals([tmp_path])

    rejected = [(Path(row["file"]).name, row["position"], row["reason"]) for row in rejects]
    for number, (data, reason) in enumerate(BAD_LINES, 2):
        (found,) = [each for name, position, each in rejected if (name, position) == ("bad.jsonl", number)]
        assert reason in found, data
    assert [row["seq"] for row in events] == [0, 1, 2, 3, 4, 5]
    assert [(name, position) for name, position, _ in rejected if name != "bad.jsonl"] == [
        ("cut.jsonl.gz", 2),
        ("no_gzip.jsonl.gz", 1),
        ("other.jsonl", 2),
        ("torn.jsonl.open", 2),
    ]
    assert {row["source"] for row in rejects if row["reason"] == CONTRADICTION} == {"run"}


def test_a_file_that_cannot_be_read_is_a_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other files are read all the same."""
    (tmp_path / "a.jsonl").write_bytes(line_of(event(0)))
    (tmp_path / "b.jsonl").write_bytes(line_of(event(1)))
    real_open = Path.open

    def refuse(path: Path, *args: Any) -> Any:
        if path.name == "a.jsonl":
            raise PermissionError(13, "Permission denied")
        return real_open(path, *args)

    monkeypatch.setattr(Path, "open", refuse)

    events, (reject,) = read_journals([tmp_path])

    assert [row["seq"] for row in events] == [1]
    assert (reject["position"], reject["reason"]) == (0, "the file cannot be read: Permission denied")


def test_what_comes_again_changes_nothing(tmp_path: Path) -> None:
    """A file that is there twice, under another name, compressed or in part, adds no event and no reject."""
    lines = [line_of(event(seq)) for seq in range(5)]
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines))
    once = read_journals([tmp_path])
    (tmp_path / "b.jsonl").write_bytes(b"".join(reversed(lines)))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[2:])))

    assert read_journals([tmp_path]) == once


def test_kinds_and_columns_of_newer_brokers_are_no_rejects(tmp_path: Path) -> None:
    """A kind that nobody knows yet is an event with the columns that are known; unknown columns are left out."""
    newer = {**event(0), "kind": "moon_phase", "phase": "full", "topic": "orders"}
    (tmp_path / "a.jsonl").write_bytes(line_of(newer))

    (row,), rejects = read_journals([tmp_path])

    assert rejects == []
    assert (row["kind"], row["topic"], "phase" in row) == ("moon_phase", "orders", False)


def test_text_that_no_table_can_have_is_kept_as_its_escapes(tmp_path: Path) -> None:
    """A client id of bytes that are not UTF-8 is written as escapes, and stays so."""
    (tmp_path / "a.jsonl").write_bytes(line_of({**event(0), "client": "a\udc80"}))

    (row,), _ = read_journals([tmp_path])

    assert row["client"] == "a\\udc80"


JSON = st.recursive(st.none() | st.integers() | st.text() | st.booleans(), st.lists, max_leaves=5)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_whatever_stands_in_a_line(data: bytes) -> None:
    """No line raises anything, and what is no event can be stored with its reason."""
    row = parse_line(Line("f", 1, data))

    assert "reject_reason" in row
    assert json.dumps(row, ensure_ascii=False).encode()


@given(st.sampled_from(sorted(event(0))), st.none() | st.integers() | st.text() | st.lists(st.integers()) | st.floats())
def test_whatever_stands_in_a_column(name: str, value: Any) -> None:
    """A line with another value somewhere is an event that tables can have, or a reject."""
    row = parse_line(Line("f", 1, line_of({**event(0), name: value}).rstrip()))

    assert "reject_reason" in row or row.get(name) == value or isinstance(value, str)
    assert json.dumps(row, ensure_ascii=False).encode()


LINES = st.lists(st.sampled_from([line_of(event(0)), line_of(event(1)), b"no JSON\n", b"\n", b"\xff\n"]), max_size=12)


@given(LINES, st.booleans(), st.integers(1, 400), st.integers(1, 200))
def test_a_file_in_spans_has_the_lines_of_the_whole(
    lines: list[bytes], is_ended: bool, span_bytes: int, read_bytes: int
) -> None:
    """Wherever it is cut, each line comes once, with its number."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_READ_BYTES", read_bytes)
        file = Path(folder) / "a.jsonl"
        file.write_bytes(b"".join(lines)[: None if is_ended else -1])
        spans = spans_of(file, span_bytes)

        assert list(journal_lines(spans)) == list(journal_lines([Span(file)]))
        assert [each.end for each in spans[:-1]] == [each.start for each in spans[1:]]


def test_a_packed_file_is_one_span(tmp_path: Path) -> None:
    """Only who unpacks it knows where its lines are."""
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(b"".join(line_of(event(seq)) for seq in range(50)), mtime=0))

    assert [each.is_whole for each in spans_of(file, span_bytes=10)] == [True]
    assert len(list(journal_lines(spans_of(file, span_bytes=10)))) == 50
