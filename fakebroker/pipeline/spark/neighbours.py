"""The row before and the row after, without one task for everything of one key.

A window over all rows of a key is one task, and one group may have nearly all rows. Here a window is over a bucket of
them, by their places in the log or journal; what crosses the ends of buckets is found among one row of each.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

POSITION: Final = "_position"
BUCKET: Final = "_bucket"
_PARTS: Final = 1 << 24  # of one entry of a journal, at most
BUCKET_PLACES: Final = 1 << 17


def position(seq: str = "seq", part: str = "part", log_offset: str | None = "log_offset") -> "Column":
    """Where a row is in its journal, or in its partition of the log: a number that rises."""
    in_journal = F.col(seq) * F.lit(_PARTS) + F.col(part).cast("long")
    return in_journal if log_offset is None else F.coalesce(F.col(log_offset), in_journal)


def with_places(
    rows: "DataFrame", *, log_offset: str | None = "log_offset", places: int = BUCKET_PLACES
) -> "DataFrame":
    """The rows with `_position` and `_bucket`; a bucket is `places` entries of a journal or offsets of a log."""
    entry = F.col("seq") if log_offset is None else F.coalesce(F.col(log_offset), F.col("seq"))
    return rows.withColumn(POSITION, position(log_offset=log_offset)).withColumn(
        BUCKET, F.floor(entry / F.lit(places)).cast("long")
    )


def with_next(rows: "DataFrame", keys: Sequence[str], columns: Sequence[str], name: str = "_next") -> "DataFrame":
    """The rows, each with `name`: a struct of `columns` of the next row of its key; null for the last."""
    return _with_neighbour(rows, keys, columns, name, is_next=True)


def with_previous(
    rows: "DataFrame", keys: Sequence[str], columns: Sequence[str], name: str = "_previous"
) -> "DataFrame":
    """The rows, each with `name`: a struct of `columns` of the row before; null for the first."""
    return _with_neighbour(rows, keys, columns, name, is_next=False)


def _with_neighbour(
    rows: "DataFrame", keys: Sequence[str], columns: Sequence[str], name: str, *, is_next: bool
) -> "DataFrame":
    order = F.col(POSITION) if is_next else F.col(POSITION).desc()
    bucket = F.col(BUCKET) if is_next else F.col(BUCKET).desc()
    inside = Window.partitionBy(*keys, BUCKET).orderBy(order)
    inner = rows.withColumn("_inner", F.lead(F.struct(*columns)).over(inside)).withColumn(
        "_rank", F.row_number().over(inside)
    )
    first = inner.where(F.col("_rank") == 1).select(*keys, BUCKET, F.struct(*columns).alias("_first"))
    outer = first.withColumn("_outer", F.lead("_first").over(Window.partitionBy(*keys).orderBy(bucket))).drop("_first")
    return (
        inner.join(outer, on=[*keys, BUCKET], how="left")
        .withColumn(name, F.coalesce("_inner", "_outer"))
        .drop("_inner", "_outer", "_rank")
    )


def with_latest(rows: "DataFrame", keys: Sequence[str], columns: Sequence[str]) -> "DataFrame":
    """The rows with `columns` filled up: where one is null it is that of the latest row before that has it."""
    inside = Window.partitionBy(*keys, BUCKET).orderBy(POSITION)
    until_here = inside.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = Window.partitionBy(*keys).orderBy(BUCKET).rowsBetween(Window.unboundedPreceding, -1)
    filled = rows.withColumns({each: F.last(each, ignorenulls=True).over(until_here) for each in columns})
    latest = filled.withColumn(
        "_rank", F.row_number().over(Window.partitionBy(*keys, BUCKET).orderBy(F.desc(POSITION)))
    )
    ends = latest.where(F.col("_rank") == 1).select(*keys, BUCKET, *columns)
    carried = ends.select(
        *keys, BUCKET, *(F.last(each, ignorenulls=True).over(before).alias(f"_carried_{each}") for each in columns)
    )
    return (
        filled.join(carried, on=[*keys, BUCKET], how="left")
        .withColumns({each: F.coalesce(each, f"_carried_{each}") for each in columns})
        .drop(*(f"_carried_{each}" for each in columns))
    )
