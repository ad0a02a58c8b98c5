"""Offsets that another retention would have lost, one by one."""

from fakebroker.pipeline.contract import Column, Table

TABLE = Table(
    name="retention_losses",
    layer="gold",
    about="Every committed offset that a group would have lost under a retention, when, and what the loss would have meant when the group came back",
    columns=(
        Column("source", "string", "the run of the journal, or the name of the log"),
        Column("group_id", "string", "the group"),
        Column("topic", "string", "the topic"),
        Column("partition", "int", "the partition of the topic"),
        Column("retention_ms", "long", "the retention (`offsets.retention.minutes`) that is tried"),
        Column("committed_offset", "long", "the offset that is lost"),
        Column("committed_at", "timestamp", "when it was committed", True),
        Column(
            "log_partition",
            "int",
            "the partition of `__consumer_offsets` with the lost commit; null for a row from a journal",
            True,
        ),
        Column("log_offset", "long", "its offset there; null for a row from a journal", True),
        Column("seq", "long", "the entry of the journal with the lost commit; null for a row from a log", True),
        Column("part", "int", "the line's number within that entry; null for a row from a log", True),
        Column("due_at", "timestamp", "the moment from which it is due"),
        Column("lost_at", "timestamp", "the cleanup that drops it"),
        Column("rule", "string", "the rule that decides, see docs/rules"),
        Column(
            "came_back_at",
            "timestamp",
            "when the group next had members or committed for this partition; null: it never came back",
            True,
        ),
        Column(
            "read_again_records",
            "long",
            "with auto.offset.reset=earliest, how many records it would have read again; null if unknown, or if it never came back",
            True,
        ),
        Column(
            "skipped_records",
            "long",
            "with auto.offset.reset=latest, how many records it would have skipped; null if unknown, or if it never came back",
            True,
        ),
    ),
    key=("source", "group_id", "topic", "partition", "retention_ms", "log_partition", "log_offset", "seq", "part"),
)
