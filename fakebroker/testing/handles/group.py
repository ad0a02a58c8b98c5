"""A group of any kind as a test sees it: looking at it, changing it, stepping its rebalances, and waiting for it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fakebroker.broker.core.events import AssignmentComputed, GroupEpochBumped, MemberTransition, Transition
from fakebroker.broker.core.explain.members import explain_members
from fakebroker.broker.core.explain.offsets import GroupExplanation, explain, side_by_side
from fakebroker.broker.core.explain.share_partitions import SharePartitionView, share_partitions_of
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.holds import Phase
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.offsets.expiry_policies import EXPIRY_POLICIES
from fakebroker.protocol.arguments.kinds import Choice
from fakebroker.protocol.arguments.types import Count, CountFrom1, Offset, TimeoutS
from fakebroker.protocol.errors import ErrorCode, InvalidArgument, KafkaError, UnknownThing
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import CommittedOffset
from fakebroker.testing.handles.finding import find_coordinator, find_group, member_id_named
from fakebroker.testing.handles.group_commit import commit_as_admin
from fakebroker.testing.handles.group_wait import Wanted, is_reconciled, offsets_of, seen, state_of
from fakebroker.testing.handles.handle import WAIT_S, Handle
from fakebroker.testing.handles.hold import HoldHandle, checked_hold
from fakebroker.testing.handles.member_view import MemberView, members_of
from fakebroker.testing.literals import GroupState

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.testing.explanations.event_wording import GroupEvent
    from fakebroker.testing.handles.access import EngineAccess
    from fakebroker.testing.handles.group_view import GroupView

T = TypeVar("T")
Policy = Annotated[str, Choice(EXPIRY_POLICIES)]


class GroupHandle(Handle):
    """A group by id, whether it exists or not; a missing group is "Dead" and has no members.

    Its kind is "classic" (JoinGroup and SyncGroup), "consumer", "share" or "streams". Classic groups have generations,
    the others have epochs.
    """

    def __init__(self, access: "EngineAccess", group_id: str) -> None:
        super().__init__(access)
        self.group_id = group_id

    def __repr__(self) -> str:
        return f"<group {self.group_id}>"

    @property
    def exists(self) -> bool:
        """Whether the group exists at its coordinator."""
        return self._with_cluster(lambda cluster, now: self._group(cluster, now) is not None)

    @property
    def kind(self) -> str | None:
        """ "classic", "consumer", "share" or "streams"; None for a group that does not exist."""
        return self._ask(lambda group: group.kind.value, None)

    @property
    def state(self) -> str:
        """ "Empty", "Stable" or "Dead"; further states depend on the kind.

        Classic groups: "PreparingRebalance", "CompletingRebalance". Consumer and streams groups: "Assigning" while the
        target assignment is older than the group epoch, "Reconciling" while members have not reached theirs. Streams
        groups: "NotReady" while topics of the topology are missing.
        """
        return self._with_cluster(lambda cluster, now: str(state_of(self._group(cluster, now))))

    @property
    def generation(self) -> int:
        """The generation of a classic group; 0 before the first one, -1 for other kinds and missing groups."""
        return self._ask_classic(lambda group: group.generation, -1)

    @property
    def epoch(self) -> int:
        """The group epoch of a consumer, share or streams group; -1 for others."""
        return self._ask_modern(lambda group: group.group_epoch, -1)

    @property
    def assignment_epoch(self) -> int:
        """The group epoch for which the target assignment was computed; -1 for classic and missing groups."""
        return self._ask_modern(lambda group: group.assignment_epoch, -1)

    @property
    def is_reconciled(self) -> bool:
        """Whether every member has its target assignment; a classic group is reconciled when it is Stable."""
        return self._ask(is_reconciled, False)

    @property
    def protocol(self) -> str | None:
        """The protocol (assignor) that the members of a classic group agreed on."""
        return self._ask_classic(lambda group: group.protocol, None)

    @property
    def leader(self) -> str | None:
        """The member id of the leader of a classic group."""
        return self._ask_classic(lambda group: group.leader, None)

    @property
    def members(self) -> list[MemberView]:
        """The members: of a classic group in the order in which they joined, else in Kafka's order."""
        return self._ask(members_of, [])

    @property
    def share_partitions(self) -> list[SharePartitionView]:
        """The deliveries of a share group per partition: to which member, and until when; empty for other kinds."""
        return self._with_cluster(self._share_partitions)

    @property
    def offsets(self) -> dict[tuple[str, int], int]:
        """The committed offsets by topic and partition."""
        return self._ask(offsets_of, {})

    @property
    def committed(self) -> list[CommittedOffset]:
        """The committed offsets with all stored fields: metadata, times, leader epoch."""
        return self._ask(lambda group: list(_committed(group)), [])

    def explain(self, policy: Policy | None = None) -> GroupExplanation:
        """Why each committed offset is kept or has expired, and when it will expire (KIP-211).

        The result can be printed, or its fields read.

        `policy` applies the expiry rules of another release to the group: "2.0", "2.1", "3.9", "4.3" or "kip-211".
        Raises InvalidArgument for any other, KafkaError while the group has no coordinator.
        """
        return self._with_cluster(
            lambda cluster, now: explain(find_coordinator(cluster, self.group_id), self.group_id, now, policy)
        )

    def view(self) -> "GroupView":
        """The whole group at one moment, as shown by the web page: members with their timers, what a rebalance waits
        for, committed offsets with lag and due time, expired offsets.

        Raises UnknownThing for a missing group without expired offsets, KafkaError while it has no coordinator.
        """
        from fakebroker.testing.handles.group_view import group_view

        view = self._with_cluster(lambda cluster, now: group_view(cluster, self.group_id, now))
        if view is None:
            raise UnknownThing("group_id", self.group_id, f"there is no group {self.group_id!r}")
        return view

    def explain_policies(self, *policies: Policy) -> str:
        """When each committed offset is due under several expiry policies, side by side; without names, under all."""
        return side_by_side(self.explain(policy) for policy in policies or EXPIRY_POLICIES)

    @property
    def transitions(self) -> list[Transition]:
        """Its state changes with their reasons, oldest first, as far as the journal reaches back."""
        return [event for event in self._access._call(self._events) if isinstance(event, Transition)]

    @property
    def member_transitions(self) -> list[MemberTransition]:
        """The state changes of its members during reconciliation, with reasons, oldest first.

        Members of classic groups and of share groups have no such states.
        """
        return [event for event in self._access._call(self._events) if isinstance(event, MemberTransition)]

    # -- changing it ---------------------------------------------------------------------------------------------------

    def commit(self, offsets: Mapping[tuple[str, int], Offset], metadata: str = "") -> None:
        """Commit offsets by topic and partition, as an admin client does; all or none.

        A missing group is created. Raises KafkaError as Kafka answers: UNKNOWN_MEMBER_ID while the group has members,
        UNKNOWN_TOPIC_OR_PARTITION, OFFSET_METADATA_TOO_LARGE; InvalidArgument for invalid offsets.
        """
        self._with_cluster(lambda cluster, now: commit_as_admin(cluster, self.group_id, offsets, metadata, now))

    def delete(self) -> None:
        """Delete the group and its offsets, as DeleteGroups does.

        Raises KafkaError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP while it has members.
        """
        self._with_cluster(self._delete)

    def rebalance(self, reason: str = "requested by a test") -> None:
        """Start a rebalance of a classic group now, as after a metadata change.

        Members learn of it by their Heartbeat. Does nothing while one is in its join phase. `reason` appears in the
        transition. Raises UnknownThing for a missing group, InvalidArgument for a group without members, or of another
        kind, whose members reconcile one by one.
        """
        self._with_cluster(lambda cluster, now: self._rebalance(cluster, now, reason))

    def evict(self, member: str) -> None:
        """End the session of a member now, as if its session timeout had passed.

        `member` is a member id, a group instance id or a client id (then the first match). A waiting request of the
        member is answered with UNKNOWN_MEMBER_ID. Raises UnknownThing for an unknown member, KafkaError if the group
        cannot be stored.
        """
        self._with_cluster(lambda cluster, now: self._evict(cluster, now, member))

    # -- stepping its rebalances ---------------------------------------------------------------------------------------

    def hold_joins(
        self, *, until_members: CountFrom1 | None = None, order: Sequence[str] = (), leader: str | None = None
    ) -> HoldHandle:
        """Hold the join phase of a classic group's current or next rebalance.

        Regardless of timers, it ends when `until_members` members have joined, or, without that number, when the hold
        is released. `order` and `leader` are those of `HoldHandle.release`, for a hold with a number; it waits for the
        members they name. Raises InvalidArgument for numbers below 1, while another hold of its joins is active, and
        for a group whose members all speak another protocol.
        """
        return self._add_hold(Phase.JOIN, until_members, order, leader)

    def hold_syncs(self, *, until_members: CountFrom1 | None = None, order: Sequence[str] = ()) -> HoldHandle:
        """Hold the leader's assignment back, so that every SyncGroup waits.

        Between the answers to JoinGroup and SyncGroup the group is in CompletingRebalance and can be inspected. It
        continues when `until_members` members have sent SyncGroup, or, without that number, when the hold is released.
        A member that sends none is removed after its rebalance timeout, as usual. Raises InvalidArgument for numbers
        below 1, while another hold of its syncs is active, and for a group whose members all speak another protocol.
        """
        return self._add_hold(Phase.SYNC, until_members, order, None)

    @property
    def holds(self) -> list[HoldHandle]:
        """The holds of its joins and syncs that have not ended."""
        return self._with_cluster(lambda cluster, _now: self._holds(cluster))

    # -- waiting -------------------------------------------------------------------------------------------------------

    def wait(
        self,
        *,
        state: GroupState | None = None,
        members: Count | None = None,
        generation: Count | None = None,
        epoch: Count | None = None,
        protocol: str | None = None,
        joined: Count | None = None,
        assigned: bool = False,
        reconciled: bool = False,
        offsets: Mapping[tuple[str, int], Offset] | None = None,
        timeout_s: TimeoutS = WAIT_S,
    ) -> Any:
        """Wait until the group matches all given arguments.

        In `state`; with this number of `members`; in this `generation` (classic) or `epoch` (other kinds), or a later
        one; with this `protocol`; with this number of members whose JoinGroup waits (`joined`); Stable, with partitions
        or tasks for every member (`assigned`); with all members at their target assignment (`reconciled`); with at
        least these committed `offsets`. Returns this handle (AsyncFakeBroker: an awaitable of it). Raises
        InvalidArgument for an unknown state and for negative numbers, and WaitTimeout, which describes the group:
        members, waiting requests, holds, transitions.
        """
        wanted = Wanted(state, members, generation, epoch, protocol, joined, assigned, reconciled, offsets)
        began = self._access._call(lambda: self._access._engine.journal.next_seq)

        def probe() -> "GroupHandle | None":
            return self if wanted.holds(self._group_now()) else None

        def failure() -> str:
            holds = self._access._engine.cluster.holds.get(self.group_id, {})
            recorded = self._recorded_events()
            before = [event for seq, event in recorded if seq < began]
            since = [event for seq, event in recorded if seq >= began]
            first, *more = seen(self._group_now(), self._following(), holds, before, since)
            return "\n".join([f"waited {timeout_s:g} s for group {self.group_id} to be {wanted}; it is {first}", *more])

        return self._access.wait(probe, timeout_s, failure)

    # -- on the engine's thread ----------------------------------------------------------------------------------------

    def _add_hold(
        self, phase: Phase, until_members: int | None, order: Sequence[str], leader: str | None
    ) -> HoldHandle:
        hold = checked_hold(until_members, order, leader, phase)

        def add(cluster: "Cluster", now: Instant) -> HoldHandle:
            self._check_may_join(cluster, now)
            for active in self._holds(cluster):
                if active.phase == phase:
                    raise InvalidArgument("group_id", self.group_id, f"{active!r} is active; release it first")
            return HoldHandle(self._access, cluster, self.group_id, phase, cluster.hold(self.group_id, phase, hold))

        return self._with_cluster(add)

    def _check_may_join(self, cluster: "Cluster", now: Instant) -> None:
        """Raise InvalidArgument for a group that no JoinGroup can come to: nothing of it could be held."""
        group = self._group(cluster, now)
        if not isinstance(group, ModernGroup) or group.is_empty:
            return
        if all(view.protocol != GroupKind.CLASSIC for view in members_of(group)):
            text = f"group {self.group_id!r} is a {group.kind} group: its members never send JoinGroup"
            raise InvalidArgument("group_id", self.group_id, text)

    def _holds(self, cluster: "Cluster") -> list[HoldHandle]:
        holds = cluster.holds.get(self.group_id, {}).items()
        return [
            HoldHandle(self._access, cluster, self.group_id, phase, hold.hold_id)
            for phase, hold in holds
            if not hold.is_released
        ]

    def _share_partitions(self, cluster: "Cluster", now: Instant) -> list[SharePartitionView]:
        group = self._group(cluster, now)
        return share_partitions_of(cluster, group, now) if isinstance(group, ShareGroup) else []

    def _delete(self, cluster: "Cluster", now: Instant) -> None:
        code = (
            find_coordinator(cluster, self.group_id)
            .coordinator.shard(self.group_id, now)
            .delete_group(self.group_id, now)
        )
        if code is not ErrorCode.NONE:
            raise KafkaError(code, f"group {self.group_id!r} is {state_of(self._group(cluster, now))}")
        self._access._engine.drain()

    def _rebalance(self, cluster: "Cluster", now: Instant, reason: str) -> None:
        group = self._existing(cluster, now)
        if not isinstance(group, ClassicGroup):
            text = f"group {self.group_id!r} is a {group.kind} group: its members reconcile one by one"
            raise InvalidArgument("group_id", self.group_id, text)
        if not group.members:
            text = f"group {self.group_id!r} is {group.state}: it has no members to rebalance"
            raise InvalidArgument("group_id", self.group_id, text)
        group.request_rebalance(now, reason)
        self._access._engine.drain()

    def _evict(self, cluster: "Cluster", now: Instant, name: str) -> None:
        group = self._existing(cluster, now)
        group.evict(member_id_named("member", name, group), now)
        self._access._engine.drain()

    def _existing(self, cluster: "Cluster", now: Instant) -> "Group":
        group = self._group(cluster, now)
        if group is None:
            raise UnknownThing("group_id", self.group_id, f"there is no group {self.group_id!r}")
        return group

    def _group_now(self) -> "Group | None":
        engine = self._access._engine
        return self._group(engine.cluster, engine.now)

    def _following(self) -> str:
        """What a group with epochs does next; "" if nothing is due, and for others."""
        engine, group = self._access._engine, self._group_now()
        return explain_members(engine.cluster, group, engine.now).next if isinstance(group, ModernGroup) else ""

    def _group(self, cluster: "Cluster", now: Instant) -> "Group | None":
        return find_group(cluster, self.group_id, now)

    def _ask(self, question: Callable[["Group"], T], otherwise: T) -> T:
        def look(cluster: "Cluster", now: Instant) -> T:
            group = self._group(cluster, now)
            return otherwise if group is None else question(group)

        return self._with_cluster(look)

    def _ask_classic(self, question: Callable[[ClassicGroup], T], otherwise: T) -> T:
        return self._ask(lambda group: question(group) if isinstance(group, ClassicGroup) else otherwise, otherwise)

    def _ask_modern(self, question: Callable[[ModernGroup], T], otherwise: T) -> T:
        return self._ask(lambda group: question(group) if isinstance(group, ModernGroup) else otherwise, otherwise)

    def _events(self) -> "list[GroupEvent]":
        return [event for _, event in self._recorded_events()]

    def _recorded_events(self) -> "list[tuple[int, GroupEvent]]":
        """What happened to it and to its members, each with its number in the journal."""
        recorded = self._access._engine.journal.events()
        return [
            (each.seq, each.event)
            for each in recorded
            if isinstance(each.event, _GROUP_EVENTS) and each.event.group_id == self.group_id
        ]


_GROUP_EVENTS = (Transition, GroupEpochBumped, AssignmentComputed, MemberTransition)


def _committed(group: "Group") -> "Iterator[CommittedOffset]":
    return map(CommittedOffset._make, group.offsets)
