"""A group under arbitrary clients: hypothesis makes up what they do, invariants hold after every step.

A failing run is printed as a dialogue (`fakebroker dialogue play` plays it; where it has no coordinator moves it can
be played against a real Kafka too). `make model` runs it for FAKEBROKER_MODEL_MINUTES and says how many steps it took.
"""

from typing import Any

import pytest
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.classic import holds
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.protocol.errors import ErrorCode
from tests.model.world import GROUP, TOPIC, Request, World
from tests.support.chance import MINUTES, model_settings, run_model

OK = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
MEMBER_ID_REQUIRED = ErrorCode.MEMBER_ID_REQUIRED
LONGEST_WAIT_MS = 400_000  # beyond every timer of a group
RETENTION_MINUTES = 30
DEAD_BY_MS = (RETENTION_MINUTES + 2 * 10) * 60_000

KINDS = st.tuples(
    st.sampled_from([9, 3, 0, 4, 5]),  # version of JoinGroup
    st.booleans(),  # static
    st.sampled_from([["range"], ["range", "sticky"], ["sticky", "range"], ["sticky", "range", "roundrobin"]]),
    st.sampled_from([(10_000, 10_000), (6000, 3000), (1000, 4000), (20_000, 1000)]),  # session, rebalance timeout
)
PHASES = st.sampled_from(holds.Phase)

steps_run = 0


class Client:
    """A consumer of the tests': what it is, and what it believes."""

    def __init__(self, name: str, version: int, instance: str | None, protocols: list[str], timeouts: tuple[int, int]):
        self.name = name
        self.version = version  # of JoinGroup
        self.instance = instance
        self.protocols = protocols
        self.session_ms, self.rebalance_ms = timeouts
        self.member_id = ""
        self.generation = -1
        self.leads: list[str] | None = None  # the members that the answer listed

    def learn(self, request: Request) -> None:
        """Believe a JoinGroup's answer."""
        answer = request.answer
        if answer is None:
            return
        if answer["ErrorCode"] in (OK, MEMBER_ID_REQUIRED):
            self.member_id = answer["MemberId"]
            self.generation = answer["GenerationId"]
            self.leads = [member["MemberId"] for member in answer["Members"]] or None
        elif answer["ErrorCode"] == UNKNOWN:
            self.member_id = ""


