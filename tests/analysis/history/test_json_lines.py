"""JSON lines of sinks: which forms are read, and what becomes of lines that are none."""

import gzip
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.history.json_lines import read_json_lines
from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject
from tests.analysis.history.samples import AT_MS, KEY, value

VALUE = value(5, metadata="\u00ff\u00fe??>")  # its base64 has a character that differs in the URL's alphabet
PLACE = {"partition": 3, "offset": 17, "timestamp": AT_MS}


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def read(path: Path, *rows: Any, log_partition: int | None = None) -> list[LogRecord | Reject]:
    """What is read of a file with these rows."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines))
    return list(read_json_lines(LogFile(path, log_partition, "west")))


def enveloped(payload: Any) -> Any:
    return {"schema": {"type": "bytes", "optional": True}, "payload": payload}


FORMS: dict[str, tuple[Callable[[bytes], Any], dict[str, Any]]] = {
    "base64": (base64, {"topic": "__consumer_offsets", **PLACE}),
    "base64 for URLs": (lambda data: urlsafe_b64encode(data).decode().rstrip("="), PLACE),
    "hexadecimal": (bytes.hex, PLACE),
    "hexadecimal with a prefix": (lambda data: "0x" + data.hex().upper(), PLACE),
    "envelopes of Connect": (lambda data: enveloped(base64(data)), PLACE),
    "time as text": (base64, PLACE | {"timestamp": "2025-10-09T08:53:20.000Z"}),
    "time without a zone": (base64, PLACE | {"timestamp": "2025-10-09T08:53:20"}),
    "a column without a name": (base64, {"": "orders", **PLACE}),
    "numbers as text": (base64, {"partition": "3", "offset": "17", "timestamp": str(AT_MS)}),
    "names of Connect's sinks": (base64, {"kafka_partition": 3, "kafka_offset": 17, "kafka_timestamp": AT_MS}),
    "a mirror": (base64, {"topic": "west.__consumer_offsets", **PLACE}),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(tmp_path: Path, name: str) -> None:
    """Each form gives the same record, with the line it stands in."""
    shown, row = FORMS[name]
    path = tmp_path / "x.json"
    found = read(path, {"key": shown(KEY), "value": shown(VALUE), **row})

    assert found == [LogRecord("west", str(path), 1, 3, 17, AT_MS, KEY, VALUE)]


def test_a_whole_line_in_an_envelope(tmp_path: Path) -> None:
    """The envelope may be around the line, too."""
    (found,) = read(tmp_path / "x.json", {"schema": {}, "payload": {"key": base64(KEY), "value": None, **PLACE}})

    assert isinstance(found, LogRecord)
    assert (found.key, found.value) == (KEY, None)


@pytest.mark.parametrize("row", [{"value": None}, {}])
def test_tombstones(tmp_path: Path, row: dict[str, None]) -> None:
    """A value that is null or left out is a tombstone."""
    (found,) = read(tmp_path / "x.json", {"key": base64(KEY), **PLACE, **row})

    assert isinstance(found, LogRecord)
    assert found.value is None


@pytest.mark.parametrize("none", [-1, "-1", None])
def test_records_without_a_time(tmp_path: Path, none: Any) -> None:
    """-1 is what Kafka writes for none, as a number or as text."""
    (found,) = read(tmp_path / "x.json", GOOD | {"timestamp": none})

    assert isinstance(found, LogRecord)
    assert found.at_ms is None


def test_the_partition_of_the_folder(tmp_path: Path) -> None:
    """Lines need not tell the partition if the folder does; if they do, they are right."""
    row = {"key": base64(KEY), "offset": 17}
    first, second = (
        read(tmp_path / "x.json", row, log_partition=7),
        read(tmp_path / "x.json", {**row, "partition": 1}, log_partition=7),
    )

    assert [each.log_partition for each in first + second] == [7, 1]


def test_a_packed_file(tmp_path: Path) -> None:
    """A file packed by gzip is unpacked; one that was cut gives what is whole of it, and a reject."""
    line = json.dumps({"key": base64(KEY), "value": base64(VALUE), **PLACE}).encode() + b"\n"
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(line) + gzip.compress(line)[:-9])
    whole, *rest = read_json_lines(LogFile(path, None, "west"))

    assert isinstance(whole, LogRecord)
    assert "the file cannot be read after line" in [each.reason for each in rest if isinstance(each, Reject)][-1]


GOOD = {"key": base64(KEY), "value": base64(VALUE), **PLACE}
BAD: dict[str, tuple[Any, str]] = {
    "torn": ('{"key": "AAEA', "the line is not JSON"),
    "not an object": ("[1]", "not a JSON object"),
    "no key": (PLACE, "no column for key"),
    "no columns": ({}, "there is no column for key and offset and partition; the columns are none"),
    "another topic": (GOOD | {"topic": "orders"}, "the record belongs to topic 'orders'"),
    "a negative offset": (GOOD | {"offset": -1}, "the offset is '-1'"),
    "an offset of 65 bits": (GOOD | {"offset": 2**63}, "the offset is"),
    "a partition that is text": (GOOD | {"partition": "three"}, "the partition is 'three'"),
    "an offset of too many digits": (GOOD | {"offset": "0" * 20 + "17"}, "the offset is"),
    "a time that is none": (GOOD | {"timestamp": "yesterday"}, "neither a number of ms nor a time in ISO 8601"),
    "a time that is a list": (GOOD | {"timestamp": []}, "not a number of ms"),
    "a key that is a number": (GOOD | {"key": 5}, "not bytes"),
    "a value that is no base64": (GOOD | {"value": "#"}, "the value is not base64"),
}


@pytest.mark.parametrize("name", BAD)
def test_lines_that_are_no_records(tmp_path: Path, name: str) -> None:
    """Each is a reject with its line; those around it are read."""
    row, reason = BAD[name]
    path = tmp_path / "x.json"
    found = read(path, GOOD, "", row, GOOD)

    assert [each.position for each in found] == [1, 3, 4]
    first, bad, last = found
    assert isinstance(first, LogRecord)
    assert isinstance(last, LogRecord)
    assert isinstance(bad, Reject)
    assert reason in bad.reason


def test_lines_need_not_have_the_same_columns(tmp_path: Path) -> None:
    """Sinks leave nulls out: what one line lacks, the next may have."""
    found = read(tmp_path / "x.json", {"key": base64(KEY), "partition": 3, "offset": 16}, GOOD)

    assert [(each.value, each.at_ms) for each in found if isinstance(each, LogRecord)] == [(None, None), (VALUE, AT_MS)]


def test_a_first_line_without_columns(tmp_path: Path) -> None:
    """It is a reject like any other."""
    assert [type(each) for each in read(tmp_path / "x.json", {}, GOOD)] == [Reject, LogRecord]


def test_a_file_without_the_columns(tmp_path: Path) -> None:
    """The reject names what is missing and what there is."""
    (found,) = read(tmp_path / "x.json", {"group": "g", "committed": 5})

    assert isinstance(found, Reject)
    assert found.reason == "there is no column for key and offset and partition; the columns are group, committed"


def test_a_key_of_another_form(tmp_path: Path) -> None:
    """Text that is no key of this log tells nothing about the form of bytes: the line is a reject."""
    (found,) = read(tmp_path / "x.json", GOOD | {"key": "billing"})

    assert isinstance(found, Reject)
    assert "neither hexadecimal nor base64" in found.reason


def test_forms_do_not_change_within_a_file(tmp_path: Path) -> None:
    """The first key decides; base64 after hexadecimal is a reject and not a guess."""
    _, second = read(tmp_path / "x.json", {"key": KEY.hex(), **PLACE}, {"key": base64(KEY), **PLACE})

    assert isinstance(second, Reject)


@given(st.lists(st.text(max_size=60) | st.binary(max_size=60).map(base64), max_size=5))
def test_no_lines_raise(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """Whatever stands in a file, there is something for each line that is not blank."""
    path = tmp_path_factory.mktemp("any") / "x.json"
    rows = [json.dumps({"key": text, "value": text, "offset": text, "partition": 0}) for text in texts]
    found = read(path, *rows, *(text.replace("\n", "") for text in texts))

    assert len(found) >= len(texts)
