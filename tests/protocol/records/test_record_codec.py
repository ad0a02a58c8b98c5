"""Single records of format 2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.record_codec import Record, decode_records, encode_plain_records, encode_record

GOOD = "0e" + "00" + "00" + "00" + "02" + "6b" + "02" + "76" + "00"  # size 7: attributes, times, k, v, no headers


@pytest.mark.rules("RB-4")
def test_layout() -> None:
    """A record is its size and eight fields in this order."""
    assert encode_record(Record(5, 1000, b"k", b"v"), 5, 1000).hex() == "10" + GOOD[2:]
    assert encode_record(Record(6, 999, None, None, [(b"h", None)]), 5, 1000).hex() == "120001020101020268" + "01"


@pytest.mark.rules("RB-4")
@given(st.lists(st.tuples(st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=9000)), max_size=150))
def test_plain_records_are_records_without_headers(pairs: list[tuple[bytes | None, bytes | None]]) -> None:
    """Encoded all at once they are the bytes of the same records, encoded one by one."""
    records = [Record(n, 1000, key, value) for n, (key, value) in enumerate(pairs)]
    assert encode_plain_records(pairs) == b"".join([encode_record(record, 0, 1000) for record in records])


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ("12" + GOOD[2:], "a record size of 9 at byte 1 of 9"),
        ("0e" + GOOD[2:], "its fields end at byte 9, but by its size it ends at byte 8"),
        ("0f" + GOOD[2:], "a record size of -8"),
        (
            "10" + "000000" + "04" + "6b" + "02" + "76" + "00",
            "a field of 59 bytes at byte 8 goes beyond the end of the record at byte 9",
        ),
        ("10" + "000000" + "026b" + "0276" + "01", "-1 headers"),
        ("10" + "000000" + "026b" + "0276" + "7e", "63 headers do not fit into 0 bytes"),
        ("14" + "000000" + "026b" + "0276" + "02" + "0101", "name of a header is null"),
        ("10" + GOOD[2:] + "00", "1 bytes follow the last"),
        ("", "the data ends inside the varint"),
    ],
)
def test_faults_are_named(record: str, what: str) -> None:
    """Each way in which a record does not add up has a message that says which record and what."""
    with pytest.raises(InvalidRecord, match=what):
        list(decode_records(bytes.fromhex(record), 1, 0, 0))


def test_lengths_below_zero_are_null() -> None:
    """Kafka reads any length below zero as null, in keys and values."""
    record = "0c" + "000000" + "03" + "09" + "00"
    assert list(decode_records(bytes.fromhex(record), 1, 7, 100)) == [Record(7, 100, None, None, [])]


@pytest.mark.rules("RB-4")
@given(st.lists(st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=200)), max_size=80))
def test_headers_that_stay_encoded_are_the_same_headers(headers: list[tuple[bytes, bytes | None]]) -> None:
    """Read, counted and encoded again they are what they were."""
    encoded = encode_record(Record(0, 5, b"k", b"v", headers), 0, 5)
    [record] = decode_records(encoded, 1, 0, 5, is_checked=True)
    assert (len(record.headers), bool(record.headers)) == (len(headers), bool(headers))
    assert list(record.headers) == headers
    assert encode_record(record, 0, 5) == encoded
    assert not headers or record.headers[-1] == headers[-1]
