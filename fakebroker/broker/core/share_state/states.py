"""What the share coordinator keeps of a share partition, and what is written to it (KIP-932, SGB-2..SGB-4).

A share partition is a share group's view of a partition of a topic: which of its records were delivered, and how often.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Final, NamedTuple

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

NO_OFFSET: Final = -1
"""A start offset that `share.auto.offset.reset` has yet to choose (SGP-1)."""
NO_EPOCH: Final = -1
MAX_BATCHES: Final = 25_000
"""MOCK: how many batches may be stored of a share partition. In Kafka the window bounds them, to some 10,000."""
NO_COUNT: Final = -1
"""A delivery-complete count that is not known."""


class SharePartition(NamedTuple):
    """The key of a share partition. `topic_id` has 16 bytes."""

    group_id: str
    topic_id: bytes
    partition: int

    def __str__(self) -> str:
        """As FindCoordinator spells it, which also says the partition of `__share_group_state` (SGL-4, SGB-2)."""
        topic_id = urlsafe_b64encode(self.topic_id).rstrip(b"=").decode()
        return f"{self.group_id}:{topic_id}:{self.partition}"


class StateBatch(NamedTuple):
    """The records from `first_offset` to `last_offset`, both included, whose delivery state is the same.

    `delivery_state` is as persisted: 0 Available, 2 Acknowledged, 4 Archived.
    """

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


class ShareState(NamedTuple):
    """What is stored of a share partition.

    `state_epoch` counts its initializations, `leader_epoch` is that of the topic's partition as of the last write,
    `start_offset` is NO_OFFSET before it was chosen. `delivery_complete_count` is how many records at or above the
    start offset are done with, NO_COUNT if no leader has sent it. `batches` are in ascending order.
    """

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = NO_COUNT
    batches: tuple[StateBatch, ...] = ()


class StateWrite(NamedTuple):
    """What the leader of the topic's partition writes: only the batches that have changed.

    `start_offset` NO_OFFSET leaves the one that is stored.
    """

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...] = ()


CodeAnswer = Callable[[ErrorCode, Instant], None]
StateAnswer = Callable[[ErrorCode, ShareState, Instant], None]

NO_STATE: Final = ShareState(0, NO_EPOCH, NO_OFFSET)
"""The state in answers that are errors."""
