"""A hold of a group's joins or syncs as a test sees it: who waits, and releasing them in an order, under a leader."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

from fakebroker.broker.core.groups.classic.holds import Hold, Phase, waiting_members
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.protocol.arguments.types import Count, TimeoutS
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.instant import Instant
from fakebroker.testing.handles.finding import find_classic_group, member_named
from fakebroker.testing.handles.handle import WAIT_S, EndsWithBlock, Handle
from fakebroker.testing.handles.member_view import MemberView, view_of

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
    from fakebroker.broker.core.groups.classic.members import Member
    from fakebroker.testing.handles.access import EngineAccess

_STATES = {Phase.JOIN: State.PREPARING, Phase.SYNC: State.COMPLETING}


class HoldHandle(Handle, EndsWithBlock):
    """A hold of one phase of a group's rebalances, made by `hold_joins` or `hold_syncs` of its handle.

    It ends with the phase that it holds: when the given number of members have sent their request, or when it is
    released. Until then it stays, even while the coordinator moves or loads (members' requests are answered with
    NOT_COORDINATOR, as usual, and the hold applies where the group is loaded); `reset()` ends it. If all members leave,
    the join phase ends, and the hold waits for the next one. At the end of a `with` block it is removed.
    """

    def __init__(self, access: "EngineAccess", cluster: "Cluster", group_id: str, phase: Phase, hold_id: int) -> None:
        super().__init__(access)
        self._cluster = ref(cluster)  # ids begin again in the next one, after a reset
        self.group_id = group_id
        self.phase = str(phase)  # "join" or "sync"
        self.hold_id = hold_id  # of the broker's holds, from 1

    def __repr__(self) -> str:
        return f"<hold {self.hold_id} of the {Phase(self.phase).requests} of group {self.group_id}>"

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self._with_cluster(lambda cluster, _now: self._hold(cluster) is not None)

    @property
    def waiting(self) -> list[MemberView]:
        """The members whose request waits for the phase to end, in the order in which they became members."""
        return self._with_cluster(self._waiting)

    def wait(self, members: Count, timeout_s: TimeoutS = WAIT_S) -> Any:
        """Wait until the requests of this many members are waiting.

        Gives this handle (AsyncFakeBroker: an awaitable of it). Raises WaitTimeout, which lists the waiting members.
        """

        def probe() -> "HoldHandle | None":
            return self if len(self._waiting_now()) >= members else None

        def failure() -> str:
            names = ", ".join(member.client_id for member in self._waiting_now().values()) or "no member"
            what = Phase(self.phase).requests
            return f"waited {timeout_s:g} s for {members} {what} of group {self.group_id} to wait; there is {names}"

        return self._access.wait(probe, timeout_s, failure)

    def release(self, order: Sequence[str] = (), leader: str | None = None) -> None:
        """End the hold: the group continues, at once if the phase would have ended by now without the hold.

        `order` lists members in the order of their answers; the others follow. `leader`, for a hold of joins, names the
        leader of the new generation. A name is a member id, a group instance id or a client id; of several members with
        one client id `leader` takes the first. A join phase that continues by itself (its initial delay runs, or
        members have not rejoined) uses these when it ends. Raises UnknownThing for a name that matches no waiting
        member, InvalidArgument for a hold that has ended.
        """
        check_leader(leader, Phase(self.phase))
        self._with_cluster(lambda cluster, now: self._release(cluster, now, order, leader))

    def remove(self) -> None:
        """End the hold, if active, without any choice: the group continues as in Kafka."""
        self._with_cluster(lambda cluster, now: self._remove(cluster, now))

    def _end_block(self) -> None:
        self.remove()

    # On the engine's thread

    def _hold(self, cluster: "Cluster") -> Hold | None:
        if self._cluster() is not cluster:
            return None
        hold = cluster.holds.get(self.group_id, {}).get(Phase(self.phase))
        return hold if hold is not None and hold.hold_id == self.hold_id and not hold.is_released else None

    def _release(self, cluster: "Cluster", now: Instant, order: Sequence[str], leader: str | None) -> None:
        hold = self._hold(cluster)
        if hold is None:
            raise InvalidArgument("hold_id", self.hold_id, f"{self!r} has ended, so there is nothing to release")
        group = find_classic_group(cluster, self.group_id, now)
        members = self._parked(group)
        fields = [*(("order", name) for name in order), *([("leader", leader)] if leader is not None else [])]
        for field, name in fields:
            member_named(field, name, members, f"among those that wait in group {self.group_id!r} is")
        self._end(cluster, group, hold._replace(order=tuple(order), leader=leader, is_released=True), now)

    def _remove(self, cluster: "Cluster", now: Instant) -> None:
        hold = self._hold(cluster)
        if hold is not None:
            group = find_classic_group(cluster, self.group_id, now)
            self._end(cluster, group, hold._replace(order=(), leader=None, is_released=True), now)

    def _end(self, cluster: "Cluster", group: "ClassicGroup | None", released: Hold, now: Instant) -> None:
        """The choice is kept only where a phase is under way that it can be for."""
        phase = Phase(self.phase)
        if group is not None and group.state is _STATES[phase]:
            group.release_hold(released, phase, now)
            self._access._engine.drain()
        else:
            del cluster.holds[self.group_id][phase]

    def _waiting(self, cluster: "Cluster", now: Instant) -> list[MemberView]:
        group = find_classic_group(cluster, self.group_id, now)
        return [] if group is None else [view_of(group, member) for member in self._parked(group).values()]

    def _waiting_now(self) -> "dict[str, Member]":
        engine = self._access._engine
        return self._parked(find_classic_group(engine.cluster, self.group_id, engine.now))

    def _parked(self, group: "ClassicGroup | None") -> "dict[str, Member]":
        return {} if group is None else waiting_members(group.members.values(), Phase(self.phase))


def checked_hold(until_members: int | None, order: Sequence[str], leader: str | None, phase: Phase) -> Hold:
    """A hold of these arguments. Raises InvalidArgument for a choice made too early."""
    check_leader(leader, phase)
    if until_members is None:
        for field, value in (("order", order), ("leader", leader)):
            if value:
                what = "a hold without until_members takes this in release()"
                raise InvalidArgument(field, value, f"{field}={value!r}: {what}")
    return Hold(until_members, tuple(order), leader)


def check_leader(leader: str | None, phase: Phase) -> None:
    """Raises InvalidArgument for a leader that is chosen at a sync."""
    if leader is not None and phase is Phase.SYNC:
        raise InvalidArgument("leader", leader, f"leader={leader!r}: the leader is chosen when the joins are answered")
