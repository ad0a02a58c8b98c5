"""Long work of a broker's process: in turns, so that clients are served meanwhile.

Loads of coordinators are such work, and the markers of transactions. It stands still while the process does.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.runtime.coordinator_shard import CoordinatorShard

Steps = Generator[None, None, None]


class ProcessSteps:
    """Steps of the coordinator of one shard, which cost about `STEP_COST` each; `LongPasses.now` is their time."""

    def __init__(self, shard: "CoordinatorShard", steps: Steps) -> None:
        self._node = shard.node
        self._timers = shard.timers
        self._steps: Steps | None = steps
        self._deadline = Deadline(self._go_on, owner=shard)

    def begin(self, due_ms: int) -> None:
        """Take the steps from `due_ms` on, on the monotonic clock."""
        self._timers.mono.arm(self._deadline, due_ms)

    @property
    def is_waiting(self) -> bool:
        """Whether their time has not come yet."""
        return self._deadline.due_ms is not None

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
