"""What could not be read, and why."""

from fakebroker.analysis.pipeline.contract import Column, Table

TABLE = Table(
    name="rejects",
    layer="bronze",
    about="What could not be read: a torn line, a record that no decoder understands, a cut segment",
    columns=(
        Column(
            "source", "string", "the run or log it was meant for, as far as that is known; else the name of the file"
        ),
        Column("file", "string", "the file, or HOST:PORT of a live read"),
        Column(
            "position",
            "long",
            "where in it: the line, counted from 1, of a text file; the byte of a segment; the row of Parquet; the offset of a live read",
        ),
        Column("log_partition", "int", "the partition of `__consumer_offsets`, if known", True),
        Column("log_offset", "long", "the offset of the record, if known", True),
        Column("reason", "string", "what was wrong, an English clause"),
        Column("sample", "string", "the beginning of what stood there: text, or bytes as hex", True),
    ),
    key=("source", "file", "position", "log_offset", "reason"),
)
