"""A group without a broker: a host that keeps what it gets, a clock that is driven, requests with short names."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from fakebroker.broker.core.deadlines import Timers
from fakebroker.broker.core.events import CoreEvent, Transition
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.holds import GroupHolds, Hold, Phase
from fakebroker.broker.core.groups.classic.messages import JoinAnswer, JoinRequest, Leaver, SyncAnswer, SyncRequest
from fakebroker.broker.core.groups.host import GroupHost
from fakebroker.broker.core.topics import Topic
from fakebroker.broker.release import Behaviours, release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import GroupValue
from tests.support.parked import Parked
from tests.support.time import TimeDriven

RANGE = (("range", b"r"),)
EMPTY, PREPARING, COMPLETING, STABLE, DEAD = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"


class OneGroup(TimeDriven):
    """One group named "g" and everything around it. `ms` counts from 0; `settings` are Kafka's own defaults."""

    def __init__(self, settings: dict[str, object] | None = None, as_release: str = "4.3") -> None:
        self.settings = Settings(settings or {})
        self.behaviours: Behaviours = release(as_release).behaviours
        self.timers = Timers()
        self.holds: dict[str, GroupHolds] = {}
        self.topics: dict[str, Topic] = {}  # none, so that whatever members report may be stored
        super().__init__(self.timers)
        self.events: list[CoreEvent] = []
        self.written: list[GroupValue] = []
        self.write_result = ErrorCode.NONE
        self.on_write: Callable[[], None] | None = None  # looks at the group in the middle of a write
        self._ids = 0
        self.group = ClassicGroup("g", cast(GroupHost, self), self.now)  # which it asks for no more than is here

    # -- GroupHost ---------------------------------------------------------------------------------------------------

    def new_member_id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}-{self._ids}"

    def write_group(self, _group_id: str, value: GroupValue, _now: Instant) -> ErrorCode:
        self.written.append(value)
        if self.on_write is not None:
            self.on_write()
        return self.write_result

    def emit(self, event: CoreEvent) -> None:
        self.events.append(event)

    # -- time --------------------------------------------------------------------------------------------------------

    def wait_until(self, ms: int) -> None:
        self.wait(ms - self.ms)

    # -- requests ----------------------------------------------------------------------------------------------------

    def join(self, member_id: str = "", **changes: Any) -> Parked[JoinAnswer]:
        """A JoinGroup of client "c": session timeout 10 s, rebalance timeout 60 s unless said otherwise."""
        request = JoinRequest(
            member_id,
            changes.pop("instance", None),
            changes.pop("client", "c"),
            "/127.0.0.1",
            changes.pop("session", 10_000),
            changes.pop("rebalance", 60_000),
            changes.pop("type", "consumer"),
            tuple(changes.pop("protocols", RANGE)),
            needs_member_id=changes.pop("handshake", False),
            may_skip_assignment=changes.pop("skips", True),
            reason=changes.pop("reason", ""),
        )
        assert not changes
        return self._send(self.group.join, request)

    def sync(
        self, member_id: str, assignments: dict[str, bytes] | None = None, generation: int | None = None, **changes: Any
    ) -> Parked[SyncAnswer]:
        request = SyncRequest(
            member_id,
            changes.pop("instance", None),
            self.group.generation if generation is None else generation,
            changes.pop("type", None),
            changes.pop("protocol", None),
            changes.pop("entries", list((assignments or {}).items())),
        )
        assert not changes
        return self._send(self.group.sync, request)

    def heartbeat(self, member_id: str, generation: int | None = None, instance: str | None = None) -> ErrorCode:
        generation = self.group.generation if generation is None else generation
        return self.group.heartbeat(member_id, instance, generation, self.now)

    def leave(self, *leavers: str | Leaver) -> list[ErrorCode]:
        entries = [Leaver(leaver) if isinstance(leaver, str) else leaver for leaver in leavers]
        return self.group.leave(entries, self.now)

    def hold(self, phase: Phase, until: int | None = None, *order: str, leader: str | None = None) -> None:
        """A test holds a phase of the group."""
        self.group.holds = self.holds.setdefault("g", {})
        self.group.holds[phase] = Hold(until, order, leader)

    def release(self, phase: Phase, *order: str, leader: str | None = None) -> None:
        """It releases the hold, perhaps with a choice."""
        hold = self.holds["g"][phase]._replace(order=order, leader=leader, is_released=True)
        self.group.release_hold(hold, phase, self.now)

    def _send(self, receive: Callable[[Any, Any, Instant], None], request: Any) -> Parked[Any]:
        parked: Parked[Any] = Parked(lambda: self.ms)
        receive(request, parked, self.now)
        return parked

    # -- short cuts --------------------------------------------------------------------------------------------------

    def ask_for_id(self, **changes: Any) -> str:
        """A member id that has not joined yet."""
        answer = self.join(handshake=True, **changes)
        assert answer.code == ErrorCode.MEMBER_ID_REQUIRED
        return str(answer.member_id)

    def completing(self, *members: dict[str, Any]) -> list[str]:
        """The group in CompletingRebalance of generation 1 with members like these; the first one leads."""
        joins = [self.join(**member) for member in members]
        delays = 0
        while joins[0].is_parked and delays < 10:
            self.wait(self.settings.get_int("group.initial.rebalance.delay.ms"))
            delays += 1
        assert self.group.state == COMPLETING
        return [join.member_id for join in joins]

    def stable(self, *members: dict[str, Any]) -> list[str]:
        """The same, Stable: each member's assignment is its own id."""
        ids = self.completing(*members)
        self.sync_all(ids)
        return ids

    def sync_all(self, ids: Sequence[str]) -> None:
        """Every member syncs, the leader last."""
        leader = self.group.leader
        assert leader is not None
        for member_id in sorted(ids, key=lambda each: each == leader):
            self.sync(member_id, {each: each.encode() for each in ids} if member_id == leader else None)
        assert self.group.state == STABLE

    def in_state(self, state: str, **second: Any) -> list[str]:
        """Two members, the second as described. PreparingRebalance: the first, who leads, has rejoined."""
        if state == COMPLETING:
            return self.completing({}, second)
        ids = self.stable({}, second)
        if state == PREPARING:
            self.join(ids[0])
        elif state == EMPTY:
            self.leave(*ids)
        assert self.group.state == state
        return ids

    @property
    def reasons(self) -> list[str]:
        """Why the group changed its state, one after the other."""
        return [event.reason for event in self.events if isinstance(event, Transition)]

    @property
    def path(self) -> list[str]:
        """The states it entered."""
        return [event.after for event in self.events if isinstance(event, Transition)]
