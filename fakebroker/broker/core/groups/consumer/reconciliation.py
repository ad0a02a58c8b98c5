"""Reconciliation: how a member gets from what it has to its target assignment (CGR).

One call is one look, at a heartbeat of the member; it makes a value and changes nothing. A partition changes hands in
three looks: its owner gets the revocation, its owner reports that it did, its new owner finds it free.
Kafka: `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

from fakebroker.broker.core.groups.consumer.member import CurrentAssignment, StampedPartitions
from fakebroker.broker.core.groups.consumer.states import NEXT_STATE, MemberState, Step

OwnedPartitions = Mapping[bytes, Sequence[int]]


class Goal(NamedTuple):
    """What a member shall have, and what it tells while it gets there.

    Args:
        epoch: the assignment epoch, for which the target was computed.
        target: the partitions that the member shall have, by topic id.
        subscribed: the ids of the topics that it subscribes to now. The target may be older than that, so what it has
            of other topics does not count.
        is_taken: tells of (topic id, partition) whether another member has it, assigned or pending revocation.
        owned: what the member says it owns; None: it does not say.
        subscription_changed: whether it subscribes to something else since its last heartbeat.
    """

    epoch: int
    target: OwnedPartitions
    subscribed: Container[bytes]
    is_taken: Callable[[bytes, int], bool]
    owned: OwnedPartitions | None = None
    subscription_changed: bool = False

    def may_still_own(self, partitions: StampedPartitions) -> bool:
        """Whether the member may own some of `partitions`: it names one, or does not say what it owns (CGR-4)."""
        if self.owned is None:
            return bool(partitions)
        return any(
            partition in partitions[topic_id]
            for topic_id, indexes in self.owned.items()
            if topic_id in partitions
            for partition in indexes
        )


def reconcile(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """What the member has after one look at its goal: `current` itself if nothing changes (CGR-2 to CGR-8)."""
    if current.is_reconciled_to(goal.epoch) and not goal.subscription_changed:
        return current
    return LOOKS[current.state](current, goal)


def look_when_stable(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """Approach a newer target, or drop what the member no longer subscribes to (CGR-2, CGR-7)."""
    if current.epoch != goal.epoch:
        return approach(current, goal)
    return _drop_unsubscribed(current, goal)


def look_when_unrevoked(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """Wait until the member owns nothing of what it must give up, then go on towards the target (CGR-4).

    A subscription that shrinks meanwhile adds to what it must give up.
    """
    if not goal.may_still_own(current.pending):
        return approach(current, goal)
    return _drop_unsubscribed(current, goal) if goal.subscription_changed else current


def approach(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """Compare what the member has with its target, and take the step that is possible now (CGR-3, CGR-5, CGR-6).

    It gives up first, at the same epoch, and only then takes over what is free; what others still have it gets one by
    one at later looks, already at the new epoch.
    """
    wanted = {topic_id: indexes for topic_id, indexes in goal.target.items() if topic_id in goal.subscribed}
    known = {topic_id: frozenset(indexes) for topic_id, indexes in wanted.items()}
    kept, surplus = _split(current.assigned, lambda topic_id, partition: partition in known.get(topic_id, ()))
    if goal.may_still_own(surplus):
        return _after(Step.REVOKE, current, current.epoch, kept, surplus)
    assigned, is_waiting = _with_free(kept, wanted, goal)
    return _after(Step.WAIT if is_waiting else Step.REACH, current, goal.epoch, assigned, {})


def _with_free(kept: StampedPartitions, wanted: OwnedPartitions, goal: Goal) -> tuple[StampedPartitions, bool]:
    """`kept` and the wanted partitions that nobody has, stamped with the goal's epoch; whether some are still missing.

    Partitions that the member itself had to give up are free for it.
    """
    assigned: dict[bytes, Mapping[int, int]] = {}
    is_waiting = False
    for topic_id, indexes in wanted.items():
        stamped = dict(kept.get(topic_id, {}))
        for partition in indexes:
            if partition in stamped:
                continue
            if goal.is_taken(topic_id, partition):
                is_waiting = True
            else:
                stamped[partition] = goal.epoch
        if stamped:
            assigned[topic_id] = stamped
    return assigned, is_waiting


def _drop_unsubscribed(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """Take away what the member no longer subscribes to, while its target is not computed anew (CGR-7).

    What it subscribes to now and did not before comes with the next target only. Its previous epoch becomes the present
    one in any case, as in Kafka.
    """
    kept, dropped = _split(current.assigned, lambda topic_id, _: topic_id in goal.subscribed)
    if not dropped:
        return current._replace(previous_epoch=current.epoch)
    pending = _merged(current.pending, dropped)
    if goal.may_still_own(pending):
        return _after(Step.REVOKE, current, current.epoch, kept, pending)
    return _after(Step.REACH, current, current.epoch, kept, {})


def _split(
    partitions: StampedPartitions, belongs: Callable[[bytes, int], bool]
) -> tuple[StampedPartitions, StampedPartitions]:
    """The partitions that belong, and the others; both keep their stamps."""
    inside: dict[bytes, dict[int, int]] = {}
    outside: dict[bytes, dict[int, int]] = {}
    for topic_id, stamped in partitions.items():
        for partition, epoch in stamped.items():
            side = inside if belongs(topic_id, partition) else outside
            side.setdefault(topic_id, {})[partition] = epoch
    return inside, outside


def _merged(one: StampedPartitions, other: StampedPartitions) -> StampedPartitions:
    merged = dict(one)
    for topic_id, stamped in other.items():
        merged[topic_id] = {**merged.get(topic_id, {}), **stamped}
    return merged


def _after(
    step: Step, before: CurrentAssignment, epoch: int, assigned: StampedPartitions, pending: StampedPartitions
) -> CurrentAssignment:
    """What the member has after a step. Its previous epoch is the one before, also when that stays the same."""
    return CurrentAssignment(epoch, before.epoch, NEXT_STATE[step], assigned, pending)


LOOKS: dict[MemberState, Callable[[CurrentAssignment, Goal], CurrentAssignment]] = {
    MemberState.STABLE: look_when_stable,
    MemberState.UNREVOKED_PARTITIONS: look_when_unrevoked,
    MemberState.UNRELEASED_PARTITIONS: approach,
}
