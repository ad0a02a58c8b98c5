"""Target assignments of large groups: they are computed in steps, after the heartbeat that they are due with.

Kafka computes each in one of the threads that serve groups. Here one thread serves all clients, and to give 50,000
partitions to the members of a group takes seconds. Until its target is there, a member is answered as if the assignment
interval of the group were not over (CGE-10).
"""

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.groups.host import error_of_failed_write
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
    from fakebroker.protocol.pace import Pace

UNITS_PER_STEP: Final = 2_000  # partitions or tasks that are assigned: some 20 us for each
PARTITIONS_AT_ONCE: Final = 5_000  # that a heartbeat assigns itself
NAMES_AT_ONCE: Final = 30_000  # the same, of topics that members name: each member's are counted
_TOO_LARGE: Final = error_of_failed_write(ErrorCode.MESSAGE_TOO_LARGE)


def is_long(partitions: int, names: int) -> bool:
    """Whether a target takes so long that it is computed in steps. `names` are topics, once for each member that reads
    them.
    """
    return partitions > PARTITIONS_AT_ONCE or names > NAMES_AT_ONCE


class _Target(NamedTuple):
    """What was computed, and for which group: its epoch and its members."""

    epoch: int
    member_ids: frozenset[str]
    computed: Any


class LongTarget:
    """Computes the target of one group, one computation at a time.

    One that is over when the group is another one already begins anew.
    """

    __slots__ = ("_group", "_refused_epoch", "_running", "_steps")

    def __init__(self, group: "ModernGroup") -> None:
        self._group = group
        self._running: Deadline | None = None
        self._steps: Generator[None, None, _Target | None] | None = None
        self._refused_epoch = 0  # the group epoch whose target is too large for the log

    def check(self, group_epoch: int) -> None:
        """Raise KafkaError if the target of that epoch was computed, and is too large for the log.

        MOCK: Kafka refuses the heartbeat that made the target necessary, and nothing of that is stored either.
        """
        if group_epoch == self._refused_epoch:
            raise KafkaError(_TOO_LARGE, "the target of the group is too large to be stored")

    def text(self) -> str:
        """What there is to say of the target of the present group epoch; "" if there is nothing."""
        if self._running is not None:
            return f"the assignment of epoch {self._group.group_epoch} is being computed"
        if self._refused_epoch == self._group.group_epoch:
            return f"the assignment of epoch {self._refused_epoch} is too large to be stored"
        return ""

    def start(self, now: Instant) -> None:
        """Compute the target, unless that is being done."""
        if self._running is None:
            self._begin(now)

    def end(self) -> None:
        """Forget what is under way."""
        if self._running is not None and self._steps is not None:
            self._running.end()
            self._steps.close()
        self._running = self._steps = None

    def _begin(self, now: Instant) -> None:
        passes = self._group.host.timers.passes
        steps = self._in_steps(passes.pace(UNITS_PER_STEP), now)

        def done(target: _Target | None, now: Instant) -> None:
            deadline.end()
            if self._running is deadline:
                self._running = self._steps = None
                if target is not None and self._is_due:
                    self._take(target, now)

        self._steps = steps
        deadline = self._running = Deadline(partial(passes.take_steps, steps, done), self._group)
        self._group.mono.arm(deadline, now.mono_ms)

    def _in_steps(self, pace: "Pace", now: Instant) -> Generator[None, None, _Target | None]:
        """The target for the group as it is now; None if none is due any more.

        A computation that fails does not keep others from being begun.
        """
        if not self._is_due:
            return None
        epoch, member_ids = self._group.group_epoch, frozenset(self._group.members)
        try:
            return _Target(epoch, member_ids, (yield from self._group.compute_target(pace, now)))
        except Exception:
            if self._running is not None:
                self._running.end()
            self._running = self._steps = None
            raise

    @property
    def _is_due(self) -> bool:
        """Whether there are members, and no heartbeat has computed the target itself since."""
        return bool(self._group.members) and self._group.assignment_epoch < self._group.group_epoch

    def _take(self, target: _Target, now: Instant) -> None:
        """Store it, or begin anew. A static member that comes back under another id changes no epoch."""
        group = self._group
        if group.group_epoch != target.epoch or group.members.keys() != target.member_ids:
            self._begin(now)
            return
        try:
            group.store_target(target.computed, now)
        except KafkaError as error:  # that of another reason may be gone with the next heartbeat
            if error.code is _TOO_LARGE:
                self._refused_epoch = target.epoch
