"""A member of a consumer group: what it reported about itself, and what it has.

The two values are what the member's two records say (types 5 and 8), so that a step compares values, and writes a
record when they differ. Kafka: `ConsumerGroupMember`.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fakebroker.broker.core.groups.consumer.messages import STATIC_LEAVE_EPOCH
from fakebroker.broker.core.groups.consumer.states import MemberState

StampedPartitions = Mapping[bytes, Mapping[int, int]]  # topic id -> partition -> epoch at which it was assigned (CGR-5)


class ClassicMetadata(NamedTuple):
    """What only a member of the classic protocol has (CGM-3): `protocols` are pairs of a name and its metadata."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class MemberMetadata(NamedTuple):
    """What a member reported about itself.

    `topic_names` are sorted and have no duplicates; an empty `pattern` is none. `classic` is None for a member of the
    consumer protocol.
    """

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    pattern: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicMetadata | None = None

    def subscribes_as(self, other: "MemberMetadata") -> bool:
        """Whether both name the same topics and have the same pattern."""
        return self.topic_names == other.topic_names and self.pattern == other.pattern


class CurrentAssignment(NamedTuple):
    """What a member has: it may own `assigned`, and must give up `pending` (CGR-1)."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: StampedPartitions = {}
    pending: StampedPartitions = {}

    @property
    def is_away(self) -> bool:
        """Whether it is that of a static member that left and may come back (CGS-2)."""
        return self.epoch == STATIC_LEAVE_EPOCH

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether the member has all that the target assignment of that epoch gives it."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def partitions(self) -> Iterator[tuple[bytes, int]]:
        """The partitions that nobody else may have: those assigned, then those pending revocation."""
        for stamped in (self.assigned, self.pending):
            for topic_id, epochs in stamped.items():
                for partition in epochs:
                    yield topic_id, partition


class ConsumerMember(NamedTuple):
    """One member; a group keeps another value whenever one of its records is replayed."""

    member_id: str
    metadata: MemberMetadata = MemberMetadata()
    current: CurrentAssignment = CurrentAssignment()

    @property
    def epoch(self) -> int:
        """The member epoch."""
        return self.current.epoch

    @property
    def instance_id(self) -> str | None:
        """The id of a static member, None for a dynamic one."""
        return self.metadata.instance_id

    @property
    def is_revoking(self) -> bool:
        """Whether it has partitions to give up, and is not away."""
        return self.current.state is MemberState.UNREVOKED_PARTITIONS and not self.current.is_away

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long it may take to give partitions up."""
        return self.metadata.rebalance_timeout_ms

    @property
    def is_classic(self) -> bool:
        """Whether it came with JoinGroup."""
        return self.metadata.classic is not None
