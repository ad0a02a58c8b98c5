"""What decoding gives: commits, other records and rejects in one stream, from which the published tables are made."""

from typing import NamedTuple

from fakebroker.analysis.pipeline.contract import Column, Table
from fakebroker.analysis.pipeline.tables import commits, coordinator_records, rejects

_ALL = {
    column.name: column._replace(is_nullable=True)
    for table in (rejects.TABLE, coordinator_records.TABLE, commits.TABLE)
    for column in table.columns
}
# Columns of commits that are not in the record itself.
_LATER = {"outcome", "applied_at", "applied_log_offset", "member_id", "generation", "seq", "part"}


class DecodedOptions(NamedTuple):
    """What is known of the rows of `decoded` beforehand.

    Attributes:
        may_repeat: Whether two rows may be of one record, of a file and its copy. Without it the transformations on
            Spark leave out the comparing, which moves every row through a shuffle.
        has_transactions: Whether a row may be of a transaction: sinks do not tell, only segments and live logs do.
    """

    may_repeat: bool = True
    has_transactions: bool = True


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
