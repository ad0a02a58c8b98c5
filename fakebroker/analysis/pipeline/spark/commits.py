"""The table `commits` on Spark."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.contract import SPARK_TYPES
from fakebroker.analysis.pipeline.spark.distinct_records import distinct_records
from fakebroker.analysis.pipeline.spark.of_table import timestamp
from fakebroker.analysis.pipeline.spark.transaction_outcomes import is_marker, with_outcomes
from fakebroker.analysis.pipeline.tables.commits import TABLE
from fakebroker.analysis.pipeline.tables.decoded import DecodedOptions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TYPES: Final = {column.name: SPARK_TYPES[column.type] for column in TABLE.columns}
_OF_JOURNALS: Final = ("member_id", "generation", "seq", "part")


def commits(decoded: "DataFrame", events: "DataFrame", *, options: DecodedOptions = DecodedOptions()) -> "DataFrame":
    """A row for each offset commit of the logs, with the outcome of its transaction, and for each of the journals.

    Only rows of transactions are shuffled, to find their markers; with `options.may_repeat` all are, to be compared.
    """
    found = _compared(decoded) if options.may_repeat else _as_read(decoded, options)
    nothing = {name: F.lit(None).cast(_TYPES[name]).alias(name) for name in _OF_JOURNALS}
    from_logs = found.select(*(nothing.get(name, F.col(name)) for name in TABLE.column_names))
    return from_logs.unionByName(_from_journals(events))


def _compared(decoded: "DataFrame") -> "DataFrame":
    """Commits with their outcomes, of rows that may be of one record."""
    records = distinct_records(decoded, DecodedOptions())
    return with_outcomes(records.where((F.col("what") == "commit") | is_marker()), records.where(is_marker()))


def _as_read(decoded: "DataFrame", options: DecodedOptions) -> "DataFrame":
    """Commits with their outcomes, where each row is of another record.

    Each filter here stands alone, because the source leaves out what does not pass it.
    """
    records = decoded.where(F.col("what") == "commit")
    plain = records.where(~F.col("transactional")).select(
        "*",
        F.lit("committed").alias("outcome"),
        F.col("at").alias("applied_at"),
        F.col("log_offset").alias("applied_log_offset"),
    )
    if not options.has_transactions:
        return plain
    markers = decoded.where(is_marker())
    in_transactions = with_outcomes(records.where(F.col("transactional")).unionByName(markers), markers)
    return plain.unionByName(in_transactions.select(*plain.columns))


def _from_journals(events: "DataFrame") -> "DataFrame":
    """A commit without metadata has the empty text, as in the log. A journal does not tell how transactions end."""
    at = F.timestamp_millis("wall_ms")
    columns: dict[str, Column] = {
        "group_id": F.col("group"),
        "topic": F.col("topic"),
        "partition": F.col("partition"),
        "committed_offset": F.col("offset"),
        "leader_epoch": F.col("leader_epoch"),
        "metadata": F.coalesce(F.col("metadata"), F.lit("")),
        "committed_at": timestamp(F.col("committed_ms")),
        "expires_at": timestamp(F.col("expire_ms")),
        "transactional": F.col("transactional"),
        "outcome": F.when(F.col("transactional"), F.lit("open")).otherwise(F.lit("committed")),
        "at": at,
        "applied_at": F.when(~F.col("transactional"), at),
        "member_id": F.col("member_id"),
        "generation": F.col("generation"),
        "source": F.col("run"),
        "seq": F.col("seq"),
        "part": F.col("part"),
    }
    return events.where(F.col("kind") == "offset_committed").select(
        *(columns.get(name, F.lit(None)).cast(_TYPES[name]).alias(name) for name in TABLE.column_names)
    )
