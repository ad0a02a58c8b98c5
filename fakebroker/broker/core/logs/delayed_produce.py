"""A Produce with acks -1 that waits until all replicas in sync have its records (PD-23, CLU-55, CLU-61)."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.deadlines import Timers
    from fakebroker.broker.core.topics import Partition


class ProduceTarget(NamedTuple):
    """A partition that was appended to, by whom, in which leader epoch, and up to where replicas have to come."""

    partition: "Partition"
    node_id: int
    leader_epoch: int
    end_offset: int
    settle: Callable[[ErrorCode], None]  # writes an error into the partition's answer


def target_of(partition: "Partition", node_id: int, settle: Callable[[ErrorCode], None]) -> ProduceTarget | None:
    """What to wait for after an append by a broker; None if the replicas have it, as is so nearly always."""
    seen = partition.stale_views.get(node_id) if partition.stale_views else None
    if seen is not None:
        return ProduceTarget(partition, node_id, seen.leader_epoch, seen.log_end_offset, settle)
    log = partition.log
    if log.high_watermark >= log.log_end_offset:
        return None
    return ProduceTarget(partition, node_id, partition.leader_epoch, log.log_end_offset, settle)


class DelayedProduce:
    """Ends when every target is settled, or at the request's timeout: REQUEST_TIMED_OUT for those that are not.

    It is registered in the `waiters` of the logs. Kafka: `DelayedProduce`.
    """

    __slots__ = ("_deadline", "_done", "_waiting")

    def __init__(self, targets: list[ProduceTarget], done: Callable[[], None]) -> None:
        self._waiting = dict(enumerate(targets))
        self._done = done
        self._deadline = Deadline(self._time_out, self)

    def begin(self, timers: "Timers", timeout_ms: int, now: Instant) -> None:
        """Start to wait."""
        for index, target in self._waiting.items():
            target.partition.log.waiters[self, index] = partial(self._look, index)
        timers.mono.arm(self._deadline, now.mono_ms + max(timeout_ms, 0))

    def stop(self) -> None:
        """Stop waiting for good."""
        self._deadline.end()
        for index in list(self._waiting):
            self._leave(index)

    def _leave(self, index: int) -> ProduceTarget:
        target = self._waiting.pop(index)
        target.partition.log.waiters.pop((self, index), None)
        return target

    def _look(self, index: int, _now: Instant) -> None:
        code = _outcome(self._waiting[index])
        if code is None:
            return
        target = self._leave(index)
        if code:
            target.settle(code)
        if not self._waiting:
            self.stop()
            self._done()

    def _time_out(self, _now: Instant) -> None:
        for target in self._waiting.values():
            target.settle(ErrorCode.REQUEST_TIMED_OUT)
        self.stop()
        self._done()


def _outcome(target: ProduceTarget) -> ErrorCode | None:
    """The code for a partition, None while it waits.

    NOT_LEADER_OR_FOLLOWER as soon as the broker knows that it does not lead any more; a zombie waits in vain.
    """
    partition = target.partition
    if partition.topic.cluster.topics.by_id(partition.topic.id) is not partition.topic:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    seen = partition.seen_by(target.node_id)
    if seen.leader != target.node_id or seen.leader_epoch != target.leader_epoch:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if seen is not partition or partition.log.high_watermark < target.end_offset:
        return None
    return ErrorCode.NONE if len(partition.isr) >= partition.min_isr else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
