"""Records of `__consumer_offsets` to rows of the table `decoded`, by columns: numpy and pyarrow, no Spark.

Committed offsets, which nearly all records are, are decoded here, each distinct key once. Everything else goes to the
decoder of single records, so that what is wrong or unusual is judged in one place.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fakebroker.history.decode import FIRST_TIME_MS, LAST_TIME_MS, decode_all
from fakebroker.history.log_record import LogRecord
from fakebroker.pipeline.offset_columns import KeyColumns, ValueColumns, decode_keys, decode_values
from fakebroker.pipeline.rows import arrow_schema, to_arrow
from fakebroker.pipeline.tables.decoded import TABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fakebroker.pipeline.byte_columns import Flags

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
    is_plain, keys, indices = _plain_keys(raw)
    values = decode_values(raw.column("value"))
    is_tombstone = _flags(raw.column("value").is_null())
    is_plain &= is_tombstone | (values.is_plain & are_times(values.commit_ms) & are_times(values.expire_ms))
    if is_plain.any():
        yield _commits(raw, is_plain, is_tombstone, keys, indices, values)
    if not is_plain.all():
        rest = raw.filter(pa.array(~is_plain)).to_pylist()
        yield rows_to_arrow(decode_all(LogRecord(**row) for row in rest))


def rows_to_arrow(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows of `decoded` as a RecordBatch."""
    return to_arrow(TABLE, list(rows)).combine_chunks().to_batches()[0]


def are_times(ms: "NDArray[np.int64]") -> "Flags":
    """Which numbers are times that tables have: of the years 1 to 9999."""
    return (ms >= FIRST_TIME_MS) & (ms <= LAST_TIME_MS)


def _plain_keys(raw: Any) -> "tuple[Flags, KeyColumns, NDArray[np.int64]]":
    """Which rows have plain keys of committed offsets; the distinct keys; and for each row which of them it has."""
    found = raw.column("key").dictionary_encode()
    keys = decode_keys(found.dictionary)
    indices = found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    is_plain = np.append(keys.is_plain, False)[indices]  # -1 is the last one: no key
    at_ms = raw.column("at_ms").fill_null(0).to_numpy(zero_copy_only=False)
    return is_plain & _flags(raw.column("control").is_null()) & are_times(at_ms), keys, indices


def _commits(
    raw: Any,
    is_plain: "Flags",
    is_tombstone: "Flags",
    keys: KeyColumns,
    indices: "NDArray[np.int64]",
    values: ValueColumns,
) -> Any:
    """The rows of plain committed offsets."""
    if not is_plain.all():
        chosen = np.flatnonzero(is_plain)
        rows = pa.array(chosen)
        raw, is_tombstone, indices = raw.take(rows), is_tombstone[chosen], indices[chosen]
        values = ValueColumns._make(
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
