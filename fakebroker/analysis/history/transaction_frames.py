"""What `fakebroker history decode` reads of `__transaction_state`, for both engines.

It is read in this process: of a transaction there are four records, of a group's offsets thousands.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fakebroker.analysis.history.log_record import LogRecord, Reject
from fakebroker.analysis.history.reading import has_scheme
from fakebroker.analysis.history.transaction_log import decode_transactions, read_segments, transaction_segments
from fakebroker.analysis.pipeline.contract import Row, Table
from fakebroker.analysis.pipeline.engines import contract_of
from fakebroker.analysis.pipeline.rows import write_rows

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.publish import Staging
    from fakebroker.client.security import ClientConfig


def transaction_frames(
    stage: "Staging", paths: Sequence[str], kafka: "ClientConfig | None", source: str
) -> tuple[Any, list[Row], int]:
    """The frame `transaction_log`, rejects as rows of `decoded`, and how many rows there are of both.

    Paths of other file systems have none. Raises ClusterError.
    """
    contract: Table = contract_of("transaction_log")
    rejects: list[Row] = []
    frame, rows = stage.write_ahead(
        contract.name,
        (),
        lambda folder: write_rows(contract, decode_transactions(_records(paths, kafka, source), rejects), folder),
    )
    return frame, rejects, rows + len(rejects)


def _records(paths: Sequence[str], kafka: "ClientConfig | None", source: str) -> Iterator[LogRecord | Reject]:
    if kafka is None:
        yield from read_segments(transaction_segments((path for path in paths if not has_scheme(path)), source))
        return
    from fakebroker.analysis.history.live import read_live_transactions

    yield from read_live_transactions(kafka, source)
