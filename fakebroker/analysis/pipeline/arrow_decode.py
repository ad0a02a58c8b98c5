"""Records of `__consumer_offsets` to rows of the table `decoded`, by columns: numpy and pyarrow, no Spark.

Committed offsets, which nearly all records are, are decoded here, each distinct key once. Everything else goes to the
decoder of single records, so that what is wrong or unusual is judged in one place.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fakebroker.analysis.history.decode import decode_all
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.pipeline import offset_columns
from fakebroker.analysis.pipeline.contract import FIRST_TIME_MS, LAST_TIME_MS
from fakebroker.analysis.pipeline.rows import arrow_schema, to_arrow
from fakebroker.analysis.pipeline.tables.decoded import TABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fakebroker.analysis.pipeline.byte_columns import Flags

# Records as they stand in a log, with where they were found: the fields of LogRecord.
RAW_SCHEMA: Final = pa.schema(
    [
        ("source", pa.string()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("log_partition", pa.int32()),
        ("log_offset", pa.int64()),
        ("at_ms", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("control", pa.string()),
    ]
)
DECODED_SCHEMA: Final = arrow_schema(TABLE)
# Of this size batches stay in the processor's caches, and distinct keys are still worth it.
ROWS_PER_BATCH: Final = 32_768
_TAKEN_OVER: Final = ("source", "file", "position", "log_partition", "log_offset", "producer_id", "producer_epoch")


def decode_batch(raw: Any) -> Iterator[Any]:
    """Decode one RecordBatch of RAW_SCHEMA; yields RecordBatches of DECODED_SCHEMA, in no order."""
    if not len(raw):
        return
    keys, indices = _keys(raw)
    values = offset_columns.decode_values(raw.column("value"))
    is_tombstone = _flags(raw.column("value").is_null())
    is_plain = np.append(keys.is_plain, False)[indices] & _flags(raw.column("control").is_null()) & _has_time(raw)
    is_plain &= is_tombstone | (values.is_plain & are_times(values.commit_ms) & are_times(values.expire_ms))
    if is_plain.any():
        yield _commits(raw, is_plain, is_tombstone, keys, indices, values)
    if not is_plain.all():  # the decoder of single records has the others
        rows = raw.filter(pa.array(~is_plain)).to_pylist()
        yield rows_to_arrow(decode_all(LogRecord(**row) for row in rows))


def rows_to_arrow(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows of `decoded` as a RecordBatch."""
    return to_arrow(TABLE, list(rows)).combine_chunks().to_batches()[0]


def are_times(ms: "NDArray[np.int64]") -> "Flags":
    """Which numbers are times that tables have: of the years 1 to 9999."""
    return (ms >= FIRST_TIME_MS) & (ms <= LAST_TIME_MS)


def _keys(raw: Any) -> "tuple[offset_columns.KeyColumns, NDArray[np.int64]]":
    """The distinct keys, and which of them each row has; -1: none."""
    found = raw.column("key").dictionary_encode()
    keys = offset_columns.decode_keys(found.dictionary)
    return keys, found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _has_time(raw: Any) -> "Flags":
    """Which rows have a timestamp that tables can have, or none."""
    return are_times(raw.column("at_ms").fill_null(0).to_numpy(zero_copy_only=False))


def _commits(
    raw: Any,
    is_plain: "Flags",
    is_tombstone: "Flags",
    keys: offset_columns.KeyColumns,
    indices: "NDArray[np.int64]",
    values: offset_columns.ValueColumns,
) -> Any:
    """The rows of plain committed offsets."""
    raw = raw.select([*_TAKEN_OVER, "at_ms", "is_transactional"])
    if not is_plain.all():
        chosen = np.flatnonzero(is_plain)
        rows = pa.array(chosen)
        raw, is_tombstone, indices = raw.take(rows), is_tombstone[chosen], indices[chosen]
        values = offset_columns.ValueColumns._make(
            each[chosen] if isinstance(each, np.ndarray) else each.take(rows) for each in values
        )
    count = len(raw)
    columns = {
        "what": pa.repeat(pa.scalar("commit"), count),
        **{name: raw.column(name) for name in _TAKEN_OVER},
        "at": _times(raw.column("at_ms")),
        "group_id": _texts(keys.group_id.take(pa.array(indices))),
        "topic": _texts(keys.topic.take(pa.array(indices))),
        "partition": pa.array(keys.partition[indices].astype(np.int32)),
        "committed_offset": pa.array(values.offset, mask=is_tombstone),
        "leader_epoch": pa.array(values.leader_epoch.astype(np.int32), mask=is_tombstone),
        "metadata": _nulled(_texts(values.metadata), is_tombstone),
        "committed_at": _times(pa.array(values.commit_ms, mask=is_tombstone)),
        "expires_at": _times(pa.array(values.expire_ms, mask=is_tombstone | (values.expire_ms == -1))),
        "topic_id": _nulled(values.topic_id, is_tombstone),
        "transactional": raw.column("is_transactional"),
    }
    arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in DECODED_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=DECODED_SCHEMA)


def _times(ms: Any) -> Any:
    """Milliseconds as timestamps."""
    return ms.cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))


def _texts(array: Any) -> Any:
    """Bytes that are known to be UTF-8 as text, without another look."""
    return array.view(pa.string())


def _nulled(array: Any, is_null: "Flags") -> Any:
    return compute.if_else(pa.array(~is_null), array, pa.scalar(None, pa.string())) if is_null.any() else array


def _flags(array: Any) -> "Flags":
    found: Flags = array.to_numpy(zero_copy_only=False)
    return found
