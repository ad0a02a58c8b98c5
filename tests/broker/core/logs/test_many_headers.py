"""Records with very many headers: two bytes of a batch each, and less when it is compressed."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from fakebroker.broker.core.logs.appends import AppendError, check_batch
from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.protocol.records.batch import build_batch, parse_header, read_records
from fakebroker.protocol.records.conversion import mark_old_format, message_set_from_batch
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.record_codec import Header, Record
from fakebroker.protocol.records.record_scan import scan
from fakebroker.protocol.records.rewrite import cut_batch
from tests.support.logs import DAY_MS, NOW, LogsCluster
from tests.support.time import T0
from tests.support.work_counter import calls_of

RECORDS = 50
HEADERS = 1_000
CALLS_OF_A_RECORD = 100  # some 20 are needed; decoding the headers takes four for each


def with_headers(count: int, key: bytes | None = None, time_ms: int = T0) -> bytes:
    """A batch of records that have `count` headers each."""
    headers: list[Header] = [(b"", None)] * count
    return build_batch([Record(n, time_ms, key, b"v", headers) for n in range(RECORDS)], codec=1)


def checked(data: bytes, **config: object) -> bytes:
    """The batch as it is stored; its scan, which goes in steps by the number of headers, is made beforehand."""
    seen = scan(data)
    counted: list[bytes] = []

    def check() -> None:
        with suppress(AppendError):
            counted.append(check_batch(data, LogConfig(**config), "t-0", NOW.wall_ms, lambda *_: seen).data)  # type: ignore[arg-type]

    bounded(check)
    return counted[0] if counted else b""


def bounded(work: Callable[[], object]) -> None:
    """Do the work, which may make so many calls for each record."""
    assert calls_of(work) < RECORDS * CALLS_OF_A_RECORD


def test_records_that_are_refused() -> None:
    """Each is named, for its time or for want of a key; its headers are not read for that."""
    assert not checked(with_headers(HEADERS, time_ms=T0 + 2 * DAY_MS))
    assert not checked(with_headers(HEADERS), compact=True)


@pytest.mark.rules("PD-22")
def test_records_that_are_recompressed() -> None:
    """Their headers are copied as they are."""
    sent = with_headers(HEADERS)
    stored = checked(sent, compression_type="lz4")
    assert parse_header(stored).codec == 3
    assert list(read_records(stored)) == list(read_records(sent))


def test_records_that_are_cut_off() -> None:
    """What stays of a batch that is truncated keeps its headers."""
    sent = with_headers(HEADERS)
    kept: list[bytes | None] = []
    bounded(lambda: kept.append(cut_batch(sent, RECORDS - 1)))
    assert kept[0] is not None
    assert list(read_records(kept[0])) == list(read_records(sent))[:-1]


@pytest.mark.rules("MS-9")
@pytest.mark.parametrize("magic", [0, 1])
def test_records_for_old_formats(magic: int) -> None:
    """The formats 0 and 1 have no headers: an old fetch gets records without, and an old topic refuses them."""
    sent = with_headers(HEADERS)
    sets: list[bytes] = []
    bounded(lambda: sets.append(message_set_from_batch(sent, magic)))
    assert sets == [message_set_from_batch(with_headers(0), magic)]

    def mark() -> None:
        with pytest.raises(InvalidRecord, match="does not support headers"):
            mark_old_format(sent, magic)

    bounded(mark)


@pytest.mark.rules("CO-1")
def test_records_that_are_compacted() -> None:
    """A pass takes no longer for headers; the records that stay keep them."""
    lab = LogsCluster()
    log = lab.log(cleanup_policy="compact", segment_ms=DAY_MS, retention_ms=-1, min_cleanable_dirty_ratio=0.001)
    log.append(with_headers(HEADERS, b"k", T0 - 2 * DAY_MS), lab.now)
    lab.append(log, T0)  # in a segment of its own
    bounded(lambda: lab.wait(15_000))
    kept = next(log.records())
    assert (kept.key, kept.offset, len(kept.headers)) == (b"k", RECORDS - 1, HEADERS)
