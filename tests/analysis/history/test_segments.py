"""Log segments: every format, codec and marker is read; what recovery would cut off is a reject with its byte."""

from pathlib import Path
from struct import pack_into

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject
from fakebroker.analysis.history.segments import read_batch, read_segment
from fakebroker.protocol.records.batch import build_batch, parse_header, read_records
from fakebroker.protocol.records.message_set import build_message_set
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.rewrite import rebuild
from tests.analysis.history.samples import AT_MS, KEY, batch, commits, marker, segment, value

WEST = LogFile(Path("x.log"), 3, "west")


def read(path: Path) -> list[LogRecord | Reject]:
    return list(read_segment(LogFile(path, 3, "west")))


def offsets(found: list[LogRecord | Reject]) -> list[int]:
    return [each.log_offset for each in found if isinstance(each, LogRecord)]


def rejects(found: list[LogRecord | Reject]) -> list[tuple[int, int | None, str]]:
    return [(each.position, each.log_offset, each.reason) for each in found if isinstance(each, Reject)]


def test_a_record_says_where_it_stands(tmp_path: Path) -> None:
    """Each record has its offset and time, and the first byte of its batch."""
    first, second = batch(0, 2), batch(2, 1)
    path = segment(tmp_path, first + second)

    assert read(path) == [
        LogRecord("west", str(path), position, 3, offset, AT_MS + n, KEY, value(n))
        for position, offset, n in ((0, 0, 0), (0, 1, 1), (len(first), 2, 0))
    ]


@pytest.mark.rules("RB-3", "RC-4")
@pytest.mark.parametrize("codec", range(5))
def test_every_codec(tmp_path: Path, codec: int) -> None:
    """Batches are unpacked whatever they were packed with."""
    assert offsets(read(segment(tmp_path, batch(4, 30, codec=codec)))) == list(range(4, 34))


@pytest.mark.rules("MS-6", "MS-8")
@pytest.mark.parametrize(("magic", "codec"), [(magic, codec) for magic in (0, 1) for codec in range(4)])
def test_old_formats(tmp_path: Path, magic: int, codec: int) -> None:
    """Messages of formats 0 and 1 are records, too; those of format 0 have no time."""
    path = segment(tmp_path, build_message_set(commits(7, 3), magic, codec=codec) + batch(10, 1))
    found = [each for each in read(path) if isinstance(each, LogRecord)]

    assert offsets(read(path)) == [7, 8, 9, 10]
    assert [each.at_ms for each in found[:3]] == [AT_MS + n if magic else None for n in range(3)]
    assert [each.value for each in found[:3]] == [value(n) for n in range(3)]


@pytest.mark.rules("RC-3")
def test_transactions_and_markers(tmp_path: Path) -> None:
    """Records of a transaction and its marker name the producer; no other record does."""
    data = batch(0, 1, transactional=True, producer_id=7, producer_epoch=2, base_sequence=0)
    path = segment(tmp_path, data + marker(1, 7, 2, commit=True) + marker(2, 7, 2, commit=False) + batch(3, 1))
    found = [each for each in read(path) if isinstance(each, LogRecord)]

    assert [(each.is_transactional, each.producer_id, each.producer_epoch, each.control) for each in found] == [
        (True, 7, 2, None),
        (True, 7, 2, "commit"),
        (True, 7, 2, "abort"),
        (False, None, None, None),
    ]


def test_a_control_record_of_a_later_release(tmp_path: Path) -> None:
    """A control record that is no marker of a transaction is kept as unknown."""
    record = Record(0, AT_MS, bytes.fromhex("00000063"), b"")
    (found,) = read(segment(tmp_path, build_batch([record], control=True)))

    assert isinstance(found, LogRecord)
    assert found.control == "unknown"


