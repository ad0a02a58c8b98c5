"""What a group needs of its surroundings. `Shard` implements it; the group tests implement it small."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from fakebroker.broker.core.deadlines import Timers
from fakebroker.broker.core.events import CoreEvent
from fakebroker.broker.core.groups.classic.holds import GroupHolds
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.broker.release import Behaviours
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import GroupValue

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.topics import Topics
    from fakebroker.protocol.records.group_records import GroupRecord
    from fakebroker.protocol.records.offsets_topic import GroupEntry


MOST_READ_BYTES = 1_048_588  # of what members report; what a batch has by default


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

    def new_base64_id(self) -> str:
        """A new, unique member id without a prefix: 22 characters (CGH-4, CGM-5)."""

    def write_group(self, group_id: str, value: GroupValue, now: Instant) -> ErrorCode:
        """Append the group's record to `__consumer_offsets` (CR-12).

        Returns NONE, or the append's own error, not yet mapped to what members are answered
        (`error_of_failed_write`). The append does not wait for other replicas.
        """

    @property
    def group_configs(self) -> dict[str, dict[str, str]]:
        """The groups' own configs, by group id; those that were never set are absent."""

    @property
    def topics(self) -> "Topics":
        """The topics of the cluster."""

    def write_records(self, group_id: str, records: "Sequence[GroupRecord | GroupEntry]", now: Instant) -> ErrorCode:
        """Append records of one group as one batch, then apply each (`ModernGroup.replay`).

        A GroupEntry is a classic group's record, for a group that changes its kind. Returns NONE, or the append's own
        error as `write_group` does; then nothing has changed.
        """

    def emit(self, event: CoreEvent) -> None:
        """Report what happened, for the journal."""


class GroupsHost(GroupHost, Protocol):
    """A host that finds groups. `Shard` implements it."""

    def group(self, group_id: str) -> "Group | None":
        """The group of that id, or None."""


def may_be_stored(host: GroupHost, size_bytes: int) -> bool:
    """Whether so many bytes of what members report fit into one batch of `__consumer_offsets`.

    To read more than that would take seconds, and what came of it could not be stored anyway. MOCK: where that topic
    takes larger batches than by default, no more is read either.
    """
    topic = host.topics.get(CONSUMER_OFFSETS)
    return topic is None or size_bytes <= min(topic.config.log.max_message_bytes, MOST_READ_BYTES)


def error_of_failed_write(code: ErrorCode) -> ErrorCode:
    """The error that members are answered with when appending a group's records failed with `code` (ST-8)."""
    return _ERRORS_OF_FAILED_WRITES.get(code, code)


_ERRORS_OF_FAILED_WRITES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
