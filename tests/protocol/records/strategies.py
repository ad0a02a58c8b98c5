"""Records for property tests."""

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from fakebroker.protocol.records.record_codec import Record

blobs = st.one_of(st.none(), st.binary(max_size=40), st.integers(0, 9000).map(lambda size: b"x" * size))
times_ms = st.one_of(st.integers(0, 2000), st.integers(-1, 2**62))
headers = st.lists(st.tuples(st.binary(max_size=5), st.one_of(st.none(), st.binary(max_size=5))), max_size=3).map(tuple)
contents = st.lists(st.tuples(times_ms, blobs, blobs, headers), min_size=1, max_size=80)


def as_records(content: list[tuple[Any, ...]], base_offset: int = 0) -> list[Record]:
    """(time, key, value, headers) as records with rising offsets."""
    return [Record(base_offset + n, *fields) for n, fields in enumerate(content)]


def tidy(records: Iterable[Record]) -> list[Record]:
    """Records with their headers as tuples, to compare."""
    return [record._replace(headers=tuple(record.headers)) for record in records]
