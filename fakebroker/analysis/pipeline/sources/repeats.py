"""Whether files of a history can hold a record twice, judged by little of them: names, two columns. No Spark here."""

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker.analysis.history.reading import HistoryFile, files_of, has_scheme
from fakebroker.analysis.history.sink_rows import BadRow, shape_of
from fakebroker.analysis.pipeline.distinct_records import DecodedOptions
from fakebroker.analysis.pipeline.sources.parquet_history import has_plain_columns

MAX_ROWS: Final = 50_000_000  # whose places are compared here; they take 8 bytes each
_OFFSET_BITS: Final = 47


def known_of_paths(paths: Sequence[str]) -> DecodedOptions:
    """What is known of the rows that paths give: of files with a scheme nothing. Raises HistoryError."""
    local = [path for path in paths if not has_scheme(path)]
    known = known_of(files_of(local)) if local else DecodedOptions()
    return known if len(local) == len(paths) else DecodedOptions()


def known_of(files: Sequence[HistoryFile]) -> DecodedOptions:
    """What is known of the rows of `decoded` that files give."""
    has_transactions = any(file.kind == "segment" for file in files)
    return DecodedOptions(may_repeat=_may_repeat(files), has_transactions=has_transactions)


def _may_repeat(files: Sequence[HistoryFile]) -> bool:
    """Not if all are segments of one folder for each partition, or Parquet in which no place stands twice.

    A broker names a segment after its first offset; one of another name is a copy that somebody put beside it.
    """
    kinds = {file.kind for file in files}
    if kinds == {"segment"}:
        if not all(re.fullmatch(r"\d{20}\.log", file.path.name) for file in files):
            return True
        folders = {(file.log_partition, file.path.parent) for file in files}
        return len(folders) > len({partition for partition, _ in folders})
    if kinds != {"parquet"}:
        return True
    try:
        return _has_twice(files)
    except (OSError, pa.ArrowException, BadRow):
        return True


def _has_twice(files: Sequence[HistoryFile]) -> bool:
    """Whether a place stands in Parquet files twice, or that is too much to find out. Raises what reading raises."""
    opened = [(file, pq.ParquetFile(file.path)) for file in files]
    if sum(parquet.metadata.num_rows for _, parquet in opened) > MAX_ROWS:
        return True
    if not all(has_plain_columns(parquet.schema_arrow, file.log_partition) for file, parquet in opened):
        return True
    places = np.concatenate([_places(file, parquet) for file, parquet in opened])
    places.sort()
    return bool((places[1:] == places[:-1]).any())


def _places(file: HistoryFile, parquet: Any) -> Any:
    """Partition and offset of every row, as one number. Numbers that do not fit may be alike: that is the safe side."""
    names = shape_of(list(parquet.schema_arrow.names), has_partition=file.log_partition is not None).names
    wanted = [names[what] for what in ("partition", "offset") if what in names]
    table = parquet.read(columns=wanted)
    offsets = _numbers(table, names["offset"])
    if "partition" not in names:
        return offsets | (file.log_partition or 0) << _OFFSET_BITS
    return offsets | _numbers(table, names["partition"]) << _OFFSET_BITS


def _numbers(table: Any, name: str) -> Any:
    return table.column(name).fill_null(0).to_numpy().astype(np.int64)
