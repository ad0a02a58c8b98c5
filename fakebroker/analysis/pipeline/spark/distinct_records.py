"""Records that were read more than once, made distinct on Spark as `analysis.history.distinct` does in plain Python."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.history.distinct import CONTENT
from fakebroker.analysis.pipeline.tables.decoded import TABLE, DecodedOptions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PLACE: Final = ("source", "log_partition", "log_offset")
_DIFFERENT: Final = "another file has a different record at this offset: the files are not from one log"


def distinct_records(decoded: "DataFrame", options: DecodedOptions) -> "DataFrame":
    """The rows of `decoded` but rejects, each record once; those of offsets at which different things stand are out.

    Of several rows of one record the one that knows most stays: first a row of a transaction, then one with a
    timestamp, then the first by file and position.
    """
    records = decoded.where(F.col("what") != "reject")
    if not options.may_repeat:
        return records
    row = F.struct(*TABLE.column_names)
    places = (
        records.select(*PLACE, _content().alias("content"), row.alias("row"), _how_little_it_knows().alias("knows"))
        .groupBy(*PLACE)
        .agg(
            F.min_by("row", "knows").alias("row"),
            F.min("content").alias("first_content"),
            F.max("content").alias("last_content"),
        )
    )
    return places.where(F.col("first_content") == F.col("last_content")).select("row.*")


def conflicting_records(decoded: "DataFrame") -> "DataFrame":
    """A row of `rejects` for each row of an offset at which different things stand."""
    records = decoded.where(F.col("what") != "reject")
    conflicts = (
        records.select(*PLACE, _content().alias("content"))
        .groupBy(*PLACE)
        .agg(F.min("content").alias("first_content"), F.max("content").alias("last_content"))
        .where(F.col("first_content") != F.col("last_content"))
        .select(*PLACE)
    )
    kind = F.coalesce(F.col("kind"), F.lit("OffsetCommit"))
    group_id = F.coalesce(F.col("group_id"), F.lit("None"))
    return records.join(conflicts, on=list(PLACE), how="left_semi").select(
        "source",
        "file",
        "position",
        "log_partition",
        "log_offset",
        F.lit(_DIFFERENT).alias("reason"),
        F.substring(F.concat(kind, F.lit(" of group "), group_id), 1, 96).alias("sample"),
    )


def _content() -> "Column":
    """What stands in a record; structs with nulls can be compared, which rows of columns with nulls cannot."""
    return F.struct(*CONTENT)


def _how_little_it_knows() -> "Column":
    return F.struct(F.col("producer_id").isNull(), F.col("at").isNull(), "file", "position")
