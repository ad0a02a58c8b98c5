"""A member of a consumer group: what it told of itself, what it has, and its timers.

The two values are what the member's two records say (types 5 and 8), so that a step compares values, and writes a
record when they differ. Kafka: `ConsumerGroupMember`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from fakebroker.core.deadlines import Deadline
from fakebroker.core.groups.consumer.messages import STATIC_LEAVE_EPOCH
from fakebroker.core.groups.consumer.states import MemberState
from fakebroker.instant import Instant

StampedPartitions = Mapping[bytes, Mapping[int, int]]  # topic id -> partition -> epoch at which it was assigned (CGR-5)


class ClassicMetadata(NamedTuple):
    """What only a member of the classic protocol has (CGM-3): `protocols` are pairs of a name and its metadata."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class MemberMetadata(NamedTuple):
    """What a member told of itself.

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


class CurrentAssignment(NamedTuple):
    """What a member has: it may own `assigned`, and must give up `pending` (CGR-1)."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: StampedPartitions = {}
    pending: StampedPartitions = {}

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether the member has all that the target assignment of that epoch gives it."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def partitions(self) -> Iterator[tuple[bytes, int]]:
        """The partitions that nobody else may have: those assigned, then those pending revocation."""
        for stamped in (self.assigned, self.pending):
            for topic_id, epochs in stamped.items():
                for partition in epochs:
                    yield topic_id, partition


class ConsumerMember:
    """One member. `session` removes it when it is silent (CGT-1), `rebalance` when it keeps what it must give up."""

    __slots__ = ("current", "member_id", "metadata", "rebalance", "session")

    def __init__(
        self,
        member_id: str,
        on_session_timeout: "Callable[[ConsumerMember, Instant], None]",
        on_rebalance_timeout: "Callable[[ConsumerMember, Instant], None]",
    ) -> None:
        """A member that has told and has nothing; timers are not armed, and call what is given with the member."""
        self.member_id = member_id
        self.metadata = MemberMetadata()
        self.current = CurrentAssignment()
        self.session = Deadline(partial(on_session_timeout, self), self)
        self.rebalance = Deadline(partial(on_rebalance_timeout, self), self)

    @property
    def epoch(self) -> int:
        """The member epoch."""
        return self.current.epoch

    @property
    def instance_id(self) -> str | None:
        """The id of a static member, None for a dynamic one."""
        return self.metadata.instance_id

    @property
    def is_classic(self) -> bool:
        """Whether it came with JoinGroup."""
        return self.metadata.classic is not None

    @property
    def is_away(self) -> bool:
        """Whether it is a static member that left and may come back (CGS-2)."""
        return self.current.epoch == STATIC_LEAVE_EPOCH

    def end(self) -> None:
        """It is no member any more: its timers go."""
        self.session.end()
        self.rebalance.end()

    def __repr__(self) -> str:
        return f"<consumer member {self.member_id}>"
