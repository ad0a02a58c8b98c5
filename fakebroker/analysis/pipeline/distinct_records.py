"""Records that were read more than once count once; two different records at one offset count not at all.

A log is often in several files: a segment and a copy of it, a sink's file that was written again after a restart. What
stands at an offset of a partition never changes, so rows that say the same are one. If they say different things, the
files are not of one log (of two clusters, or of a topic that was deleted and made again), and no one can tell which of
them is right: all become rejects. A name for each cluster (`--source`) keeps them apart.
"""

from typing import Final, NamedTuple

from fakebroker.analysis.pipeline.recipe import listed


class DecodedOptions(NamedTuple):
    """What is known of the rows of `decoded` beforehand.

    Without `may_repeat` no two rows are of one record, of a file and its copy: comparing them moves every row through a
    shuffle. Without `has_transactions` no row is of a transaction: sinks do not tell, only segments and live logs do.
    """

    may_repeat: bool = True
    has_transactions: bool = True


CONTENT: Final = (
    "what", "record_type", "kind", "value_version", "group_id", "key", "value", "topic", "partition",
    "committed_offset", "leader_epoch", "metadata", "committed_at", "expires_at", "topic_id",
)  # fmt: skip
"""The columns that say what stands in a record. Two rows of one record have them alike; what only some readers know
(the producer, whether it was in a transaction, the timestamp) may be missing in one of them."""

_PLACE: Final = "source, log_partition, log_offset"
_IS_PLACE: Final = "source = of_source AND log_partition = of_partition AND log_offset = of_offset"
# Nearly always few offsets are in several files: only their records are compared.
_REPEATED: Final = f"""
    SELECT source AS of_source, log_partition AS of_partition, log_offset AS of_offset, COUNT(*) AS times
    FROM decoded
    WHERE what <> 'reject'
    GROUP BY {_PLACE}
    HAVING COUNT(*) > 1
"""
_COMPARED: Final = f"""
    SELECT
        *,
        MIN(content) OVER (PARTITION BY {_PLACE}) AS least_content,
        MAX(content) OVER (PARTITION BY {_PLACE}) AS greatest_content,
        ROW_NUMBER() OVER (
            PARTITION BY {_PLACE} ORDER BY producer_id IS NULL, "at" IS NULL, file, "position"
        ) AS number
    FROM (
        SELECT decoded.*, ROW({listed(CONTENT)}) AS content
        FROM decoded JOIN ({_REPEATED}) AS repeated ON {_IS_PLACE}
        WHERE what <> 'reject'
    ) AS records
"""


def distinct_records(options: DecodedOptions) -> str:
    """A query for the rows but rejects, each record once; those of offsets at which different things stand are out.

    Of several rows of one record the one that knows most stays: first a row of a transaction, then one with a
    timestamp, then the first by file and position.
    """
    if not options.may_repeat:
        return "SELECT * FROM decoded WHERE what <> 'reject'"
    return f"""
        SELECT decoded.* FROM decoded LEFT JOIN ({_REPEATED}) AS repeated ON {_IS_PLACE}
        WHERE what <> 'reject' AND times IS NULL
        UNION ALL
        SELECT * EXCLUDE (content, least_content, greatest_content, number) FROM ({_COMPARED}) AS compared
        WHERE number = 1 AND least_content IS NOT DISTINCT FROM greatest_content
    """


def conflicting_records() -> str:
    """A query for all rows of the offsets at which different things stand."""
    return f"SELECT * FROM ({_COMPARED}) AS compared WHERE least_content IS DISTINCT FROM greatest_content"
