"""What a classic group needs of its surroundings: the shard that owns it implements this, tests implement it small."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fakebroker.core.deadlines import Timers
from fakebroker.core.events import CoreEvent
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant
from fakebroker.records.offsets_topic import GroupValue
from fakebroker.release import Behaviours
from fakebroker.settings import Settings

if TYPE_CHECKING:
    from fakebroker.core.groups.classic_group import ClassicGroup

WriteDone = Callable[[ErrorCode, Instant], None]


class GroupHost(Protocol):
    """Settings, behaviours, time, ids and storage, as one group sees them."""

    @property
    def settings(self) -> Settings: ...

    @property
    def behaviours(self) -> Behaviours: ...

    @property
    def timers(self) -> Timers: ...

    def new_member_id(self, prefix: str) -> str:
        """A member id nobody has: `prefix`, a hyphen, a random UUID (JG-14)."""

    def write_group(self, group: "ClassicGroup", value: GroupValue, now: Instant, done: WriteDone) -> None:
        """Append the group's record (CR-12).

        `done(code, now)` is called once: at once where the append needs nobody else, later where it waits for
        replicas (ST-7). `code` is the append's own error, not yet mapped for an answer (ST-8); NONE is success.
        """

    def emit(self, event: CoreEvent) -> None:
        """Tell what happened, for the journal."""
