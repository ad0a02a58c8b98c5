"""Runs of records that are laid out alike."""

import pytest

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_runs import FEWEST_IN_RUN, scan_run


def payload(records: list[Record]) -> bytes:
    return build_batch(records, base_offset=0)[HEADER_BYTES:]


def alike(count: int, key: bytes | None, value: bytes | None, step_ms: int) -> bytes:
    return payload([Record(n, 5 + n * step_ms, key, value) for n in range(count)])


@pytest.mark.parametrize("key", [None, b"", b"key", bytes(64)])
@pytest.mark.parametrize("value", [None, b"v", bytes(63), bytes(64), bytes(8000)])
@pytest.mark.parametrize("count", [FEWEST_IN_RUN, 64])
def test_records_alike_are_a_run(key: bytes | None, value: bytes | None, count: int) -> None:
    """All of them, as long as their offset deltas have one width."""
    data = alike(count, key, value, 0)
    assert scan_run(data, 0, 0, count) == (len(data), count, 0, 0, key is None)


def test_a_run_goes_on_with_wider_deltas() -> None:
    """A run of offset deltas and one of timestamp deltas of two bytes each: they give the records' own deltas."""
    data = alike(200, b"k", b"v", 7)
    narrow = scan_run(data, 0, 0, 10)
    assert narrow is not None
    assert narrow[1:] == (10, 0, 63, False)
    at = len(alike(64, b"k", b"v", 7))
    assert scan_run(data, at, 64, 200) == (len(data), 200, 64 * 7, 199 * 7, False)


def test_too_few_or_unlike_records_are_no_run() -> None:
    """Nor are records that are not right in all that is checked of each."""
    assert scan_run(alike(FEWEST_IN_RUN - 1, None, b"v", 0), 0, 0, FEWEST_IN_RUN - 1) is None
    data = alike(FEWEST_IN_RUN, b"k", b"value", 1)
    step = len(data) // FEWEST_IN_RUN
    for place in (0, 2, 3, 4, 6, step - 1):  # length, deltas, lengths of key and value, number of headers
        wrong = bytearray(data)
        wrong[3 * step + place] ^= 1
        assert scan_run(bytes(wrong), 0, 0, FEWEST_IN_RUN) is None
    assert scan_run(data[:-1], 0, 0, FEWEST_IN_RUN) is None
    assert scan_run(data, 0, 1, FEWEST_IN_RUN + 1) is None
