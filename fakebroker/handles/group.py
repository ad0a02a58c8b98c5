"""A consumer group as a test sees it, and waiting for it to become what the test wants."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fakebroker.core.events import Transition
from fakebroker.core.groups.states import State
from fakebroker.core.offsets.expiry_policies import EXPIRY_POLICIES
from fakebroker.core.offsets.explain import GroupExplanation, explain, side_by_side
from fakebroker.core.topics import CONSUMER_OFFSETS
from fakebroker.errors import ErrorCode, KafkaError, WireError
from fakebroker.handles.handle import WAIT_S, Handle
from fakebroker.instant import Instant
from fakebroker.records.consumer_protocol import decode_assignment, decode_subscription
from fakebroker.records.offsets_topic import CommittedOffset

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.groups.classic_group import ClassicGroup
    from fakebroker.core.groups.members import Member
    from fakebroker.core.node import Node
    from fakebroker.handles.access import EngineAccess

T = TypeVar("T")


class MemberView(NamedTuple):
    """One member of a group as the coordinator knows it. Subscription and assignment are empty if they are
    not those of a consumer."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    subscription: tuple[str, ...]
    assignment: dict[str, list[int]]


class GroupHandle(Handle):
    """One consumer group by id, whether it exists or not; one that does not is "Dead" and without members."""

    def __init__(self, access: "EngineAccess", group_id: str) -> None:
        super().__init__(access)
        self.group_id = group_id

    def __repr__(self) -> str:
        return f"<group {self.group_id}>"

    @property
    def exists(self) -> bool:
        """Whether the coordinator knows the group."""
        return self._with_cluster(lambda cluster, now: self._group(cluster, now) is not None)

    @property
    def state(self) -> str:
        """ "Empty", "PreparingRebalance", "CompletingRebalance", "Stable" or "Dead"."""
        return self._with_cluster(lambda cluster, now: str(_state(self._group(cluster, now))))

    @property
    def generation(self) -> int:
        """The generation; 0 before the first one, -1 for a group that does not exist."""
        return self._ask(lambda group: group.generation, -1)

    @property
    def protocol(self) -> str | None:
        """The protocol (assignor) that the members agreed on."""
        return self._ask(lambda group: group.protocol, None)

    @property
    def leader(self) -> str | None:
        """The member id of the leader."""
        return self._ask(lambda group: group.leader, None)

    @property
    def members(self) -> list[MemberView]:
        """The members in the order in which they joined."""
        return self._ask(lambda group: [_member(group, member) for member in group.members.values()], [])

    @property
    def offsets(self) -> dict[tuple[str, int], int]:
        """The committed offsets by topic and partition."""
        return self._ask(lambda group: {(o.topic, o.partition): o.offset for o in _committed(group)}, {})

    @property
    def committed(self) -> list[CommittedOffset]:
        """The committed offsets with everything that is stored beside them: metadata, times, leader epoch."""
        return self._ask(lambda group: list(_committed(group)), [])

    def explain(self, policy: str | None = None) -> GroupExplanation:
        """Why each committed offset is still there or has expired, and when it will expire (KIP-211).

        The result can be printed, or its fields read.

        `policy` asks the expiry rules of another release about the group as it is: "2.0", "2.1", "3.9", "4.3" or
        "kip-211".
        Raises FakebrokerError for any other, KafkaError while the group has no coordinator.
        """
        return self._with_cluster(
            lambda cluster, now: explain(_coordinator(cluster, self.group_id), self.group_id, now, policy)
        )

    def explain_policies(self, *policies: str) -> str:
        """When each committed offset is due under several expiry policies, side by side; without names, under all."""
        return side_by_side(self.explain(policy) for policy in policies or EXPIRY_POLICIES)

    @property
    def transitions(self) -> list[Transition]:
        """Its changes of state with their reasons, oldest first, as far as the journal reaches back."""
        return self._access.call(self._transitions)

    def wait(
        self,
        *,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        timeout_s: float = WAIT_S,
    ) -> Any:
        """Wait until the group is as described: in `state`, with so many members, at least in this generation.

        Gives this handle (AsyncFakeBroker: an awaitable of it). Raises ValueError for a state that does not exist and
        WaitTimeout, which says what the group was instead.
        """
        if state is not None and state not in set(State):
            raise ValueError(f"{state!r} is no state of a group; those are {', '.join(State)}")
        wanted = _Wanted(state, members, generation)

        def probe() -> "GroupHandle | None":
            return self if wanted.holds(self._group_now()) else None

        def failure() -> str:
            lines = [
                f"waited {timeout_s:g} s for group {self.group_id} to be {wanted}; it is {_seen(self._group_now())}"
            ]
            lines += [
                f"  {t.before} -> {t.after}, generation {t.generation}: {t.reason}" for t in self._transitions()[-5:]
            ]
            return "\n".join(lines)

        return self._access.wait(probe, timeout_s, failure)

    def _group_now(self) -> "ClassicGroup | None":
        engine = self._access.engine
        return self._group(engine.cluster, engine.now)

    def _group(self, cluster: "Cluster", now: Instant) -> "ClassicGroup | None":
        return _find_group(cluster, self.group_id, now)

    def _ask(self, question: Callable[["ClassicGroup"], T], otherwise: T) -> T:
        def look(cluster: "Cluster", now: Instant) -> T:
            group = self._group(cluster, now)
            return otherwise if group is None else question(group)

        return self._with_cluster(look)

    def _transitions(self) -> list[Transition]:
        events = [recorded.event for recorded in self._access.engine.journal.events(Transition)]
        return [event for event in events if isinstance(event, Transition) and event.group_id == self.group_id]


