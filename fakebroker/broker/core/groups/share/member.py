"""A member of a share group: what it reported about itself, and what it has. Kafka: `ShareGroupMember`.

Both are values, as the member's two records say (types 10 and 14), so that a step compares values and writes a record
when they differ.
"""

from typing import NamedTuple

from fakebroker.broker.core.groups.modern.assignments import NOTHING, Assignment


class MemberMetadata(NamedTuple):
    """What a member reported about itself. `topic_names` are sorted and have no duplicates."""

    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()


class CurrentAssignment(NamedTuple):
    """What a member has: there is no revocation, so the epoch says all (SGH-13)."""

    epoch: int = 0
    previous_epoch: int = 0
    partitions: Assignment = NOTHING


class ShareMember(NamedTuple):
    """One member."""

    member_id: str
    metadata: MemberMetadata = MemberMetadata()
    current: CurrentAssignment = CurrentAssignment()

    @property
    def topic_names(self) -> tuple[str, ...]:
        """The topics that it reads."""
        return self.metadata.topic_names
