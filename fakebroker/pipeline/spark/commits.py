"""The table `commits` on Spark."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.pipeline.contract import SPARK_TYPES
from fakebroker.pipeline.expiry_facts import FIRST_MS, LAST_MS
from fakebroker.pipeline.spark.distinct_records import distinct_records
from fakebroker.pipeline.spark.transaction_outcomes import with_outcomes
from fakebroker.pipeline.tables.commits import TABLE
from fakebroker.pipeline.tables.decoded import DecodedOptions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TYPES: Final = {column.name: SPARK_TYPES[column.type] for column in TABLE.columns}
_OF_JOURNALS: Final = ("member_id", "generation", "seq", "part")


def commits(decoded: "DataFrame", events: "DataFrame", *, options: DecodedOptions = DecodedOptions()) -> "DataFrame":
    """A row for each offset commit of the logs, with the outcome of its transaction, and for each of the journals.

    Only rows of transactions are shuffled, to find their markers; with `options.may_repeat` all are, to be compared.
    """
    records = distinct_records(decoded, options)
    is_commit = F.col("what") == "commit"
    plain = records.where(is_commit & ~F.col("transactional")).select(
        "*",
        F.lit("committed").alias("outcome"),
        F.col("at").alias("applied_at"),
        F.col("log_offset").alias("applied_log_offset"),
    )
    in_transactions = with_outcomes(
        records.where(is_commit & F.col("transactional")),
        records.where((F.col("what") == "record") & F.col("kind").isin("commit", "abort")),
    )
    nothing = {name: F.lit(None).cast(_TYPES[name]).alias(name) for name in _OF_JOURNALS}
    from_logs = [
        each.select(*(nothing.get(name, F.col(name)) for name in TABLE.column_names))
        for each in (plain, in_transactions)
    ]
    return from_logs[0].unionByName(from_logs[1]).unionByName(_from_journals(events))


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
        "committed_at": F.timestamp_millis("committed_ms"),
        "expires_at": F.when(F.col("expire_ms").between(FIRST_MS, LAST_MS), F.timestamp_millis("expire_ms")),
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
