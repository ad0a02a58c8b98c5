"""In which order commits stand in their files."""

from itertools import groupby

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.pipeline.sources.stored_history import by_partition, with_dictionaries

NAMES = ("log_partition", "group_id", "topic", "partition", "log_offset")
FEW = st.integers(0, 3)
TEXTS = st.sampled_from(["", "a", "b", "\N{GREEK SMALL LETTER BETA}", None])
ROWS = st.lists(st.tuples(FEW, TEXTS, TEXTS, st.one_of(st.none(), FEW)), max_size=60)


@given(ROWS)
def test_commits_of_one_partition_of_a_group_stand_together_as_they_were(found: list[tuple[object, ...]]) -> None:
    """None is lost, and two of them keep their order."""
    rows = [(*row, offset) for offset, row in enumerate(found)]
    columns = zip(*rows, strict=True) if rows else [[] for _ in NAMES]
    types = (pa.int32(), pa.string(), pa.string(), pa.int32(), pa.int64())
    table = pa.table({name: pa.array(each, kind) for name, each, kind in zip(NAMES, columns, types, strict=True)})

    ordered = by_partition(with_dictionaries(table)).to_pylist()
    made = [tuple(row[name] for name in NAMES) for row in ordered]

    assert sorted(made, key=lambda row: row[-1]) == rows
    together = [[row[-1] for row in each] for _, each in groupby(made, key=lambda row: row[:-1])]
    assert len(together) == len({row[:-1] for row in rows})
    assert all(offsets == sorted(offsets) for offsets in together)
