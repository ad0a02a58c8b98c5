"""One group as a whole, at one moment: its state, members with their timers, what it waits for, its offsets."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.explain.members import MemberExplanation
from fakebroker.broker.core.explain.offsets import GroupExplanation, OffsetExplanation, explain
from fakebroker.broker.core.explain.pending_offsets import PendingExplanation
from fakebroker.broker.core.explain.share_partitions import SharePartitionView
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.joins import NEW_MEMBER_TIMEOUT_MS
from fakebroker.broker.core.groups.modern.config import group_config_int
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
from fakebroker.broker.core.groups.modern.reconciling_group import ReconcilingGroup
from fakebroker.testing.explanations.rule_texts import rule_text
from fakebroker.testing.handles.finding import find_coordinator, find_group
from fakebroker.testing.handles.group_wait import doing
from fakebroker.testing.handles.member_view import MemberView, TasksView, members_of
from fakebroker.testing.handles.rebalance_view import RebalanceView, rebalance_of

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.groups.classic.members import Member
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.protocol.instant import Instant


class MemberLook(NamedTuple):
    """One member with its timers, which are monotonic time from now on.

    What the fields of a MemberView say, they say here. `doing` tells what it does or waits for, in words;
    `waiting_request` is its request that waits for an answer. `heard_ago_ms` is the time since its session was
    restarted; `session_left_ms` when it ends, null without a timer; `removed_left_ms` when a timer removes it, by
    `removed_rule`, null while none does.
    """

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    protocol: str
    is_leader: bool
    subscription: tuple[str, ...]
    topic_regex: str | None
    assignment: dict[str, list[int]]
    target: dict[str, list[int]]
    revoking: dict[str, list[int]]
    tasks: TasksView | None
    member_epoch: int
    state: str
    rack_id: str | None
    assignor: str | None
    doing: str
    waiting_request: str | None
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    heard_ago_ms: int | None
    session_left_ms: int | None
    removed_left_ms: int | None
    removed_rule: str


class PendingMember(NamedTuple):
    """An assigned member id that has not joined yet; it expires after `left_ms`."""

    member_id: str
    left_ms: int


class OffsetLook(NamedTuple):
    """One committed offset of a group, or the last one that expired.

    `status` is "kept" as long as the group stays as it is, "ages" if it goes at the cleanup at `pass_ms`, "expired" if
    it went there, all by `rule`; its retention counts from `base_ms`, and it is due at `due_ms` (times of day).
    `end_offset` and `lag` are null for a partition that is not there.
    """

    topic: str
    partition: int
    offset: int
    end_offset: int | None
    lag: int | None
    metadata: str
    leader_epoch: int
    committed_ms: int
    status: str
    rule: str
    base_ms: int | None
    due_ms: int | None
    pass_ms: int | None


class ExpiryView(NamedTuple):
    """How the group's offsets age: why, under which expiry policy, with which retention."""

    why: str
    policy: str
    retention_ms: int


class HoldView(NamedTuple):
    """What a test holds of a group."""

    hold_id: int
    phase: str
    text: str


class GroupView(NamedTuple):
    """A group as it is now. One that is gone, and whose offsets have expired, is "Dead" with what it has lost.

    `state_ms` is when it entered its state (time of day, -1 unknown), `state_for_ms` how long ago that was, and
    `state_reason` why. `epoch` is the generation of a classic group. `next` is what a group with epochs does next, in
    words. `rules` are the sentences of the rules that are named.
    """

    group_id: str
    kind: str
    state: str
    state_ms: int
    state_for_ms: int
    state_reason: str
    epoch: int
    assignment_epoch: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    coordinator: int
    now_ms: int
    members: list[MemberLook]
    pending_members: list[PendingMember]
    rebalance: RebalanceView | None
    next: str
    offsets: list[OffsetLook]
    pending_offsets: list[PendingExplanation]
    share_partitions: list[SharePartitionView]
    expiry: ExpiryView
    holds: list[HoldView]
    rules: dict[str, str]


def group_view(cluster: "Cluster", group_id: str, now: "Instant") -> GroupView | None:
    """The group as it is; None if there is none and none of its offsets has expired.

    Raises KafkaError while the group has no coordinator that can tell.
    """
    node = find_coordinator(cluster, group_id)
    explained, group = explain(node, group_id, now), find_group(cluster, group_id, now)
    if group is None and not explained.offsets:
        return None
    members = [] if group is None else list(_members(group, explained, now))
    rebalance = None if group is None else rebalance_of(group, explained.reconciliation, now)
    offsets = [_offset(cluster, group, each) for each in explained.offsets]
    named = [
        *(each.removed_rule for each in members),
        *(each.rule for each in offsets),
        rebalance.rule if rebalance else "",
    ]
    classic = group if isinstance(group, ClassicGroup) else None
    reconciliation = explained.reconciliation
    return GroupView(
        group_id,
        explained.kind,
        explained.state,
        explained.since_ms,
        max(0, now.wall_ms - explained.since_ms) if explained.since_ms >= 0 else -1,
        explained.state_reason,
        -1 if group is None else group.epoch,
        -1 if reconciliation is None else reconciliation.assignment_epoch,
        None if group is None else group.protocol_type,
        None if classic is None else classic.protocol,
        None if classic is None else classic.leader,
        node.id,
        now.wall_ms,
        members,
        [] if classic is None else list(_pending_members(classic, now)),
        rebalance,
        "" if reconciliation is None else reconciliation.next,
        offsets,
        list(explained.pending),
        [] if reconciliation is None else list(reconciliation.share_partitions),
        ExpiryView(explained.why, explained.policy, explained.retention_ms),
        _holds(cluster, group_id),
        {rule: rule_text(rule) for rule in dict.fromkeys(named) if rule},
    )


