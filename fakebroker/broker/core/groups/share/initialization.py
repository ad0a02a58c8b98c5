"""Asking the share coordinator for the states of share partitions, and noting what came of it (SGH-10, SGO-4).

Kafka: `GroupCoordinatorService.persisterInitialize`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.share import records
from fakebroker.broker.core.groups.share.pending_answers import PendingAnswers, ask_all
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.groups.share.state_partitions import Partitions
from fakebroker.broker.core.share_state import asking
from fakebroker.broker.core.share_state.states import NO_OFFSET, SharePartition
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.asking import ShareStateNode

Codes = Mapping[SharePartition, ErrorCode]


class ShareGroupHost(GroupsHost, Protocol):
    """A host of share groups. `Shard` implements it."""

    @property
    def node(self) -> "ShareStateNode":
        """The broker that asks for the states of share partitions."""


def begin_initialization(shard: ShareGroupHost, group: ShareGroup, partitions: Partitions, now: Instant) -> None:
    """Ask for the states of these partitions at the same instant, after the answer that is being made now."""
    if not partitions:
        return
    epoch = group.group_epoch
    timer = Deadline(lambda now: _ask(shard, group, epoch, partitions, timer, now), owner=group)
    group.initializations[timer] = None
    group.mono.arm(timer, now.mono_ms)


def _ask(
    shard: ShareGroupHost, group: ShareGroup, epoch: int, partitions: Partitions, timer: Deadline, now: Instant
) -> None:
    timer.end()  # and is in no cycle with all the partitions any more
    group.initializations.pop(timer, None)
    keys = keys_of(group.group_id, partitions)
    initialize(shard, dict.fromkeys(keys, NO_OFFSET), epoch, partial(_initialized, shard, group, partitions), now)


def initialize(
    shard: ShareGroupHost,
    start_offsets: Mapping[SharePartition, int],
    epoch: int,
    answer: Callable[[Codes, Instant], None],
    now: Instant,
) -> None:
    """Ask for states that begin at these offsets (NO_OFFSET: to be chosen) with state epoch `epoch`.

    `answer` is called once, with the code of each share partition.
    """
    node, pending = shard.node, PendingAnswers(start_offsets, answer)

    def ask(key: SharePartition, now: Instant) -> None:
        asking.initialize(node, key, epoch, start_offsets[key], pending.one_for(key), now)

    ask_all(node, pending, ask, now)


def note(shard: ShareGroupHost, group: ShareGroup, partitions: Partitions, is_success: bool, now: Instant) -> None:
    """Write what came of it, unless the group is gone: all of them have a state now, or none of them counts."""
    if group.is_dead or shard.group(group.group_id) is not group:
        return
    known = group.state_partitions
    known = known.succeeded(partitions) if is_success else known.failed(partitions)
    group.try_to_write(
        [records.state_partitions_record(group.group_id, known)], now, "share partitions were initialized"
    )


def keys_of(group_id: str, partitions: Partitions) -> list[SharePartition]:
    """The keys of these partitions."""
    return [
        SharePartition(group_id, topic_id, index) for topic_id, each in partitions.items() for index in each.partitions
    ]


def _initialized(shard: ShareGroupHost, group: ShareGroup, partitions: Partitions, codes: Codes, now: Instant) -> None:
    note(shard, group, partitions, not any(codes.values()), now)
