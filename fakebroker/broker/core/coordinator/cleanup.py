"""The cleanup of expired offsets and empty groups: when it looks at a group, and what it removes (EX-1, EX-8, EX-9).

Kafka visits every group every `offsets.retention.check.interval.ms` (`cleanupGroupMetadata`,
`OffsetMetadataManager.cleanupExpiredOffsets`). Here a queue holds one entry per group, with the earliest time at which
an offset of it can be due; a group that is looked at too early gets a new entry for the right time. So a pass costs
what is due and not what there is, and passes at which nothing can be due are left out.

A pass over many groups has steps, and each step writes a batch of its own. Clients that are connected are served
between turns of a few steps (`long_passes.py`); what they commit meanwhile is for the next pass.
"""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.broker.core.coordinator.runtime.passes import PassGrid
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.long_passes import STEP_COST
from fakebroker.broker.core.offsets.expirations import OffsetsExpired
from fakebroker.broker.core.offsets.expiry import Aging, due_offsets, earliest_due_ms
from fakebroker.broker.core.offsets.expiry_policies import aging_of, configured_policy, policy_named
from fakebroker.broker.core.offsets.group_offsets import NEVER
from fakebroker.broker.core.offsets.records import Several
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import PARTITION, TOPIC, StoredOffset

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.shard import Shard
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.logs.pending_batches import DeferredRecords

    _Entry = tuple[int, int, Group]  # when to look, a ticket that keeps the order at equal times, at what

_EMPTY: Final = State.EMPTY  # read from the class at each commit, it would cost as much as a call (until Python 3.12)
_GROUP_COST: Final = 5  # of looking at a group and removing it, in offsets that expire
_SLACK: Final = 1000  # stale entries in the queue that are too few to be worth a pass over it


class _Plan(NamedTuple):
    """What a pass does with one group."""

    group: "Group"
    aging: Aging
    expired: list[StoredOffset]
    offsets: int  # how many the group has
    is_all: bool  # whether no other offset is stored or pending
    next_ms: int  # when the next of its other offsets is due
    removes_group: bool


