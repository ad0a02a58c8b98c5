"""What could not be read, and why."""

from fakebroker.analysis.pipeline.contract import Column, Table

TABLE = Table(
    name="rejects",
    layer="bronze",
    about="Input that could not be read: an incomplete line, an undecodable record, a truncated segment",
    columns=(
        Column("source", "string", "the run or log it belongs to, if known; else the name of the file"),
        Column("file", "string", "the file, or HOST:PORT of a live read"),
        Column(
            "position",
            "long",
            "the position: the line of a text file, counted from 1; the byte of a segment; the row of Parquet; the offset of a live read",
        ),
        Column("log_partition", "int", "the partition of `__consumer_offsets`, if known", True),
        Column("log_offset", "long", "the offset of the record, if known", True),
        Column("reason", "string", "the error, as an English clause"),
        Column("sample", "string", "the start of the content: text, or bytes as hex", True),
    ),
    key=("source", "file", "position", "log_offset", "reason"),
)
