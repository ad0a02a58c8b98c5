"""A streams group: what it keeps in memory only, timers first of all, and who may commit.

What a request does to it is in `heartbeat.py`, `leaving.py` and `group_step.py`; what records do, in `stored_group.py`.
Kafka: `StreamsGroup`.
"""

from functools import partial

from fakebroker.core.deadlines import Deadline
from fakebroker.core.groups.classic.messages import AnswerJoin, JoinRequest
from fakebroker.core.groups.modern.classic_instead import join_classic_instead
from fakebroker.core.groups.modern.config import group_config_int
from fakebroker.core.groups.modern.heartbeats import GroupsHost
from fakebroker.core.groups.modern.member_timers import MemberTimers
from fakebroker.core.groups.streams import offset_rules
from fakebroker.core.groups.streams.internal_topics import ConfiguredTopology
from fakebroker.core.groups.streams.member import StreamsMember
from fakebroker.core.groups.streams.states import MemberState
from fakebroker.core.groups.streams.stored_group import StoredGroup
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant


class StreamsGroup(StoredGroup):
    """One group. What is listed here is not in the log: it is gone when the coordinator moves.

    Attributes:
        configured: the topology held against the topics that exist, None: nobody has looked yet.
        described: the same as it was when records were written last, which is what StreamsGroupDescribe shows (STD-1).
        endpoint_epoch: how often an endpoint got other tasks (STP-1).
        shutdown_member_id: the member that asked to shut down the application, None: nobody did (STH-33).
        rebalance_timers: of the members that have tasks to give up (STM-2).
        initial_delay: runs while the first target assignment waits for further members (STE-3).
    """

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.configured: ConfiguredTopology | None = None
        self.described: ConfiguredTopology | None = None
        self.endpoint_epoch = 0
        self.shutdown_member_id: str | None = None
        self.rebalance_timers = MemberTimers(self.mono, self)
        self.initial_delay = Deadline(self._on_initial_delay, self)

    def existing_count(self, topic: str) -> int | None:
        """The number of partitions of a topic, None if it does not exist."""
        found = self.host.topics.get(topic)
        return None if found is None else len(found.partitions)

    def end_session(self, member_id: str) -> None:
        """The member is gone: its timers go with it, and with the last one the request to shut down."""
        super().end_session(member_id)
        self.rebalance_timers.end(member_id)
        if not self.members:
            self.shutdown_member_id = None

    def join(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
        """JoinGroup: takes no classic members, but makes an Empty group a classic one (STL-1)."""
        if self.is_empty:
            join_classic_instead(self, self.host, request, answer, now)
        else:
            super().join(request, answer, now)

    # -- offsets -------------------------------------------------------------------------------------------------------

    def error_for_commit(self, member_id: str, instance_id: str | None, epoch: int, version: int) -> ErrorCode:  # noqa: ARG002
        """The error that an OffsetCommit of that version is answered with, or NONE."""
        return offset_rules.error_for_commit(self, member_id, epoch, version)

    def error_for_txn_commit(self, member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:
        """The error that a TxnOffsetCommit is answered with, or NONE."""
        return offset_rules.error_for_txn_commit(self, member_id, instance_id, epoch)

    def is_late_commit(self, member_id: str, epoch: int) -> bool:
        """Whether a commit that was refused is of a member that had this epoch: then partitions decide."""
        return offset_rules.is_late_commit(self, member_id, epoch)

    def had_at(self, member_id: str, epoch: int, topic: str, partition: int) -> bool:
        """Whether the member has the task that reads the partition, and had it at that epoch of its own already."""
        return offset_rules.had_at(self, member_id, epoch, topic, partition)

    def error_for_offset_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """The error that an OffsetFetch is answered with, or NONE."""
        return offset_rules.error_for_fetch(self, member_id, epoch)

    def error_for_offset_delete(self) -> ErrorCode:
        """None, whatever the state: partitions of topics that tasks read are spared one by one (STO-1)."""
        return ErrorCode.NONE

    # -- timers --------------------------------------------------------------------------------------------------------

    def loaded(self, now: Instant) -> None:
        """Start the timers of all members anew (STM-1, CGT-4)."""
        for member in self.members.values():
            self.restart_session_of_member(member.member_id, now)
            self.watch_revocation(member, now)
        self.tell_state(now, "loaded from the log")

    def restart_session_of_member(self, member_id: str, now: Instant) -> None:
        """The member was heard of: its session ends when the group's configuration says, from now on (STM-1)."""
        timeout_ms = group_config_int(self.host, self.group_id, "streams.session.timeout.ms")
        self.restart_session(member_id, timeout_ms, now)

    def watch_revocation(self, member: StreamsMember, now: Instant) -> None:
        """Start the member's rebalance timer if it has tasks to give up, else stop it (STM-2)."""
        if member.current.state is MemberState.UNREVOKED_TASKS:
            action = partial(self._on_rebalance_timeout, member.member_id, member.epoch)
            self.rebalance_timers.start(member.member_id, member.metadata.rebalance_timeout_ms, action, now)
        else:
            self.rebalance_timers.end(member.member_id)

    def start_initial_delay(self, delay_ms: int, now: Instant) -> None:
        """Let the first target assignment wait for further members; a delay that runs already goes on (STE-3)."""
        if self.initial_delay.due_ms is None:
            self.mono.arm(self.initial_delay, now.mono_ms + delay_ms)

    @property
    def in_initial_delay(self) -> bool:
        """Whether the first target assignment waits for further members."""
        return self.initial_delay.due_ms is not None

    def end_timers(self) -> None:
        """Disarm every timer for good."""
        super().end_timers()
        self.rebalance_timers.end_all()
        self.initial_delay.end()

    def on_session_timeout(self, member_id: str, now: Instant) -> None:
        """The member was silent for too long: it is removed as if it had left (STM-1)."""
        from fakebroker.core.groups.streams.leaving import remove_silent_member

        remove_silent_member(self, member_id, now, f"member {member_id} timed out")

    def _on_rebalance_timeout(self, member_id: str, epoch: int, now: Instant) -> None:
        """The member did not give up its tasks in time: it is removed, unless it got on meanwhile (STM-2)."""
        from fakebroker.core.groups.streams.leaving import remove_silent_member

        member = self.members.get(member_id)
        if member is not None and member.epoch == epoch:
            remove_silent_member(self, member_id, now, f"member {member_id} did not give up its tasks in time")

    def _on_initial_delay(self, now: Instant) -> None:
        """Compute the target that waited, without any heartbeat (STE-3)."""
        from fakebroker.core.groups.streams.group_step import compute_delayed_target

        self.initial_delay.disarm()
        compute_delayed_target(self, now)

    # -- what a test does ----------------------------------------------------------------------------------------------

    def evict(self, member_id: str, now: Instant) -> None:
        """Remove a member as if its session had timed out now. KeyError if there is none."""
        from fakebroker.core.groups.streams.leaving import remove_member

        remove_member(self, self.members[member_id].member_id, now, f"member {member_id} was evicted by a test")
