"""What reading journals gives: events and rejects, rows with a `reject_reason`, of which the tables are made."""

from fakebroker.analysis.pipeline.contract import Table, columns
from fakebroker.analysis.pipeline.tables import events

TABLE = Table(
    name="journal_lines",
    layer="bronze",
    about="Every line of the journals read, duplicates included, in no order; not published",
    columns=(
        *(column._replace(is_nullable=True) for column in events.TABLE.columns if column.name not in ("file", "line")),
        *columns("""
            file string: the file
            line long: the line, counted from 1; 0 for a file that cannot be read at all
            reject_reason string?: the error; null for an event
            reject_sample string?: the start of the content; null for an event
        """),
    ),
    key=("file", "line"),
)