class GroupMachine(RuleBasedStateMachine):
    """Several clients, one group, one coordinator that may move, and time."""

    clients = Bundle("clients")

    @initialize(
        target=clients,
        delay_ms=st.sampled_from([500, 3000, 0]),
        max_size=st.sampled_from([2**31 - 1, 2**31 - 1, 2]),
        as_release=st.sampled_from(["4.3", "4.3", "3.9"]),
        kinds=st.lists(KINDS, min_size=2, max_size=4),
        settled=st.sampled_from([True, True, False]),
    )
    def start(self, delay_ms: int, max_size: int, as_release: str, kinds: list[Any], settled: bool) -> Any:
        config = {
            "group.initial.rebalance.delay.ms": delay_ms,
            "group.min.session.timeout.ms": 100,
            "group.max.size": max_size,
            "offsets.retention.minutes": RETENTION_MINUTES,
            "offsets.topic.replication.factor": 1,
        }
        self.world = World(config, as_release)
        self.all: list[Client] = []
        self.joins: list[tuple[Client, Request]] = []
        self.seen: ClassicGroup | None = None
        self.generation = -1
        self.assigned: dict[Member, bytes] = {}
        self.assigned_in: tuple[ClassicGroup, int] | None = None
        clients = [self._new_client(kind) for kind in kinds]
        if settled:
            self.everybody_settles()
        return multiple(*clients)

    # -- clients -------------------------------------------------------------------------------------------------------

    @rule(target=clients, kind=KINDS)
    def new_client(self, kind: Any) -> Any:
        return self._new_client(kind) if len(self.all) < 5 else multiple()

    def _new_client(self, kind: tuple[int, bool, list[str], tuple[int, int]]) -> "Client":
        version, static, protocols, timeouts = kind
        name = f"c{len(self.all)}"
        client = Client(name, version, f"i-{name}" if static and version >= 5 else None, protocols, timeouts)
        self.all.append(client)
        return client

    @rule(client=clients)
    def join(self, client: Client) -> None:
        self._join(client, client.name)

    @rule(client=clients, protocols=st.permutations(["range", "sticky", "roundrobin"]))
    def join_with_other_protocols(self, client: Client, protocols: list[str]) -> None:
        client.protocols = protocols
        self._join(client, client.name)

    @rule(client=clients)
    def join_again_elsewhere(self, client: Client) -> None:
        """A duplicate, on another connection: the first may still be parked."""
        self._join(client, f"{client.name}-other")

    @rule(client=clients)
    def restart(self, client: Client) -> None:
        """The process dies and comes back without its id, a static member under the same instance id."""
        self.world.close(client.name)
        client.member_id, client.generation, client.leads = "", -1, None
        self._join(client, client.name)

    @rule(client=clients, generation=st.sampled_from([0, 0, 0, -1, 1]))
    def sync(self, client: Client, generation: int) -> None:
        """Also late (the generation before) or early ones."""
        conn = self._free(client)
        if conn is None:
            return
        reported = client.generation + generation
        members = client.leads or []
        request = {
            "GroupId": GROUP,
            "GenerationId": reported,
            "MemberId": client.member_id,
            "GroupInstanceId": client.instance,
            "Assignments": [{"MemberId": each, "Assignment": f"{reported}:{each}".encode().hex()} for each in members],
        }
        self._send(conn, "SyncGroup", 3 if client.instance else 1, request)

    @rule(client=clients, generation=st.sampled_from([0, 0, 0, -1]))
    def heartbeat(self, client: Client, generation: int) -> None:
        conn = self._free(client)
        if conn is not None:
            request = {"GroupId": GROUP, "GenerationId": client.generation + generation, "MemberId": client.member_id}
            self._send(conn, "Heartbeat", 3, request | {"GroupInstanceId": client.instance})

    @rule(client=clients, generation=st.sampled_from([0, 0, -1]))
    def commit(self, client: Client, generation: int) -> None:
        conn = self._free(client)
        if conn is None:
            return
        partition = {"PartitionIndex": 0, "CommittedOffset": 7, "CommittedLeaderEpoch": -1, "CommittedMetadata": ""}
        request = {
            "GroupId": GROUP,
            "GenerationIdOrMemberEpoch": client.generation + generation,
            "MemberId": client.member_id,
            "GroupInstanceId": client.instance,
            "Topics": [{"Name": TOPIC, "Partitions": [partition]}],
        }
        self._send(conn, "OffsetCommit", 7, request)

    @rule(client=clients)
    def leave(self, client: Client) -> None:
        conn = self._free(client)
        if conn is not None:
            self._leave(client, conn)

    @rule(client=clients)
    def remove_by_instance(self, client: Client) -> None:
        """An administrator removes a static member."""
        if client.instance is not None and not self.world.is_busy("admin"):
            entry = {"MemberId": "", "GroupInstanceId": client.instance}
            self._send("admin", "LeaveGroup", 3, {"GroupId": GROUP, "Members": [entry]})

    @rule(client=clients)
    def crash(self, client: Client) -> None:
        """Its connections go away; the coordinator does not notice."""
        self.world.close(client.name)
        self.world.close(f"{client.name}-other")

    @rule(ms=st.sampled_from([1, 50, 400, 999, 1000, 3000, 7000, 11_000, 60_000]))
    def time_passes(self, ms: int) -> None:
        parked = [request for request in self.world.open if request.api in ("JoinGroup", "SyncGroup")]
        new = {request: isinstance(request.member, Member) and request.member.is_new for request in parked}
        self.world.sleep(ms)
        for request in parked:
            answer = request.answer
            if answer is not None and answer["ErrorCode"] == UNKNOWN:
                assert new[request], f"{request} of an old member was ended by a session timer"
        self._learn()

    @rule(phase=PHASES, until=st.sampled_from([None, 1, 2, 3]), chosen=st.booleans(), client=clients)
    def hold(self, phase: holds.Phase, until: int | None, chosen: bool, client: Client) -> None:
        """A test holds a phase, perhaps until somebody who may never come leads."""
        names = (client.name,) if chosen and until is not None else ()
        self.world.hold(phase, holds.Hold(until, names, client.name if names and phase is holds.Phase.JOIN else None))

    @rule(phase=PHASES, chosen=st.booleans(), client=clients)
    def release(self, phase: holds.Phase, chosen: bool, client: Client) -> None:
        self.world.release(phase, (client.name,) if chosen else (), client.name if phase is holds.Phase.JOIN else None)
        self._learn()

    @rule(client=clients)
    def evict(self, client: Client) -> None:
        self.world.evict(client.member_id)
        self._learn()

    @rule()
    def request_rebalance(self) -> None:
        self.world.request_rebalance()
        self._learn()

    @rule(load_ms=st.sampled_from([0, 0, 500]))
    def coordinator_moves(self, load_ms: int) -> None:
        self.world.move_coordinator(load_ms)
        self._learn()

    @rule()
    def everybody_settles(self) -> None:
        """All join and sync properly until the group is Stable, so that runs get past the beginning."""
        for _ in range(20):
            group = self.world.group
            if group is not None and group.state is State.COMPLETING:
                break
            for client in self.all:
                if group is None or group.state is State.PREPARING or client.member_id not in group.members:
                    self._join(client, client.name)
            self.world.sleep(500)
            self._learn()
        for client in sorted(self.all, key=lambda each: each.leads is not None):
            self.sync(client, 0)

    @rule(ms=st.sampled_from([900, 3000, 9000]), times=st.integers(1, 5), client=clients)
    def all_but_one_heartbeat(self, ms: int, times: int, client: Client) -> None:
        """Time passes for one that says nothing, or whose request is parked."""
        for _ in range(times):
            for each in self.all:
                if each is not client:
                    self.heartbeat(each, 0)
            self.time_passes(ms)

    def _join(self, client: Client, conn: str) -> None:
        if self.world.is_busy(conn):
            return
        request = {
            "GroupId": GROUP,
            "SessionTimeoutMs": client.session_ms,
            "RebalanceTimeoutMs": client.rebalance_ms,
            "MemberId": client.member_id,
            "GroupInstanceId": client.instance,
            "ProtocolType": "consumer",
            "Protocols": [{"Name": name, "Metadata": name.encode().hex()} for name in client.protocols],
        }
        if client.version < 5:
            del request["GroupInstanceId"]
        if client.version < 1:
            del request["RebalanceTimeoutMs"]
        sent = self._send(conn, "JoinGroup", client.version, request)
        self.joins.append((client, sent))
        self._learn()

    def _leave(self, client: Client, conn: str) -> None:
        entry = {"MemberId": client.member_id, "GroupInstanceId": client.instance}
        self._send(conn, "LeaveGroup", 3, {"GroupId": GROUP, "Members": [entry]})

    def _free(self, client: Client) -> str | None:
        """A connection of the client that is not blocked by a parked request."""
        names = (client.name, f"{client.name}-other")
        return next((name for name in names if not self.world.is_busy(name)), None)

    def _send(self, conn: str, name: str, version: int, request: dict[str, Any]) -> Request:
        global steps_run
        steps_run += 1
        earlier = [each for each in self.world.open if each.api == name]
        before = self._parked(name)
        sent = self.world.send(conn, name, version, _for_wire(request))
        parked = self._parked(name)
        sent.member = next((member for member, answer in parked.items() if before.get(member) is not answer), None)
        for each in earlier:
            member = each.member
            if isinstance(member, Member) and member.member_id == request.get("MemberId") and each.answer is None:
                each.is_replaced = each.is_replaced or parked.get(member) is not before.get(member)
        self._learn()
        return sent

    def _parked(self, name: str) -> dict[Member, Any]:
        """Members with a parked request of that kind, and what will answer it."""
        group = self.world.group
        if group is None or name not in ("JoinGroup", "SyncGroup"):
            return {}
        parked = {m: m.parked_join if name == "JoinGroup" else m.parked_sync for m in group.members.values()}
        return {member: answer for member, answer in parked.items() if answer is not None}

    def _learn(self) -> None:
        for client, request in self.joins:
            client.learn(request)
        self.joins = [(client, request) for client, request in self.joins if request.answer is None]

    # -- invariants ----------------------------------------------------------------------------------------------------

    @invariant()
    def all_is_well(self) -> None:
        try:
            self._check()
        except AssertionError:
            note("The dialogue of this run:\n" + self.world.dialogue())
            raise

    def _check(self) -> None:
        assert self.world.engine.errors == []
        group = self.world.group
        if group is not self.seen:
            self.seen, self.generation = group, -1
        self._check_timers()
        if group is not None:
            self._check_members(group)
            self._check_parked(group)
            self._check_assignments(group)

    def _check_members(self, group: ClassicGroup) -> None:
        """One leader, of the members; the generation never falls; states and members agree."""
        assert group.generation >= self.generation, "the generation fell"
        self.generation = group.generation
        assert (group.leader in group.members) if group.members else group.leader is None
        assert group.state is not State.DEAD
        if group.state is State.EMPTY:
            assert not group.members
        elif group.state is not State.PREPARING:
            assert group.members
            assert group.protocol in group.members.candidates()
        assert set(group.members.static.values()) <= group.members.keys()
        assert not group.pending_join_members or not set(group.pending_join_members) & group.members.keys()

    def _check_parked(self, group: ClassicGroup) -> None:
        """Whatever is parked is parked for a reason, and a timer or a hold's release will end it."""
        is_overdue = group.is_join_phase_overdue
        if is_overdue:
            assert group.state is State.PREPARING
            assert group.is_held(holds.Phase.JOIN)
        for member in group.members.values():
            if member.parked_join is not None:
                assert group.state is State.PREPARING
                assert is_overdue or group.join_timer.due_ms is not None
            if member.parked_sync is not None:
                assert group.state is State.COMPLETING
                assert group.sync_timer.due_ms is not None or group.is_held(holds.Phase.SYNC)
            if member.parked_join is None and member.parked_sync is None:
                assert member.session.due_ms is not None, f"{member} has no session timer"
        assert (group.join_timer.due_ms is not None) == (group.state is State.PREPARING and not is_overdue)
        if group.held_assignment is not None:
            assert group.state is State.COMPLETING
            assert group.is_held(holds.Phase.SYNC)
            assert group.leader is not None
            assert group.members[group.leader].parked_sync is not None
        waiting = self._parked("JoinGroup").keys() | self._parked("SyncGroup").keys()
        for request in self.world.open:
            assert request.is_replaced or request.member in waiting, f"{request} is forgotten"

    def _check_assignments(self, group: ClassicGroup) -> None:
        """Every member of a Stable group holds what it was assigned in that generation."""
        if group.state is not State.STABLE:
            self.assigned_in = None
        elif self.assigned_in != (group, group.generation):
            self.assigned_in = (group, group.generation)
            self.assigned = {member: member.assignment for member in group.members.values()}
            reported = f"{group.generation}:"
            assert all(each == b"" or each.decode().startswith(reported) for each in self.assigned.values())
        else:
            for member in group.members.values():
                assert member.assignment == self.assigned[member]

    def _check_timers(self) -> None:
        """No timer without an owner that is still there."""
        groups = [group for shard in self.world.cluster.nodes[1].coordinator.shards.values() for group in shard]
        for deadline in self.world.cluster.timers.mono.armed():
            owner = deadline.owner
            if isinstance(owner, Member):
                classic = [group for group in groups if isinstance(group, ClassicGroup)]
                assert any(group.members.get(owner.member_id) is owner for group in classic), f"{owner} is gone"
            elif isinstance(owner, ClassicGroup):
                assert owner in groups, f"{owner} is gone"
            else:
                assert isinstance(owner, Shard), f"{owner!r} has a timer"

    def teardown(self) -> None:
        """Silence: every request is answered or was replaced; then the group is Empty, then Dead."""
        if not hasattr(self, "world"):
            return
        try:
            self._fall_silent()
        except AssertionError:
            note("The dialogue of this run:\n" + self.world.dialogue())
            raise

    def _fall_silent(self) -> None:
        for phase in holds.Phase:
            self.world.release(phase, (), None)
        self.world.sleep(LONGEST_WAIT_MS)
        self._check()
        assert [request for request in self.world.open if not request.is_replaced] == []
        group = self.world.group
        assert group is None or group.state is State.EMPTY, f"{group} does not end"
        self.world.sleep(DEAD_BY_MS)
        assert self.world.group is None, "the Empty group does not go away"
        assert self.world.cluster.timers.mono.armed() == []
        assert self.world.engine.errors == []


def _for_wire(request: dict[str, Any]) -> dict[str, Any]:
    """Bytes as the JSON form of messages wants them."""

    def convert(data: Any, key: str = "") -> Any:
        if isinstance(data, dict):
            return {name: convert(value, name) for name, value in data.items()}
        if isinstance(data, list):
            return [convert(value) for value in data]
        return {"hex": data} if key in ("Metadata", "Assignment") else data

    converted: dict[str, Any] = convert(request)
    return converted


SHORT = model_settings(max_examples=100, steps=30)


@pytest.mark.random
@pytest.mark.timeout(0 if MINUTES else 600)  # a failure takes its time to shrink
@pytest.mark.rules("ST-9", "TM-2", "TM-6", "SG-10", "SG-11", "JG-21", "EX-9")
def test_groups_under_arbitrary_clients() -> None:
    """The invariants hold whatever clients do; with FAKEBROKER_MODEL_MINUTES for that long."""
    runs = run_model(GroupMachine, SHORT, settings(SHORT, max_examples=25, stateful_step_count=100))
    if MINUTES:
        print(f"\n{steps_run:,} requests in {runs:,} runs over {MINUTES:g} minutes: nothing found")