class _Wanted:
    """The condition of a wait for a group; None where anything will do."""

    def __init__(self, state: str | None, members: int | None, generation: int | None) -> None:
        self.state = state
        self.members = members
        self.generation = generation

    def holds(self, group: "ClassicGroup | None") -> bool:
        """Whether the group is as wanted."""
        return (
            (self.state is None or self.state == _state(group))
            and (self.members is None or self.members == (len(group.members) if group else 0))
            and (self.generation is None or (group is not None and group.generation >= self.generation))
        )

    def __str__(self) -> str:
        parts = [self.state] if self.state is not None else []
        parts += [f"with {_members(self.members)}"] if self.members is not None else []
        parts += [f"in generation {self.generation} or later"] if self.generation is not None else []
        return " ".join(parts) or "there"


def _coordinator(cluster: "Cluster", group_id: str) -> "Node":
    """The node that leads the group's partition. Raises KafkaError COORDINATOR_NOT_AVAILABLE if there is none."""
    leader = cluster.group_partition(group_id).leader
    if leader not in cluster.nodes:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"group {group_id!r} has no coordinator")
    return cluster.nodes[leader]


def _find_group(cluster: "Cluster", group_id: str, now: Instant) -> "ClassicGroup | None":
    """The group where its coordinator has it; None without a coordinator, too, and while it is loading.

    A look makes no internal topic: clients could see it.
    """
    if CONSUMER_OFFSETS not in cluster.topics:
        return None
    node = cluster.nodes.get(cluster.group_partition(group_id).leader)
    try:
        return None if node is None else node.coordinator.shard(group_id, now).group(group_id)
    except KafkaError:
        return None


def _state(group: "ClassicGroup | None") -> State:
    return State.DEAD if group is None else group.state


def _seen(group: "ClassicGroup | None") -> str:
    if group is None:
        return "Dead: there is no such group"
    who = "".join(f", {member.member_id}" for member in group.members.values())
    return f"{group.state} in generation {group.generation} with {_members(len(group.members))}{who}"


def _members(count: int) -> str:
    return "1 member" if count == 1 else f"{count} members"


def _member(group: "ClassicGroup", member: "Member") -> MemberView:
    try:
        topics = tuple(decode_subscription(member.metadata(group.protocol)).topics)
        assignment = dict(decode_assignment(member.assignment).assigned_partitions)
    except WireError:
        topics, assignment = (), {}
    return MemberView(member.member_id, member.client_id, member.client_host, member.instance_id, topics, assignment)


def _committed(group: "ClassicGroup") -> "Iterator[CommittedOffset]":
    return map(CommittedOffset._make, group.offsets)