# -- members -----------------------------------------------------------------------------------------------------------


def _members(group: "Group", explained: GroupExplanation, now: "Instant") -> Iterator[MemberLook]:
    if isinstance(group, ClassicGroup):
        for view in members_of(group):
            yield _classic_member(group, group.members[view.member_id], view, now)
    elif isinstance(group, ModernGroup) and explained.reconciliation is not None:
        by_id = {each.member_id: each for each in explained.reconciliation.members}
        for view in members_of(group):
            yield _modern_member(group, view, by_id[view.member_id], now)


def _classic_member(group: ClassicGroup, member: "Member", view: MemberView, now: "Instant") -> MemberLook:
    waits = "JoinGroup" if member.parked_join is not None else "SyncGroup" if member.parked_sync is not None else None
    left_ms = None if member.session.due_ms is None else member.session.due_ms - now.mono_ms
    timeout_ms = NEW_MEMBER_TIMEOUT_MS if member.is_new else member.session_timeout_ms
    is_removed = member.is_new or waits is None  # a member whose request waits is alive, unless it is new (TM-2, TM-3)
    return _look(view, member.member_id == group.leader, doing(group, member))._replace(
        waiting_request=waits,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        heard_ago_ms=None if left_ms is None else max(0, timeout_ms - left_ms),
        session_left_ms=left_ms,
        removed_left_ms=left_ms if is_removed else None,
        removed_rule="" if not is_removed else "TM-3" if member.is_new else "TM-2",
    )


def _modern_member(group: ModernGroup, view: MemberView, explanation: MemberExplanation, now: "Instant") -> MemberLook:
    member = group.members[view.member_id]
    if isinstance(group, ReconcilingGroup):
        timeout_ms, rebalance_ms = group.session_timeout_ms(member), member.rebalance_timeout_ms
    else:
        timeout_ms, rebalance_ms = group_config_int(group.host, group.group_id, "share.session.timeout.ms"), None
    ends_ms = group.session_ends_ms(view.member_id)
    left_ms = None if ends_ms is None else ends_ms - now.mono_ms
    return _look(view, False, _doing(explanation))._replace(
        session_timeout_ms=timeout_ms,
        rebalance_timeout_ms=rebalance_ms,
        heard_ago_ms=None if left_ms is None else max(0, timeout_ms - left_ms),
        session_left_ms=left_ms,
        removed_left_ms=None if explanation.removed_ms is None else explanation.removed_ms - now.wall_ms,
        removed_rule=explanation.rule if explanation.removed_ms is not None else "",
    )


def _look(view: MemberView, is_leader: bool, doing: str) -> MemberLook:
    """What a member reported about itself, without its timers."""
    return MemberLook(
        view.member_id, view.client_id, view.client_host, view.group_instance_id, view.protocol, is_leader,
        view.subscription, view.topic_regex, view.assignment, view.target, view.revoking, view.tasks, view.member_epoch,
        view.state, view.rack_id, view.assignor, doing, None, None, None, None, None, None, "",
    )  # fmt: skip


def _doing(explanation: MemberExplanation) -> str:
    """What a member of a group with epochs has to do and waits for."""
    parts = [explanation.state]
    if explanation.gives_up:
        parts.append(f"must give up {', '.join(explanation.gives_up)}")
    if explanation.waits_for:
        holders = ", ".join(dict.fromkeys(explanation.waits_for.values()))
        parts.append(f"waits for {', '.join(explanation.waits_for)}, which {holders} has not given up")
    return "; ".join(parts)


def _pending_members(group: ClassicGroup, now: "Instant") -> Iterator[PendingMember]:
    for member_id, due_ms in group.pending_join_members.due_ms().items():
        yield PendingMember(member_id, max(0, due_ms - now.mono_ms))


# -- offsets and holds -------------------------------------------------------------------------------------------------


def _offset(cluster: "Cluster", group: "Group | None", offset: OffsetExplanation) -> OffsetLook:
    stored = None if group is None or offset.expired else group.offsets.get(offset.topic, offset.partition)
    partition = cluster.topics.partition(offset.topic, offset.partition)
    end_offset = None if partition is None else partition.log.high_watermark if partition.has_log else 0
    status = "expired" if offset.expired else "kept" if offset.due_ms is None else "ages"
    return OffsetLook(
        offset.topic,
        offset.partition,
        offset.offset,
        end_offset,
        None if end_offset is None else max(0, end_offset - offset.offset),
        "" if stored is None else stored.metadata,
        -1 if stored is None else stored.leader_epoch,
        offset.committed_ms,
        status,
        offset.rule,
        offset.base_ms,
        offset.due_ms,
        offset.pass_ms,
    )


def _holds(cluster: "Cluster", group_id: str) -> list[HoldView]:
    holds = cluster.holds.get(group_id, {}).items()
    return [HoldView(hold.hold_id, str(phase), hold.text(phase)) for phase, hold in holds if not hold.is_released]
