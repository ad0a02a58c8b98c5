"""A streams group: what it keeps in memory only, timers first of all, and who may commit.

What a request does to it is in `heartbeat.py`, `leaving.py` and `group_step.py`; what records do, in `stored_group.py`.
Kafka: `StreamsGroup`.
"""

from collections.abc import Generator, Mapping
from typing import Final

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.groups.classic.messages import AnswerJoin, JoinRequest
from fakebroker.broker.core.groups.host import GroupsHost, error_of_failed_write
from fakebroker.broker.core.groups.modern.classic_replacement import replace_with_classic_group
from fakebroker.broker.core.groups.modern.config import group_config_int
from fakebroker.broker.core.groups.modern.modern_group import RETRY_MS
from fakebroker.broker.core.groups.streams.internal_topics import ConfiguredTopology
from fakebroker.broker.core.groups.streams.member import StreamsMember
from fakebroker.broker.core.groups.streams.stored_group import StoredGroup
from fakebroker.broker.core.groups.streams.tasks import Task, Tasks
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace

LONGEST_RETRY_MS: Final = 60_000
_TOO_LARGE: Final = error_of_failed_write(ErrorCode.MESSAGE_TOO_LARGE)


class StreamsGroup(StoredGroup):
    """One group. What is listed here is not in the log: it is gone when the coordinator moves.

    Attributes:
        configured: the topology held against the topics that exist, None: nobody has looked yet.
        described: the same as it was when records were written last, which is what StreamsGroupDescribe shows (STD-1).
        endpoint_epoch: how often an endpoint got other tasks (STP-1).
        shutdown_member_id: the member that asked to shut down the application, None: nobody did (STH-33).
        initial_delay: runs while the first target assignment waits for further members (STE-3).
    """

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.configured: ConfiguredTopology | None = None
        self.described: ConfiguredTopology | None = None
        self.endpoint_epoch = 0
        self.shutdown_member_id: str | None = None
        self.initial_delay = Deadline(self._on_initial_delay, self)
        self._retry_ms = RETRY_MS  # after which a target that could not be stored is computed again

    def existing_count(self, topic: str) -> int | None:
        """The number of partitions of a topic, None if it does not exist."""
        found = self.host.topics.get(topic)
        return None if found is None else len(found.partitions)

    def end_session(self, member_id: str) -> None:
        """The member is gone: its timers go with it, and with the last one the request to shut down."""
        super().end_session(member_id)
        if not self.members:
            self.shutdown_member_id = None

    def join(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
        """JoinGroup: takes no classic members, but makes an Empty group a classic one (STL-1)."""
        if self.is_empty:
            replace_with_classic_group(self, self.host, request, answer, now)
        else:
            super().join(request, answer, now)

    # -- offsets -------------------------------------------------------------------------------------------------------

    def had_at(self, member_id: str, epoch: int, topic: str, partition: int) -> bool:
        """Whether the member holds the active task that reads the partition since that epoch or before (STO-1).

        A task that it has to give up counts; a topic that no task reads does not.
        """
        subtopology_id = None if self.topology is None else self.topology.source_topics.get(topic)
        if subtopology_id is None:
            return False
        stamp = self.members[member_id].current.stamps.get(Task(subtopology_id, partition))
        return stamp is not None and stamp <= epoch

    # -- timers --------------------------------------------------------------------------------------------------------

    def session_timeout_ms(self, member: StreamsMember) -> int:  # noqa: ARG002
        """How long a member may be silent: the group's config, alike for all (STM-1)."""
        return group_config_int(self.host, self.group_id, "streams.session.timeout.ms")

    def start_initial_delay(self, delay_ms: int, now: Instant) -> None:
        """Let the first target assignment wait for further members; a delay that runs already goes on (STE-3).

        Nothing is computed meanwhile.
        """
        if self.initial_delay.due_ms is None:
            if self._long_target is not None:
                self._long_target.end()
            self.mono.arm(self.initial_delay, now.mono_ms + delay_ms)

    def try_soon(self, now: Instant) -> None:
        """The group has changed: a first target that was too large for the log may fit now."""
        if self._retry_ms > RETRY_MS and self.initial_delay.due_ms is not None:
            self._retry_ms = RETRY_MS
            self.mono.arm(self.initial_delay, now.mono_ms + RETRY_MS)

    @property
    def in_initial_delay(self) -> bool:
        """Whether the first target assignment waits for further members."""
        return self.initial_delay.due_ms is not None

    def end_timers(self) -> None:
        """Disarm every timer for good."""
        super().end_timers()
        self.initial_delay.end()

    def _on_initial_delay(self, now: Instant) -> None:
        """Compute the target that waited, without any heartbeat (STE-3).

        One that is too large for the log will be so the next time: the pause doubles, as long as the group is the same.
        MOCK: Kafka tries every 500 ms, in a thread that serves one partition of groups.
        """
        from fakebroker.broker.core.groups.streams.group_step import compute_delayed_target

        self.initial_delay.disarm()
        try:
            compute_delayed_target(self, now)
        except KafkaError as error:  # it cannot be stored
            self.mono.arm(self.initial_delay, now.mono_ms + self._retry_ms)
            if error.code is _TOO_LARGE:
                self._retry_ms = min(2 * self._retry_ms, LONGEST_RETRY_MS)
        else:
            self._retry_ms = RETRY_MS

    # -- targets -------------------------------------------------------------------------------------------------------

    def compute_target(self, pace: Pace, now: Instant) -> Generator[None, None, Mapping[str, Tasks]]:
        from fakebroker.broker.core.groups.streams.group_step import GroupStep

        return GroupStep(self, now).target_in_steps(pace)

    def store_target(self, computed: Mapping[str, Tasks], now: Instant) -> None:
        from fakebroker.broker.core.groups.streams.group_step import GroupStep

        step = GroupStep(self, now)
        step.set_target(computed)
        step.write("its target assignment was computed")

    def remove_member(self, member_id: str, now: Instant, reason: str) -> None:
        """Remove a member; see `leaving.remove_member`."""
        from fakebroker.broker.core.groups.streams.leaving import remove_member

        remove_member(self, member_id, now, reason)
