"""Where the logs of topics ended, and when."""

from fakebroker.analysis.pipeline.contract import Check, Column, Table

TABLE = Table(
    name="log_ends",
    layer="silver",
    about="The log end of a partition each time it is known: after records were appended (journals), or when a live broker was read",
    columns=(
        Column("source", "string", "the run of the journal, or the name of the log"),
        Column("topic", "string", "the topic"),
        Column("partition", "int", "the partition of the topic"),
        Column("log_start_offset", "long", "the log start offset; null if unknown", True),
        Column("log_end_offset", "long", "the offset that the next record gets"),
        Column("at", "timestamp", "when"),
        Column("seq", "long", "the entry of the journal; null for a row from a live broker", True),
        Column("part", "int", "the line's number within that entry; null for a row from a live broker", True),
    ),
    key=("source", "topic", "partition", "at", "seq", "part"),
    checks=(
        Check(
            "ends are not negative", "the end of a log is 0 or more", "SELECT * FROM log_ends WHERE log_end_offset < 0"
        ),
    ),
)
