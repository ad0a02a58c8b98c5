"""Paths of histories: which files they name, what each is, and clear errors where there is nothing to read."""

import json
import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from fakebroker.analysis.history.reading import HistoryError, HistoryFile, files_of, read_history
from tests.analysis.history.samples import KEY, batch, segment, value


def line(offset: int = 0) -> str:
    row = {"key": b64encode(KEY).decode(), "value": b64encode(value(offset)).decode(), "partition": 3, "offset": offset}
    return json.dumps(row) + "\n"


def test_a_data_directory(tmp_path: Path) -> None:
    """Only segments of the log are read, by partition and base offset; indexes and deleted replicas are not."""
    third = segment(tmp_path, batch(0, 1), partition=10)
    second = segment(tmp_path, batch(100, 1), partition=2, base_offset=100)
    first = segment(tmp_path, batch(9, 1), partition=2, base_offset=9)
    for name in ("00000000000000000009.index", "00000000000000000009.timeindex", "leader-epoch-checkpoint"):
        (first.parent / name).write_bytes(bytes(20))
    (first.parent / "00000000000000000001.log.deleted").write_bytes(batch(1, 1))
    for folder in ("orders-0", "__consumer_offsets-2.0123abcd-delete"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / first.name).write_bytes(batch(0, 1))

    assert files_of([tmp_path]) == [
        HistoryFile(first, "segment", 2),
        HistoryFile(second, "segment", 2),
        HistoryFile(third, "segment", 10),
    ]


def test_files_patterns_and_folders(tmp_path: Path) -> None:
    """A file that several paths name is read once."""
    path = segment(tmp_path, batch(0, 1))
    lines = tmp_path / "sink" / "part-0.jsonl"
    lines.parent.mkdir()
    lines.write_text(line())
    (lines.parent / "_SUCCESS").write_text("")

    paths: list[str | Path] = [
        path,
        path.parent,
        str(tmp_path / "*offsets*" / "*.log"),
        lines.parent,
        str(tmp_path / "**" / "*.jsonl"),
    ]

    assert [file.path for file in files_of(paths)] == [path, lines]


@pytest.mark.parametrize(("name", "kind"), [("dump", "json"), ("dump.txt", "json"), ("dump.json.gz", "json")])
def test_what_a_file_is_by_its_first_bytes(tmp_path: Path, name: str, kind: str) -> None:
    """A name that says nothing does not matter."""
    (tmp_path / name).write_text(line())

    assert files_of([tmp_path / name]) == [HistoryFile(tmp_path / name, "json", None)]


def test_the_partition_of_a_sink_s_folder(tmp_path: Path) -> None:
    """Folders as sinks for object stores make them tell the partition."""
    path = tmp_path / "topics" / "__consumer_offsets" / "partition=12" / "x.json"
    path.parent.mkdir(parents=True)
    path.write_text(line())

    assert files_of([tmp_path]) == [HistoryFile(path, "json", 12)]


def test_nothing_to_read(tmp_path: Path) -> None:
    """Each path that names no history is an error that says why."""
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "notes").write_bytes(b"hello")
    (tmp_path / "00000000000000000000.log").write_bytes(batch(0, 1))
    (tmp_path / "folder").mkdir()

    for path, reason in {
        tmp_path / "missing": "no such file or folder",
        tmp_path / "empty": "the file is empty",
        tmp_path / "notes": "not a log segment, JSON lines or Parquet",
        tmp_path / "00000000000000000000.log": "must be in a folder __consumer_offsets-N",
        tmp_path / "folder": "no log segments of __consumer_offsets, JSON lines or Parquet found",
        tmp_path / "*.parquet": "no file matches",
    }.items():
        with pytest.raises(HistoryError, match=reason) as error:
            files_of([path])
        assert str(path) in str(error.value)
    with pytest.raises(HistoryError, match="no path given"):
        files_of([])


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """What it is is found by reading, and what was read of a pipe is gone: it would give too little in silence."""
    reading, writing = os.pipe()
    os.write(writing, line().encode())
    os.close(writing)
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "x.jsonl").write_text(line())

    with pytest.raises(HistoryError, match="neither a file nor a folder"):
        files_of([f"/dev/fd/{reading}"])
    assert [file.path.name for file in files_of([tmp_path])] == ["x.jsonl"]
    os.close(reading)


def test_links_that_lead_back_are_not_followed(tmp_path: Path) -> None:
    """Two of them would lead to the same folder on more ways than anybody can go; other links are followed."""
    path = segment(tmp_path / "data", batch(0, 1))
    for number in range(3):
        (path.parent / f"back-{number}").symlink_to(tmp_path / "data" if number else path.parent)
    (tmp_path / "linked").symlink_to(tmp_path / "data")

    assert [file.path.resolve() for file in files_of([tmp_path / "linked"])] == [path]


def test_files_elsewhere_are_refused() -> None:
    """An address is no path of this machine: the error names the engine that reads it."""
    with pytest.raises(HistoryError, match=r"s3a://bucket/x: only .* --engine spark. reads other file systems"):
        files_of(["s3a://bucket/x"])


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    """A file whose name is not UTF-8 has no place in a table: an error shows it."""
    path = tmp_path / os.fsdecode(b"\xff.json")
    path.write_text(line())

    with pytest.raises(HistoryError, match=r"udcff\.json': the name of the file is not UTF-8"):
        files_of([tmp_path])


def test_the_rows_of_all_files(tmp_path: Path) -> None:
    """Those of a file stand together, what cannot be read where it was found."""
    segment(tmp_path, batch(0, 3) + batch(3, 2)[:50], partition=0)
    segment(tmp_path, batch(0, 3) + batch(3, 2)[:60], partition=1)

    rows = list(read_history([tmp_path], source="west"))

    assert [row["what"] for row in rows] == ["commit"] * 3 + ["reject"] + ["commit"] * 3 + ["reject"]
    assert {row["source"] for row in rows} == {"west"}


def test_the_source_does_not_depend_on_the_path(tmp_path: Path) -> None:
    """The same log read again from elsewhere is the same log."""
    path = segment(tmp_path, batch(0, 1))

    assert {row["source"] for row in read_history([path])} == {"__consumer_offsets"}


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    """A file that goes away is a reject; the others are read."""
    gone = segment(tmp_path, batch(0, 1), partition=0)
    segment(tmp_path, batch(0, 1), partition=1)
    history = read_history([tmp_path])
    gone.unlink()

    bad, good = history

    assert (bad["what"], bad["file"], bad["log_partition"]) == ("reject", str(gone), 0)
    assert "cannot be read" in bad["reason"]
    assert good["what"] == "commit"


def test_no_file_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error before anything begins: no table without rows takes the place of one that has some."""
    paths: list[str | Path] = [segment(tmp_path / "data", batch(0, 1), partition=n) for n in (1, 2)]
    closed = set(paths)
    opened = Path.open

    def open_(path: Path, *arguments: Any, **options: Any) -> Any:
        if path in closed:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", open_)
    with pytest.raises(HistoryError, match=r"_offsets-1/0+\.log: the file cannot be read: Permission denied"):
        files_of([tmp_path])
    closed.remove(paths[1])
    assert [row["what"] for row in read_history([tmp_path])] == ["reject", "commit"]
