"""A load that is not over at once: it waits for its time, or goes on in turns so that clients are served meanwhile.

A slow load (`fakebroker.coordinator.load.ms`) waits and then reads; one of a long log reads in turns (`LongPasses`).
Both stand still while the broker's process does.
"""

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Final

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.logs.whole_log import batches_in_steps
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import parse_header
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.record_codec import Record

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.runtime.coordinator_shard import CoordinatorShard

Steps = Generator[None, None, None]

RECORDS_PER_STEP: Final = 500
"""How many records a step reads, or how many groups or transactional ids it makes of them."""


_BYTES_AS_A_RECORD = 256


class Load:
    """The load of one shard."""

    def __init__(self, shard: "CoordinatorShard", steps: Steps) -> None:
        self._node = shard.node
        self._timers = shard.timers
        self._steps: Steps | None = steps
        self._deadline = Deadline(self._go_on, owner=shard)

    def begin(self, due_ms: int) -> None:
        """Take the steps from `due_ms` on, on the monotonic clock."""
        self._timers.mono.arm(self._deadline, due_ms)

    def end(self) -> None:
        """Take no step any more."""
        self._deadline.end()  # not only disarmed: those of a frozen broker are armed again when it is thawed
        self._steps = None

    def _go_on(self, now: Instant) -> None:
        self._timers.passes.take_steps(self._steps_of_process(), self._stopped, now)

    def _steps_of_process(self) -> Generator[None, None, bool]:
        """The steps as long as the process runs. Returns whether it stands still."""
        while self._steps is not None and self._node.is_running:
            if next(self._steps, self) is self:
                return False
            yield
        return self._steps is not None

    def _stopped(self, is_frozen: bool, now: Instant) -> None:
        if is_frozen:
            self._node.run_when_thawed(self._deadline, now)


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
    """What it costs to read a record, in records of the usual size."""
    return 1 + len(record.value or b"") // _BYTES_AS_A_RECORD
