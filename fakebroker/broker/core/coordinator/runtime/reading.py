"""How a coordinator reads the log of a shard: in steps, between which clients may be served."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from fakebroker.broker.core.logs.whole_log import batches_in_steps
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import parse_header
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.record_codec import Record

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.runtime.coordinator_shard import CoordinatorShard

RECORDS_PER_STEP: Final = 500
"""How many records a step reads, or how many groups or transactional ids it makes of them."""

_BYTES_AS_A_RECORD = 256


def read_in_steps(shard: "CoordinatorShard", apply: Callable[[bytes, Pace], Iterator[None]]) -> Iterator[None]:
    """Have `apply` take each batch of the shard's log, up to where it ends then, in steps.

    Raises WireError naming the batch that cannot be read (LD-5).
    """
    log, pace = shard.partition.log, Pace(RECORDS_PER_STEP)
    for batch in batches_in_steps(log, lambda: min(log.log_end_offset, shard.log.log_end_offset)):
        if batch is None or pace.is_over():
            yield
        if batch is None:
            continue
        try:
            yield from apply(batch, pace)
        except (WireError, InvalidRecord) as error:
            raise WireError(f"{log.name}: batch at {parse_header(batch).base_offset}: {error}") from error


def cost_of(record: Record) -> int:
    """What it costs to read a record, in records of the usual size. Only a client's own may have headers."""
    return 1 + len(record.headers) + len(record.value or b"") // _BYTES_AS_A_RECORD