@pytest.mark.rules("CO-3")
def test_gaps_of_compaction(tmp_path: Path) -> None:
    """Batches that compaction left with fewer records, or none, keep the offsets of those that are left."""
    whole = batch(0, 5)
    header = parse_header(whole)
    some = rebuild(header, [record for record in read_records(whole) if record.offset in (1, 4)])
    none = rebuild(header._replace(base_offset=5), [], last_offset_delta=4)

    assert offsets(read(segment(tmp_path, some + none + batch(20, 1)))) == [1, 4, 20]


def test_log_append_time(tmp_path: Path) -> None:
    """Where the broker sets the time it is that of every record."""
    found = read(segment(tmp_path, batch(0, 2, log_append_time_ms=AT_MS + 99)))

    assert [each.at_ms for each in found if isinstance(each, LogRecord)] == [AT_MS + 99] * 2


@pytest.mark.parametrize("size", [0, 100, 2 << 20])
def test_zeros_at_the_end(tmp_path: Path, size: int) -> None:
    """A file that was allocated in advance ends in zeros, which are nothing."""
    found = read(segment(tmp_path, batch(0, 2) + bytes(size)))

    assert (offsets(found), rejects(found)) == ([0, 1], [])


@pytest.mark.parametrize("kept", [8, 11, 16, 17, 60, 100])
def test_a_torn_end(tmp_path: Path, kept: int) -> None:
    """A batch that the file does not hold as a whole is a reject; those before it are read."""
    first = batch(0, 2)
    found = read(segment(tmp_path, first + batch(2, 2)[:kept]))

    assert offsets(found) == [0, 1]
    ((position, _, reason),) = rejects(found)
    assert position == len(first)
    assert reason.startswith("the file is truncated in a batch: ")


def test_a_wrong_checksum(tmp_path: Path) -> None:
    """A batch whose bytes have changed is a reject with its offset, and reading goes on behind it."""
    damaged = bytearray(batch(2, 2))
    damaged[-1] ^= 1
    first = batch(0, 2)
    found = read(segment(tmp_path, first + bytes(damaged) + batch(4, 1)))

    assert offsets(found) == [0, 1, 4]
    ((position, offset, reason),) = rejects(found)
    assert (position, offset) == (len(first), 2)
    assert "checksum" in reason


def test_a_wrong_checksum_of_an_old_message(tmp_path: Path) -> None:
    """The same holds for formats 0 and 1."""
    damaged = bytearray(build_message_set(commits(0, 1), 1))
    damaged[-1] ^= 1
    found = read(segment(tmp_path, bytes(damaged) + batch(1, 1)))

    assert offsets(found) == [1]
    assert [(position, offset) for position, offset, _ in rejects(found)] == [(0, 0)]


def test_garbage(tmp_path: Path) -> None:
    """Bytes that are no batch end the reading of the file: one reject that says how many are left."""
    first = batch(0, 1)
    found = read(segment(tmp_path, first + b"\xff" * 500 + batch(1, 1)))

    assert offsets(found) == [0]
    ((position, _, reason),) = rejects(found)
    assert position == len(first)
    assert reason == f"no batch begins here; the last {500 + len(batch(1, 1))} bytes of the file are skipped"


def test_a_negative_offset(tmp_path: Path) -> None:
    """The checksum does not cover the offset: one that cannot be is a reject."""
    damaged = bytearray(batch(0, 1))
    pack_into(">q", damaged, 0, -5)
    found = read(segment(tmp_path, bytes(damaged)))

    assert rejects(found) == [(0, None, "the batch has offset -5")]


@given(st.data())
def test_no_bytes_raise(data: st.DataObject) -> None:
    """Whatever was changed in a batch, it gives records or a reject."""
    codec = data.draw(st.integers(0, 4))
    magic = data.draw(st.sampled_from([1, 2]))
    good = batch(0, 3, codec=codec) if magic == 2 else build_message_set(commits(0, 3), 1, codec=min(codec, 3))
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(0, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(changed[: data.draw(st.integers(17, len(changed)))])

    found = list(read_batch(WEST, 0, cut))

    assert found
    assert all(isinstance(each, (LogRecord, Reject)) for each in found)