class Cleanup:
    """The queue of one shard, and the deadline of the next pass that can find something.

    `policy_name` is the expiry policy in force, `retention_ms` the retention of offsets without an expire timestamp.
    """

    def __init__(self, shard: "Shard", since_ms: int) -> None:
        settings = shard.settings
        self.policy_name = configured_policy(settings, shard.behaviours)
        self.retention_ms = settings.get_int("offsets.retention.minutes") * 60_000
        self._policy = policy_named(self.policy_name)
        self._shard = shard
        self._grid = PassGrid(since_ms, settings.get_int("offsets.retention.check.interval.ms"))
        self._queue: list[_Entry] = []
        self._tickets = 0
        self._pass_ms: int | None = None  # when the pass began that is not done yet
        self._deadline = Deadline(self.run, owner=shard)

    def touch(self, group: "Group", due_ms: int, now_ms: int) -> None:
        """Look at the group at the first pass that sees what is due at `due_ms`, or at the next pass if that is past.

        Does nothing if the group is queued for an earlier time; that is what a commit to a live group costs here. A
        later entry of the group becomes stale (`check_ms` differs) and is skipped when it comes up.
        """
        if self._pass_ms is not None and due_ms <= self._pass_ms:
            due_ms = self._pass_ms + 1
        if due_ms < group.offsets.check_ms:
            group.offsets.check_ms = due_ms
            self._tickets += 1
            heappush(self._queue, (due_ms, self._tickets, group))
            self._arm(due_ms, now_ms)
            if len(self._queue) > 2 * len(self._shard.groups) + _SLACK:
                self._drop_stale_entries()

    def committed(self, group: "Group", commit_ms: int, expire_ms: int, now_ms: int) -> None:
        """Look at the group when offsets with these timestamps, just stored, may be due."""
        empty_since_ms = group.state_ms if group.state is _EMPTY and group.protocol_type else None
        due_ms = earliest_due_ms(commit_ms, expire_ms, self.retention_ms, empty_since_ms)
        if due_ms < group.offsets.check_ms:
            self.touch(group, due_ms, now_ms)

    def next_pass_ms(self, due_ms: int, now_ms: int) -> int:
        """The time of the first pass after `now_ms` at which `due_ms` has come (EX-1)."""
        return self._grid.next_ms(due_ms, now_ms)

    def due_groups(self, pass_ms: int) -> list[str]:
        """The ids of the groups that the pass at `pass_ms` will look at if nothing changes until then, in its order."""
        return [group.group_id for _, _, group in sorted(e for e in self._queue if e[0] <= pass_ms and _is_live(e))]

    def wall_time_went_back(self, by_ms: int, now_ms: int) -> None:
        """The time of day was set back by `by_ms` to `now_ms`: the next pass comes as soon as it would have come.

        It looks at every group: what was queued was queued in the time before.
        """
        self._grid.wall_time_went_back(by_ms)
        self.stop()
        for group in self._shard:
            group.offsets.check_ms = NEVER
            self.touch(group, now_ms, now_ms)

    def aging(self, group: "Group") -> Aging:
        """How the group's offsets age as long as it stays as it is."""
        return aging_of(group, self._policy, self.retention_ms)

    def stop(self) -> None:
        """Forget everything, as when the shard is unloaded."""
        self._deadline.disarm()
        self._queue.clear()
        self._pass_ms = None

    # -- the pass ------------------------------------------------------------------------------------------------

    def run(self, now: Instant) -> None:
        """Expire what is due, and remove groups that are left without offsets and members (EX-8, EX-9).

        What the turn has no time for is put off.
        """
        self._pass_ms = now.wall_ms
        self._go_on(now)

    def _go_on(self, now: Instant) -> None:
        """Take the next steps of the pass, if it was not stopped."""
        passes, pass_ms = self._shard.timers.passes, self._pass_ms
        if pass_ms is None:
            return
        while self._queue and self._queue[0][0] <= pass_ms:
            if passes.is_turn_over:
                passes.put_off(self._go_on)
                return
            plans, cost = self._due_plans(pass_ms)
            passes.spend(cost)
            self._expire(plans, pass_ms, now)
        self._pass_ms = None
        if self._queue:
            self._arm(self._queue[0][0], now.wall_ms)

    def _expire(self, plans: list[_Plan], pass_ms: int, now: Instant) -> None:
        """Carry out decisions: their tombstones go into the log, in one batch; then the cache and the journal follow.

        Several batches before 4.0 (CR-14).
        """
        for batch in self._shard.batches(plans):
            self._shard.append(Several([self._tombstones(plan) for plan in batch]), now)
            for plan in batch:
                self._apply(plan, pass_ms, now)

    def _drop_stale_entries(self) -> None:
        """Drop the entries that `_due_plans` would skip; else they would stay in the queue until their time."""
        self._queue = [entry for entry in self._queue if _is_live(entry)]
        heapify(self._queue)

    def _due_plans(self, pass_ms: int) -> tuple[list[_Plan], int]:
        """What the next step does with the groups that it looks at, and what it costs."""
        plans: list[_Plan] = []
        cost = 0
        while cost < STEP_COST and self._queue and self._queue[0][0] <= pass_ms:
            entry = heappop(self._queue)
            if _is_live(entry):
                group = entry[2]
                group.offsets.check_ms = NEVER
                plan = self._plan(group, pass_ms)
                plans.append(plan)
                cost += _GROUP_COST + plan.offsets
        return plans, cost

    def _plan(self, group: "Group", pass_ms: int) -> "_Plan":
        """Decide which of the group's offsets expire at this pass, and whether the group goes; changes nothing."""
        aging, offsets = self.aging(group), group.offsets
        expired, next_ms = due_offsets(aging, offsets.topics, pass_ms)
        if offsets.pending:
            count = len(expired)
            expired = [each for each in expired if not offsets.is_pending(each[TOPIC], each[PARTITION])]
            if len(expired) < count:
                next_ms = pass_ms + 1  # at the next pass, if the transaction is over by then (EX-4)
        count = len(offsets)
        is_all = not offsets.pending and len(expired) == count
        return _Plan(group, aging, expired, count, is_all, next_ms, is_all and group.is_empty and group.expires)

    def _tombstones(self, plan: "_Plan") -> "DeferredRecords":
        whole_group = plan.removes_group and self._shard.needs_tombstone(plan.group)
        return self._shard.tombstones(plan.group, plan.expired, whole_group)

    def _apply(self, plan: "_Plan", pass_ms: int, now: Instant) -> None:
        group = plan.group
        if plan.expired:
            if plan.is_all:
                group.offsets.replay_all_tombstones()
            else:
                group.offsets.replay_tombstones(plan.expired)
            expiration = OffsetsExpired(group.group_id, group.state, pass_ms, plan.aging, plan.expired)
            self._shard.emit(expiration)
            self._shard.cluster.expirations.add(expiration)
        if plan.removes_group:
            self._shard.forget(group, now, "Empty and without offsets")
        elif plan.next_ms < NEVER:
            self.touch(group, plan.next_ms, now.wall_ms)

    def _arm(self, due_ms: int, now_ms: int) -> None:
        pass_ms = self.next_pass_ms(due_ms, now_ms)
        if self._deadline.due_ms is None or pass_ms < self._deadline.due_ms:
            self._shard.timers.wall.arm(self._deadline, pass_ms)


def _is_live(entry: "_Entry") -> bool:
    due_ms, _, group = entry
    return group.offsets.check_ms == due_ms and not group.is_dead
