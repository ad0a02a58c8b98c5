"""What each member of a consumer, share or streams group has and waits for, and what the group does next, in words.

The answers come from the group as it is now. Times are milliseconds since the epoch, in texts UTC: when something
happens unless the member is heard of before, or the clock of the test moves otherwise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.core.dates import date_text
from fakebroker.broker.core.explain.share_partitions import SharePartitionView, share_partitions_of
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.groups.modern.config import group_config_int
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
    from fakebroker.broker.core.groups.streams.streams_group import StreamsGroup
    from fakebroker.broker.core.topics import Topics

SHOWN = 10  # partitions or tasks of a list, the others are counted


class MemberExplanation(NamedTuple):
    """A member: what it owns, what it must give up, what it waits for, and the present owners.

    Partitions are spelled "orders-0", tasks of a streams group "0_1" as Kafka does. `removed_ms` is when a timer
    removes it, None without one; `rule` is the rule of the timer. `is_classic` marks a member of a consumer group that
    uses the classic protocol.
    """

    member_id: str
    client_id: str
    state: str
    member_epoch: int
    has: tuple[str, ...]
    gives_up: tuple[str, ...] = ()
    waits_for: Mapping[str, str] = {}
    removed_ms: int | None = None
    rule: str = ""
    is_classic: bool = False

    def __str__(self) -> str:
        who = f"client {self.client_id}" + (", classic protocol" if self.is_classic else "")
        text = f"member {self.member_id} ({who}): {self.state}, epoch {self.member_epoch}"
        text += f", owns {_listed(self.has)}"
        if self.gives_up:
            text += f"; must give up {_listed(self.gives_up)}"
        if self.waits_for:
            holders = ", ".join(dict.fromkeys(self.waits_for.values()))
            text += f"; waits for {_listed(self.waits_for)}, which {holders} has not given up"
        if self.removed_ms is not None:
            unless = "it gives them up" if self.gives_up else "it sends a heartbeat"
            text += f"; removed {date_text(self.removed_ms)} unless {unless} before ({self.rule})"
        return text


class _Explained(NamedTuple):
    members: list[MemberExplanation]
    next: str


class Reconciliation(NamedTuple):
    """The reconciliation of a group with epochs: its members, and its next step, "" if there is none.

    `assignment_epoch` is the group epoch for which the target assignment was computed. Only share groups have
    `share_partitions`.
    """

    group_epoch: int
    assignment_epoch: int
    members: tuple[MemberExplanation, ...] = ()
    next: str = ""
    share_partitions: tuple[SharePartitionView, ...] = ()

    def lines(self) -> list[str]:
        """Its text, line by line."""
        epochs = f"epoch {self.group_epoch}, assignment of epoch {self.assignment_epoch}"
        return [str(each) for each in (epochs, self.next, *self.members, *self.share_partitions) if each]


def explain_members(cluster: "Cluster", group: ModernGroup, now: Instant) -> Reconciliation:
    """What becomes of a group with epochs and of its members."""
    members, following = _EXPLANATIONS[group.kind](group, now)
    explained = Reconciliation(group.group_epoch, group.assignment_epoch, tuple(members), following)
    if isinstance(group, ShareGroup):
        return explained._replace(share_partitions=tuple(share_partitions_of(cluster, group, now)))
    return explained


# -- consumer groups ---------------------------------------------------------------------------------------------------


def _of_consumer(group: "ConsumerGroup", now: Instant) -> _Explained:
    from fakebroker.broker.core.groups.consumer.states import member_state_text

    topics, found = group.host.topics, []
    for member_id in group.member_ids():
        member = group.members[member_id]
        current = member.current
        target = group.target_of(member_id)
        revocation_ms = group.rebalance_timers.due_ms(member_id)
        ends_ms = group.session_ends_ms(member_id) if revocation_ms is None else revocation_ms
        waits_for = {
            _partition(topics, topic_id, index): group.owners[topic_id][index]
            for topic_id, indexes in target.items()
            for index in sorted(indexes)
            if group.owners.get(topic_id, {}).get(index, member_id) != member_id
        }
        found.append(
            MemberExplanation(
                member_id,
                member.metadata.client_id,
                member_state_text(current),
                current.epoch,
                tuple(_partitions(topics, current.assigned)),
                tuple(_partitions(topics, current.pending)),
                waits_for,
                _wall_ms(ends_ms, now),
                "CGT-1" if revocation_ms is None else "CGT-3",
                member.is_classic,
            )
        )
    return _Explained(found, _next_of_consumer(group, now))


def _next_of_consumer(group: "ConsumerGroup", now: Instant) -> str:
    due = _next_target(group, "consumer.assignment.interval.ms", "CGE-10", now)
    unresolved = group.unresolved_patterns()
    if due or not unresolved:
        return due
    return f"the pattern {unresolved[0]} is resolved by a heartbeat, ten seconds after the last one (CGX-4)"


# -- share groups ------------------------------------------------------------------------------------------------------


def _of_share(group: "ShareGroup", now: Instant) -> _Explained:
    topics, found = group.host.topics, []
    for member_id in group.member_ids():
        member = group.members[member_id]
        is_there = member.current.epoch == group.assignment_epoch
        found.append(
            MemberExplanation(
                member_id,
                member.metadata.client_id,
                "Stable" if is_there else "its next heartbeat brings its partitions",
                member.current.epoch,
                tuple(_partitions(topics, member.current.partitions)),
                removed_ms=_wall_ms(group.session_ends_ms(member_id), now),
                rule="SGH-20",
            )
        )
    return _Explained(found, _next_of_share(group, now))


def _next_of_share(group: "ShareGroup", now: Instant) -> str:
    known = group.state_partitions
    initializing = [f"{name}-{index}" for name, partitions in known.initializing.values() for index in partitions]
    if initializing:
        return f"the state of {_listed(initializing)} is being initialized; a later heartbeat assigns them (SGH-10)"
    if not group.is_empty and group.lacks_assignment:
        return "the next heartbeat assigns the initialized partitions (SGH-12)"
    return _next_target(group, "share.assignment.interval.ms", "SGH-13", now)


# -- streams groups ----------------------------------------------------------------------------------------------------


def _of_streams(group: "StreamsGroup", now: Instant) -> _Explained:
    from fakebroker.broker.core.groups.streams.states import member_state_text

    holders = _holders_of_tasks(group)
    found = []
    for member_id in group.member_ids():
        member = group.members[member_id]
        current, target = member.current, group.target_of(member_id)
        revocation_ms = group.rebalance_timers.due_ms(member_id)
        ends_ms = group.session_ends_ms(member_id) if revocation_ms is None else revocation_ms
        waits_for = {_task(task): holders[task] for task in target.active if holders.get(task, member_id) != member_id}
        found.append(
            MemberExplanation(
                member_id,
                member.metadata.client_id,
                member_state_text(current),
                current.epoch,
                tuple(_tasks(current.assigned)),
                tuple(_tasks(current.pending)),
                waits_for,
                _wall_ms(ends_ms, now),
                "STM-1" if revocation_ms is None else "STM-2",
            )
        )
    return _Explained(found, _next_of_streams(group, now))


def _next_of_streams(group: "StreamsGroup", now: Instant) -> str:
    if group.state == "NotReady":
        return _why_not_ready(group)
    due_ms = _wall_ms(group.initial_delay.due_ms, now)
    if due_ms is not None:
        return f"tasks are assigned {date_text(due_ms)}: an empty group waits for more members (STE-3)"
    return _next_target(group, "streams.assignment.interval.ms", "STE-4", now)


def _why_not_ready(group: "StreamsGroup") -> str:
    """What is missing of the topics of the topology as they are now."""
    from fakebroker.broker.core.groups.streams.internal_topics import configure

    if group.topology is None:
        return "tasks are assigned once the group has a topology (STT-4)"
    try:
        problem = configure(group.topology, group.existing_count).problem
    except KafkaError as error:
        return f"the topology can never become ready: {error}"
    if problem is None:
        return "the next heartbeat finds the topics of the topology complete (STT-4)"
    return f"no tasks are assigned while {problem.detail} (STT-4)"


def _holders_of_tasks(group: "StreamsGroup") -> dict[tuple[str, int], str]:
    """The member that processes each task, or has not given it up yet."""
    holders: dict[tuple[str, int], str] = {}
    for member_id, member in group.members.items():
        for task in (*member.current.assigned.active, *member.current.pending.active):
            holders[task] = member_id
    return holders


def _tasks(tasks: Any) -> Iterator[str]:
    yield from (_task(task) for task in tasks.active)
    yield from (f"{_task(task)} (standby)" for task in tasks.standby)


def _task(task: tuple[str, int]) -> str:
    return f"{task[0]}_{task[1]}"


# -- all kinds ---------------------------------------------------------------------------------------------------------


def _next_target(group: ModernGroup, interval: str, rule: str, now: Instant) -> str:
    """When a target assignment is computed, if one is missing; a heartbeat has to come for it."""
    if group.is_empty or group.group_epoch <= group.assignment_epoch:
        return ""
    if group.state_of_long_target:
        return group.state_of_long_target
    due_ms = group.assignment_ms + group_config_int(group.host, group.group_id, interval)
    when = f" from {date_text(due_ms)} on" if group.assignment_ms >= 0 and due_ms > now.wall_ms else ""
    return f"the next heartbeat{when} computes the assignment of epoch {group.group_epoch} ({rule})"


def _wall_ms(mono_ms: int | None, now: Instant) -> int | None:
    return None if mono_ms is None else now.wall_ms + mono_ms - now.mono_ms


def _partitions(topics: "Topics", partitions: Mapping[bytes, Iterable[int]]) -> Iterator[str]:
    for topic_id, indexes in partitions.items():
        yield from (_partition(topics, topic_id, index) for index in sorted(indexes))


def _partition(topics: "Topics", topic_id: bytes, index: int) -> str:
    topic = topics.by_id(topic_id)
    return f"{'a deleted topic' if topic is None else topic.name}-{index}"


def _listed(names: Iterable[str]) -> str:
    """The first few names, the others counted; "nothing" for none."""
    names = list(names)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) or "nothing") + more


_EXPLANATIONS: Mapping[GroupKind, Callable[[Any, Instant], _Explained]] = {
    GroupKind.CONSUMER: _of_consumer,
    GroupKind.SHARE: _of_share,
    GroupKind.STREAMS: _of_streams,
}
