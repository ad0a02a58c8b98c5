"""What decoding gives: commits, other records and rejects in one stream, from which the published tables are made."""

from fakebroker.analysis.pipeline.contract import Column, Table
from fakebroker.analysis.pipeline.tables import commits, coordinator_records, rejects

_ALL = {
    column.name: column._replace(is_nullable=True)
    for table in (rejects.TABLE, coordinator_records.TABLE, commits.TABLE)
    for column in table.columns
}
# Columns of commits that are not in the record itself.
_LATER = {"outcome", "applied_at", "applied_log_offset", "member_id", "generation", "seq", "part"}


TABLE = Table(
    name="decoded",
    layer="bronze",
    about="Every record of the logs that are read, decoded, in no order; not published",
    columns=(
        Column("what", "string", "`commit`, `record` (any other record, markers too) or `reject`"),
        *(column for name, column in _ALL.items() if name not in _LATER),
    ),
    key=("what", "source", "log_partition", "log_offset", "file", "position"),
)
