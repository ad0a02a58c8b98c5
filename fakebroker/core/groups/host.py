"""What a classic group needs of its surroundings. `Shard` implements it; the group tests implement it small."""

from typing import Protocol

from fakebroker.core.deadlines import Timers
from fakebroker.core.events import CoreEvent
from fakebroker.core.groups.classic.holds import GroupHolds
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant
from fakebroker.records.offsets_topic import GroupValue
from fakebroker.release import Behaviours
from fakebroker.settings import Settings


class GroupHost(Protocol):
    """Settings, behaviours, time, ids and storage, as one group sees them."""

    @property
    def settings(self) -> Settings: ...

    @property
    def behaviours(self) -> Behaviours: ...

    @property
    def timers(self) -> Timers: ...

    @property
    def holds(self) -> dict[str, GroupHolds]:
        """What a test holds, by group id."""

    def new_member_id(self, prefix: str) -> str:
        """A new, unique member id: `prefix`, a hyphen, a random UUID (JG-14)."""

    def write_group(self, group_id: str, value: GroupValue, now: Instant) -> ErrorCode:
        """Append the group's record to `__consumer_offsets` (CR-12).

        Returns NONE, or the append's own error, not yet mapped to what members are answered
        (`rebalance.error_of_failed_write`). The append does not wait for other replicas.
        """

    def emit(self, event: CoreEvent) -> None:
        """Report what happened, for the journal."""
