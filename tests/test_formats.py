"""Each file format carries a version. A file of a version that is not read is refused with the one that is."""

import json
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker, VirtualBroker
from fakebroker.analysis.pipeline.publish import MANIFEST, Published
from fakebroker.broker.release import RELEASES
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.dialogue.script import read_dialogue
from fakebroker.scenarios.language.reading import read_scenario
from fakebroker.testing.exchanges.reading import read_session
from fakebroker.testing.journal.saved import load
from fakebroker.testing.snapshot.file_format import MAGIC
from fakebroker.testing.snapshot.snapshot import Snapshot
from tools.public_names.formats import FORMATS
from tools.stages import ROOT

VERSIONS = ROOT / "docs/reference/versions.md"
OTHER = 7  # a version of none of the formats


def a_snapshot(folder: Path) -> Path:
    path = folder / "state.snapshot"
    with VirtualBroker() as broker:
        broker.snapshot().save(path)
    content = bytearray(path.read_bytes())
    struct.pack_into(">I", content, len(MAGIC), OTHER)
    path.write_bytes(content)
    return path


def a_file(file: str, **line: Any) -> Callable[[Path], Path]:
    def written(folder: Path) -> Path:
        path = folder / file
        path.write_text(json.dumps({"schema_version": OTHER, **line}) + "\n")
        return path

    return written


def a_manifest(folder: Path) -> Path:
    (folder / MANIFEST).write_text(json.dumps({"manifest_version": OTHER, "tables": {}}))
    return folder


def a_data_directory(folder: Path) -> Path:
    (folder / "meta.properties").write_text(f"version={OTHER}\ncluster.id=c\nnode.id=1\n")
    return folder


def read_lines_of(read: Callable[[Path], Iterator[Any]]) -> Callable[[Path], object]:
    return lambda path: list(read(path))


READERS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], object], str]] = {
    "snapshot": (a_snapshot, Snapshot.load, "has format 7; this fakebroker reads formats up to 1"),
    "session": (
        a_file("s.jsonl", kind="session", fakebroker="9.1"),
        read_lines_of(read_session),
        ":1: schema_version is 7, written by fakebroker 9.1; this fakebroker reads 2",
    ),
    "dialogue": (
        a_file("d.jsonl", kind="dialogue", name="d"),
        read_dialogue,
        ":1: schema_version is 7; this fakebroker reads 2",
    ),
    "journal": (a_file("j.jsonl", kind="request"), load, ":1: schema_version is 7; this fakebroker reads 1"),
    "scenario": (
        a_file("s.yaml", abuot="a key that only version 7 has", timeline=[]),
        read_scenario,
        "schema_version: should be 1, the version of scenarios that this fakebroker reads, not 7",
    ),
    "pipeline tables": (a_manifest, Published, "is of another version of fakebroker: manifest_version is 7, not 1"),
    "data directory": (
        a_data_directory,
        lambda path: FakeBroker(data=path).start(),
        "it has version 7; only version 1",
    ),
}


def test_every_format_is_tested_and_on_the_page() -> None:
    """The formats of docs/reference/versions.md are those of this test, with their versions."""
    assert [each.name for each in FORMATS] == list(READERS)
    page = VERSIONS.read_text()
    rows = [line for line in page.splitlines() if re.match(r"\| [a-z ]+ \| \d+ \|", line)]
    assert rows == [each.row for each in FORMATS]


def test_the_page_names_the_pythons_and_the_kafkas() -> None:
    """Those of pyproject.toml, and the releases that are served."""
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    page = VERSIONS.read_text()
    assert f"{', '.join(named[:-1])} and {named[-1]}, CPython" in page
    assert f"{len(RELEASES)} releases, from {RELEASES[0]} to {RELEASES[-1]}." in page


@pytest.mark.parametrize("name", READERS)
def test_an_unknown_version_is_a_clear_error(name: str, tmp_path: Path) -> None:
    """One problem: the version that the file has, and the version that is read."""
    write, read, message = READERS[name]
    path = write(tmp_path)
    with pytest.raises(FakebrokerError) as raised:
        read(path)
    assert message in str(raised.value)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
