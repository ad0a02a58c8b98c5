"""What reading `__transaction_state` gives, as it is found in files: not published."""

from fakebroker.analysis.pipeline.contract import Table, columns
from fakebroker.analysis.pipeline.tables import transaction_records

TABLE = Table(
    name="transaction_log",
    layer="bronze",
    about="Every record of `__transaction_state` that is read, decoded, copies included; not published",
    columns=transaction_records.TABLE.columns
    + columns("""
        file string: the file, or HOST:PORT of a live read
    """),
    key=("source", "log_partition", "log_offset", "file"),
)
