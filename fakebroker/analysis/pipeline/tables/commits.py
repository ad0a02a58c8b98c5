"""Committed offsets, one row for each record."""

from fakebroker.analysis.pipeline.contract import ORIGIN, ORIGIN_KEY, Check, Column, Table, groups_have_one_partition

TABLE = Table(
    name="commits",
    layer="silver",
    about="Every committed offset: a row for each record of a log, and for each `offset_committed` line of a journal",
    columns=(
        Column("group_id", "string", "the group"),
        Column("topic", "string", "the topic"),
        Column("partition", "int", "the partition of the topic"),
        Column(
            "committed_offset",
            "long",
            "the committed offset; null for a tombstone, which deletes it. Kafka also stores negative offsets, which clients treat as none",
            True,
        ),
        Column(
            "leader_epoch",
            "int",
            "the leader epoch committed beside the offset, -1 without one; null for a tombstone",
            True,
        ),
        Column("metadata", "string", "the text committed beside the offset; null for a tombstone", True),
        Column(
            "committed_at",
            "timestamp",
            "the commit timestamp in the value; null for a tombstone, or outside of the years 1 to 9999",
            True,
        ),
        Column(
            "expires_at",
            "timestamp",
            "its expire timestamp, for a commit with its own retention (value version 1); else null",
            True,
        ),
        Column("topic_id", "string", "the id of the topic as Kafka writes it; null without one", True),
        Column("transactional", "boolean", "whether it was committed in a transaction"),
        Column("outcome", "string", "`committed`; for a transaction also `aborted`, or `open` before its marker"),
        Column("producer_id", "long", "the producer of the transaction; null without one", True),
        Column("at", "timestamp", "the timestamp of the record, or of the journal's line", True),
        Column(
            "applied_at",
            "timestamp",
            "when it took effect: the time of the marker for a transaction; null if it never did",
            True,
        ),
        Column(
            "applied_log_offset",
            "long",
            "the log offset with which it took effect: its own, or that of the marker; null if it never did, and for a row from a journal",
            True,
        ),
        Column("member_id", "string", "the member that committed, from a journal; null from a log", True),
        Column("generation", "int", "the generation it committed in, from a journal; null from a log", True),
        *ORIGIN,
    ),
    key=ORIGIN_KEY,
    checks=(
        groups_have_one_partition("commits"),
        Check(
            "known outcomes",
            "the outcome is committed, aborted or open, and only a transaction is aborted or open",
            "SELECT * FROM commits WHERE outcome NOT IN ('committed', 'aborted', 'open')"
            " OR (NOT transactional AND outcome <> 'committed')",
        ),
    ),
)
