"""When groups are looked at for expiry, and what happens then (EX-1, EX-8, EX-9).

Kafka visits every group every `offsets.retention.check.interval.ms`. Here a queue holds one lazy entry per group, the
earliest time at which something of it can be due; an entry that proves too early is put back where it belongs. A pass
costs what is due, and passes at which nothing can be due are jumped over.
"""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from fakebroker.core.deadlines import Deadline
from fakebroker.core.groups.states import State
from fakebroker.core.offsets.expirations import OffsetsExpired
from fakebroker.core.offsets.expiry import Aging, due_ms, earliest_due_ms
from fakebroker.core.offsets.expiry_policies import configured_policy, policy_named
from fakebroker.core.offsets.group_offsets import NEVER
from fakebroker.core.offsets.records import Tombstones
from fakebroker.instant import Instant
from fakebroker.records.offsets_topic import PARTITION, TOPIC, StoredOffset

if TYPE_CHECKING:
    from fakebroker.core.coordinator.shard import Shard
    from fakebroker.core.groups.classic_group import ClassicGroup

    _Entry = tuple[int, int, ClassicGroup]  # when to look, a ticket, at what

_SLACK: Final = 1000  # stale entries in the queue that are not worth a thought


class Cleanup:
    """The expiry queue of one shard, and the deadline of its next pass that can find something."""

    def __init__(self, shard: "Shard", since_ms: int) -> None:
        settings = shard.settings
        self.policy_name = configured_policy(settings, shard.behaviours)
        self.retention_ms = settings.int("offsets.retention.minutes") * 60_000
        self._policy = policy_named(self.policy_name)
        self._shard = shard
        self._since_ms = since_ms
        self._interval_ms = settings.int("offsets.retention.check.interval.ms")
        self._queue: list[_Entry] = []
        self._tickets = 0
        self._deadline = Deadline(self.run, owner=shard)

    def touch(self, group: "ClassicGroup", due_ms: int, now_ms: int) -> None:
        """Something of the group may be due at `due_ms`, or right away if that has passed: look at it by then."""
        if due_ms < group.offsets.check_ms:
            group.offsets.check_ms = due_ms
            self._tickets += 1
            heappush(self._queue, (due_ms, self._tickets, group))
            self._arm(due_ms, now_ms)
            if len(self._queue) > 2 * len(self._shard.groups) + _SLACK:
                self._drop_stale_entries()

    def committed(self, group: "ClassicGroup", offset: StoredOffset, now_ms: int) -> None:
        """Look at the group when `offset`, just stored, may be due; others stored with it have the same timestamps."""
        has_no_members = group.state is State.EMPTY and group.protocol_type
        empty_since_ms = group.state_ms if has_no_members else None
        self.touch(group, earliest_due_ms(offset, self.retention_ms, empty_since_ms), now_ms)

    def next_pass_ms(self, due_ms: int, now_ms: int) -> int:
        """The first cleanup after `now_ms` that sees what is due at `due_ms` (EX-1)."""
        since_ms, interval_ms = self._since_ms, self._interval_ms
        passes = max(-((since_ms - due_ms) // interval_ms), (now_ms - since_ms) // interval_ms + 1, 1)
        return since_ms + passes * interval_ms

    def aging(self, group: "ClassicGroup") -> Aging:
        """How the group's offsets age as long as it stays as it is."""
        return self._policy(group, self.retention_ms)

    def stop(self) -> None:
        """The shard is unloaded."""
        self._deadline.disarm()
        self._queue.clear()

    # -- the pass ------------------------------------------------------------------------------------------------

    def run(self, now: Instant) -> None:
        """Expire what is due; remove groups that are left without anything (EX-8, EX-9). One batch of tombstones."""
        tombstones: list[Tombstones] = []
        for group in self._due_groups(now.wall_ms):
            self._visit(group, now, tombstones)
        self._shard.append_all(tombstones, now)
        if self._queue:
            self._arm(self._queue[0][0], now.wall_ms)

    def _drop_stale_entries(self) -> None:
        """Entries of deleted groups, and of groups that were queued for an earlier time, would wait for theirs."""
        self._queue = [entry for entry in self._queue if _is_live(entry)]
        heapify(self._queue)

    def _due_groups(self, now_ms: int) -> list["ClassicGroup"]:
        groups = []
        while self._queue and self._queue[0][0] <= now_ms:
            entry = heappop(self._queue)
            if _is_live(entry):
                group = entry[2]
                group.offsets.check_ms = NEVER
                groups.append(group)
        return groups

    def _visit(self, group: "ClassicGroup", now: Instant, tombstones: list[Tombstones]) -> None:
        expired, next_ms = self._expire(group, now)
        vanishes = group.state is State.EMPTY and group.offsets.is_empty()
        if vanishes:
            leaves_tombstone = self._shard.needs_tombstone(group)
            self._shard.forget(group, now, "Empty and without offsets")
        elif next_ms < NEVER:
            self.touch(group, next_ms, now.wall_ms)
        if expired or (vanishes and leaves_tombstone):
            tombstones.append(Tombstones(group.group_id, expired, vanishes and leaves_tombstone))

    def _expire(self, group: "ClassicGroup", now: Instant) -> tuple[list[StoredOffset], int]:
        """Drop the group's due offsets: which, and when the next one is due."""
        aging, offsets, now_ms = self.aging(group), group.offsets, now.wall_ms
        expired: list[StoredOffset] = []
        next_ms = NEVER
        for offset in offsets:
            at_ms = due_ms(aging, offset)
            if at_ms > now_ms:
                next_ms = min(next_ms, at_ms)
            elif offsets.pending and offsets.is_pending(offset[TOPIC], offset[PARTITION]):
                next_ms = now_ms + 1  # at the next pass, if the transaction is over by then (EX-4)
            else:
                expired.append(offset)
        if expired:
            offsets.replay_tombstones(expired)
            expiration = OffsetsExpired(group.group_id, group.state, now_ms, aging, expired)
            self._shard.emit(expiration)
            self._shard.cluster.expirations.add(expiration)
        return expired, next_ms

    def _arm(self, due_ms: int, now_ms: int) -> None:
        pass_ms = self.next_pass_ms(due_ms, now_ms)
        if self._deadline.due_ms is None or pass_ms < self._deadline.due_ms:
            self._shard.timers.wall.arm(self._deadline, pass_ms)


def _is_live(entry: "_Entry") -> bool:
    due_ms, _, group = entry
    return group.offsets.check_ms == due_ms and group.state is not State.DEAD
