"""What came before a row and what comes after it, without one task for everything of one key.

A window over all rows of a key is one task, and one group may have nearly all rows. Here windows are over a bucket of
them, by their places in the log or journal; what crosses the ends of buckets is found among one row for each bucket.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

POSITION: Final = "_position"
BUCKET: Final = "_bucket"
BUCKET_PLACES: Final = 1 << 17
_PARTS: Final = 1 << 24  # of one entry of a journal, at most
_NOTHING: Final[Mapping[str, "Column"]] = {}


def position(seq: str = "seq", part: str = "part", log_offset: str | None = "log_offset") -> "Column":
    """Where a row is in its journal, or in its partition of the log: a number that rises."""
    in_journal = F.col(seq) * F.lit(_PARTS) + F.col(part).cast("long")
    return in_journal if log_offset is None else F.coalesce(F.col(log_offset), in_journal)


def with_places(
    rows: "DataFrame", *, log_offset: str | None = "log_offset", places: int = BUCKET_PLACES
) -> "DataFrame":
    """The rows with `_position` and `_bucket`; a bucket is `places` entries of a journal or offsets of a log."""
    entry = F.col("seq") if log_offset is None else F.coalesce(F.col(log_offset), F.col("seq"))
    return in_buckets(rows, position(log_offset=log_offset), entry, places)


def in_buckets(rows: "DataFrame", place: "Column", entry: "Column", places: int = BUCKET_PLACES) -> "DataFrame":
    """The rows with `_position`, their `place`, and `_bucket`, by the number or the offset of their `entry`."""
    return rows.withColumns({POSITION: place, BUCKET: F.floor(entry / F.lit(places)).cast("long")})


def with_neighbours(
    rows: "DataFrame",
    keys: Sequence[str],
    *,
    until_here: "Mapping[str, Column]" = _NOTHING,
    before: "Mapping[str, Column]" = _NOTHING,
    after: "Mapping[str, Column]" = _NOTHING,
) -> "DataFrame":
    """The rows, each with values of other rows of its key, under new names.

    Args:
        rows: They have `_position`, in which their order is, and `_bucket`.
        keys: The columns that say which rows belong together; none is null.
        until_here: Of each expression the latest value that is not null, of this row or one before it.
        before: The same without this row.
        after: The first value that is not null of a row after this one.
    """
    made = {**until_here, **before, **after}
    valued = rows.withColumns({f"_value_{name}": value for name, value in made.items()})
    carried = _carried(valued, keys, [*until_here, *before], list(after))
    forwards = Window.partitionBy(*keys, BUCKET).orderBy(POSITION)
    backwards = Window.partitionBy(*keys, BUCKET).orderBy(F.col(POSITION).desc())
    first = Window.unboundedPreceding
    inside = {
        **{name: _last(name).over(forwards.rowsBetween(first, Window.currentRow)) for name in until_here},
        **{name: _last(name).over(forwards.rowsBetween(first, -1)) for name in before},
        **{name: _last(name).over(backwards.rowsBetween(first, -1)) for name in after},
    }
    return (
        valued.withColumns(inside)
        .join(carried, on=[*keys, BUCKET], how="left")
        .withColumns({name: F.coalesce(name, f"_carried_{name}") for name in made})
        .drop(*(f"_value_{name}" for name in made), *(f"_carried_{name}" for name in made))
    )


def _carried(rows: "DataFrame", keys: Sequence[str], forwards: Sequence[str], backwards: Sequence[str]) -> "DataFrame":
    """For each bucket what comes into it from those before, and from those after it."""
    ends = rows.groupBy(*keys, BUCKET).agg(
        *(F.max_by(f"_value_{name}", _place_of(name)).alias(f"_value_{name}") for name in forwards),
        *(F.min_by(f"_value_{name}", _place_of(name)).alias(f"_value_{name}") for name in backwards),
    )
    up = Window.partitionBy(*keys).orderBy(BUCKET).rowsBetween(Window.unboundedPreceding, -1)
    down = Window.partitionBy(*keys).orderBy(F.col(BUCKET).desc()).rowsBetween(Window.unboundedPreceding, -1)
    return ends.select(
        *keys,
        BUCKET,
        *(_last(name).over(up).alias(f"_carried_{name}") for name in forwards),
        *(_last(name).over(down).alias(f"_carried_{name}") for name in backwards),
    )


def _last(name: str) -> "Column":
    return F.last(f"_value_{name}", ignorenulls=True)


def _place_of(name: str) -> "Column":
    return F.when(F.col(f"_value_{name}").isNotNull(), F.col(POSITION))
