"""A member of a streams group: what it reported about itself, and what it has.

The two values are what the member's two records say (types 19 and 22), so that a step compares values, and writes a
record when they differ. Kafka: `StreamsGroupMember`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.broker.core.groups.streams.states import MemberState
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Task, Tasks


class Endpoint(NamedTuple):
    """Where an application answers interactive queries."""

    host: str
    port: int


class MemberMetadata(NamedTuple):
    """What a member reported about itself; any change of it bumps the group epoch (STE-1).

    Members of one process have the same `process_id`. `client_tags` are pairs of a key and a value, sorted by key.
    """

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()


class CurrentAssignment(NamedTuple):
    """What a member has: it may own `assigned`, and must give up `pending`.

    `stamps` are the epochs at which its active tasks were assigned, of both (STR-4).
    """

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Tasks = NO_TASKS
    pending: Tasks = NO_TASKS
    stamps: Mapping[Task, int] = {}

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether the member has all that the target assignment of that epoch gives it."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch


class StreamsMember(NamedTuple):
    """One member, as its records say."""

    member_id: str
    metadata: MemberMetadata = MemberMetadata()
    current: CurrentAssignment = CurrentAssignment()

    @property
    def epoch(self) -> int:
        """The member epoch."""
        return self.current.epoch

    @property
    def is_revoking(self) -> bool:
        """Whether it has tasks to give up."""
        return self.current.state is MemberState.UNREVOKED_TASKS

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long it may take to give tasks up."""
        return self.metadata.rebalance_timeout_ms

    @property
    def process_id(self) -> str:
        """The process that it runs in."""
        return self.metadata.process_id
