"""Tests of what is found out about the wrong records of refused batches, and of its bounds."""

import tracemalloc

import pytest

from fakebroker.broker.core.logs import bad_records
from fakebroker.broker.core.logs.appends import AppendError, AppendErrorContent, check_batch
from fakebroker.broker.core.logs.bad_records import BadRecordsOfRequest, named
from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.logs import NOW
from tests.support.time import T0

LATE = LogConfig(timestamp_after_max_ms=T0 - NOW.wall_ms - 1)
COMPACTED = LogConfig(compact=True)
BOUNDED = LogConfig(timestamp_before_max_ms=100)


def records(count: int, *, key: bytes | None = b"k", time_ms: int = T0, codec: int = 0, size: int = 1) -> bytes:
    return build_batch([Record(n, time_ms, key, b"v" * size) for n in range(count)], codec=codec)


def refused(data: bytes, config: LogConfig) -> AppendError:
    with pytest.raises(AppendError) as refusal:
        check_batch(data, config, "t-0", NOW.wall_ms)
    return refusal.value


def content_of(request: BadRecordsOfRequest, data: bytes, config: LogConfig) -> AppendErrorContent | None:
    error = refused(data, config)
    assert error.bad_records is not None
    return finished(request.content(error.append_content, error.bad_records, AT_ONCE))


@pytest.mark.rules("PD-16", "PD-17")
@pytest.mark.parametrize(
    ("key", "config", "code"),
    [
        (None, COMPACTED, ErrorCode.INVALID_RECORD),
        (b"k", LATE, ErrorCode.INVALID_TIMESTAMP),
        (None, LATE, ErrorCode.INVALID_TIMESTAMP),
    ],
)
def test_the_records_of_a_request_have_a_bound(
    monkeypatch: pytest.MonkeyPatch, key: bytes | None, config: LogConfig, code: ErrorCode
) -> None:
    """Its batches together: the one that is too many gets the code of its fault, and names no record."""
    monkeypatch.setattr(bad_records, "RECORDS_PER_REQUEST", 5)
    request = BadRecordsOfRequest()
    answers = [content_of(request, records(count, key=key), config) for count in (3, 3, 2, 1)]

    assert [(answer.code, len(answer.record_errors), answer.show_message) for answer in answers if answer] == [
        (code, 3, True),
        (code, 0, False),
        (code, 2, True),
        (code, 0, False),
    ]


def test_large_records_are_not_unpacked_once_more() -> None:
    """A batch of some KB may have records of 128 MiB."""
    data = records(3, codec=1, size=2 << 20)
    tracemalloc.start()
    try:
        answer = content_of(BadRecordsOfRequest(), data, LATE)
        before = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert answer == AppendErrorContent(
        ErrorCode.INVALID_TIMESTAMP,
        "t-0: some of 3 records have invalid timestamps; the broker did not determine which",
    )
    assert before < 1 << 20


@pytest.mark.rules("PD-18", "PD-19")
def test_records_without_a_time_beside_good_ones() -> None:
    """The earliest time is none, so what the earliest of the others is must be looked up. It takes nothing."""
    request = BadRecordsOfRequest()
    mixed = [build_batch([Record(0, -1, None, b""), Record(1, NOW.wall_ms - early, None, b"")]) for early in (100, 101)]

    assert content_of(request, mixed[0], BOUNDED) is None
    answer = content_of(request, mixed[1], BOUNDED)
    assert answer is not None
    assert (answer.code, [index for index, _ in answer.record_errors]) == (ErrorCode.INVALID_TIMESTAMP, [1])


def test_texts_are_shared() -> None:
    """Records of the same time are wrong for the same reason; the key comes first."""
    for data, config in ((records(300), LATE), (records(300, key=None), COMPACTED)):
        answer = content_of(BadRecordsOfRequest(), data, config)
        assert answer is not None
        assert len({id(text) for _, text in answer.record_errors}) == 1


def test_records_are_gone_through_in_steps() -> None:
    """So many records are a step."""
    error = refused(records(30), LATE)
    assert error.bad_records is not None
    steps = named(error.bad_records, Pace(19))

    assert sum(1 for _ in steps) == 3
