"""Where the logs of topics ended, and when."""

from fakebroker.analysis.pipeline.contract import Check, Table, columns
from fakebroker.analysis.pipeline.recipe import Recipe

TABLE = Table(
    name="log_ends",
    layer="silver",
    about="The log end of a partition each time it is known: after records were appended (journals), or when a live broker was read",
    columns=columns("""
        source string: the run of the journal, or the name of the log
        topic string: the topic
        partition int: the partition of the topic
        log_start_offset long?: the log start offset; null if unknown
        log_end_offset long: the offset that the next record gets
        at timestamp: when
        seq long?: the entry of the journal; null for a row from a live broker
        part int?: the line's number within that entry; null for a row from a live broker
    """),
    key=("source", "topic", "partition", "at", "seq", "part"),
    checks=(Check("ends are not negative", "the end of a log is 0 or more", "log_end_offset < 0"),),
)


def recipe() -> Recipe:
    """After each append of a journal, and what live brokers were asked.

    A producer that tries again is answered with the offset that its records have already: of lines for the same
    records only the first counts.
    """
    return Recipe("""
        SELECT
            run AS source, topic, "partition", NULL AS log_start_offset,
            base_offset + records AS log_end_offset, wall_ms AS "at", seq, part
        FROM (
            SELECT *, ROW_NUMBER() OVER (
                PARTITION BY run, topic, "partition", base_offset, records, size_bytes, client ORDER BY seq, part
            ) AS number
            FROM events
            WHERE kind = 'records_appended'
        ) AS appended
        WHERE number = 1
        UNION ALL
        SELECT source, topic, "partition", log_start_offset, log_end_offset, "at", seq, part
        FROM live_ends
    """)
