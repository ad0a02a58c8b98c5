"""Lag of groups, minute by minute."""

from fakebroker.analysis.pipeline.contract import Column, Table

TABLE = Table(
    name="lag_minute",
    layer="gold",
    about="The lag of a group at the end of each minute in which a partition got records or a commit",
    columns=(
        Column("source", "string", "the run of the journal, or the name of the log"),
        Column("group_id", "string", "the group"),
        Column("topic", "string", "the topic"),
        Column("partition", "int", "the partition of the topic"),
        Column("minute_at", "timestamp", "the beginning of the minute"),
        Column(
            "committed_offset",
            "long",
            "the group's committed offset at the end of the minute; null once it is deleted, or if it is negative, which clients treat as none",
            True,
        ),
        Column("log_end_offset", "long", "the end of the log at the end of the minute; null if unknown", True),
        Column("lag", "long", "log end minus committed offset, in records; null if either is unknown", True),
    ),
    key=("source", "group_id", "topic", "partition", "minute_at"),
)
