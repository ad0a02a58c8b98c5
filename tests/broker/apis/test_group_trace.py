"""The trace of docs/rules/tr-trace.md, step by step: two dynamic consumers from their first JoinGroup to the end."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.leave_group import MemberIdentity
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequestAssignment
from tests.support.group_apis import GroupApis, join
from tests.support.parked import Sent


class Trace:
    """Consumers A and B of one group. Each step of the trace is a method that can be called after the one before."""

    def __init__(self, lab: GroupApis) -> None:
        self.lab = lab
        lab.cluster.topics.create("t", 1)

    # -- the steps ---------------------------------------------------------------------------------------------------

    def a_asks_for_an_id(self) -> "Trace":
        self.a_asked = self.lab.ask("JoinGroup", 9, **join("g"))
        self.a_id = self.a_asked.member_id
        return self

    def a_joins(self) -> "Trace":
        self.a = self.join(self.a_id)
        return self

    def b_joins(self) -> "Trace":
        self.lab.wait(1000)
        self.b_asked = self.lab.ask("JoinGroup", 9, **join("g"))
        self.lab.wait(100)
        self.b_id = self.b_asked.member_id
        self.b = self.join(self.b_id)
        return self

    def the_delay_ends(self) -> "Trace":
        self.lab.wait(6000 - self.lab.ms)
        return self

    def b_syncs(self) -> "Trace":
        self.b_sync = self.sync(self.b_id, 1)
        return self

    def a_syncs(self) -> "Trace":
        self.a_sync = self.sync(self.a_id, 1, {self.a_id: b"1", self.b_id: b"2"})
        return self

    def b_leaves(self) -> "Trace":
        self.left = self.leave(self.b_id)
        return self

    def a_rejoins(self) -> "Trace":
        self.a = self.join(self.a_id)
        return self

    def a_syncs_again(self) -> "Trace":
        self.a_sync = self.sync(self.a_id, 2, {self.a_id: b"12"})
        return self

    def a_leaves(self) -> "Trace":
        self.left = self.leave(self.a_id)
        return self

    # -- requests ----------------------------------------------------------------------------------------------------

    def join(self, member_id: str) -> Sent:
        return self.lab.send("JoinGroup", 9, **join("g", member_id))

    def sync(self, member_id: str, generation: int, assignments: dict[str, bytes] | None = None) -> Sent:
        entries = [
            SyncGroupRequestAssignment(member_id=each, assignment=bytes_)
            for each, bytes_ in (assignments or {}).items()
        ]
        names: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"}
        fields: dict[str, Any] = {
            "group_id": "g",
            "generation_id": generation,
            "member_id": member_id,
            "assignments": entries,
        }
        return self.lab.send("SyncGroup", 5, **fields, **names)

    def heartbeat(self, member_id: str, generation: int) -> ErrorCode:
        answer = self.lab.ask("Heartbeat", 4, group_id="g", generation_id=generation, member_id=member_id)
        return ErrorCode(answer.error_code)

    def leave(self, member_id: str) -> ErrorCode:
        answer = self.lab.ask("LeaveGroup", 5, group_id="g", members=[MemberIdentity(member_id=member_id)])
        return ErrorCode(answer.members[0].error_code)

    def commit(self, member_id: str = "", generation: int = -1) -> ErrorCode:
        topics = [OffsetCommitRequestTopic(name="t", partitions=[(0, 7, -1, -1, "")])]
        fields: dict[str, Any] = {"group_id": "g", "generation_id_or_member_epoch": generation, "member_id": member_id}
        answer = self.lab.ask("OffsetCommit", 8, **fields, topics=topics)
        ((_, code),) = answer.topics[0].partitions
        return ErrorCode(code)

    # -- what can be seen --------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        return str(self.lab.ask("DescribeGroups", 5, groups=["g"]).groups[0].group_state)

    @property
    def generation(self) -> int:
        group = self.lab.coordinator.shard("g", self.lab.now).group("g")
        assert isinstance(group, ClassicGroup)
        return group.generation


@pytest.fixture
def trace(make_call: Callable[..., Call]) -> Trace:
    """The trace before its first step."""
    return Trace(GroupApis(make_call))


@pytest.mark.rules("TR-1")
def test_a_joins(trace: Trace) -> None:
    """The request without an id makes the group and gets an id; the one with the id waits for the initial delay."""
    trace.a_asks_for_an_id()
    assert (trace.a_asked.error_code, trace.state, trace.generation) == (ErrorCode.MEMBER_ID_REQUIRED, "Empty", 0)

    trace.a_joins()
    assert (trace.a.answer, trace.state) == (None, "PreparingRebalance")


@pytest.mark.rules("TR-2")
def test_b_joins(trace: Trace) -> None:
    """It gets an id like A, waits like A, and the delay that A began does not end at its first time."""
    trace.a_asks_for_an_id().a_joins().b_joins()
    assert trace.b_asked.error_code == ErrorCode.MEMBER_ID_REQUIRED

    trace.lab.wait(5999 - trace.lab.ms)
    assert (trace.a.answer, trace.b.answer, trace.state) == (None, None, "PreparingRebalance")


@pytest.mark.rules("TR-3")
def test_the_generation_begins(trace: Trace) -> None:
    """Both are answered after two delays, and only the leader learns who the members are."""
    trace.a_asks_for_an_id().a_joins().b_joins()
    trace.lab.wait(5999 - trace.lab.ms)
    assert trace.a.answer is None
    trace.the_delay_ends()

    a, b = trace.a, trace.b
    assert (a.error_code, a.generation_id, a.leader, trace.state) == (0, 1, trace.a_id, "CompletingRebalance")
    assert (b.error_code, b.generation_id, b.leader) == (0, 1, trace.a_id)
    assert [member.member_id for member in a.members] == [trace.a_id, trace.b_id]
    assert b.members == []
    trace.lab.wait(10_000)
    assert trace.heartbeat(trace.a_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID, "the session began with the answer"


@pytest.mark.rules("TR-4")
def test_both_sync(trace: Trace) -> None:
    """The follower waits for the leader; then the group is Stable."""
    trace.a_asks_for_an_id().a_joins().b_joins().the_delay_ends().b_syncs()
    assert (trace.b_sync.answer, trace.state) == (None, "CompletingRebalance")

    trace.a_syncs()
    assert (trace.a_sync.assignment, trace.b_sync.assignment, trace.state) == (b"1", b"2", "Stable")
    assert trace.heartbeat(trace.a_id, 1) == trace.heartbeat(trace.b_id, 1) == ErrorCode.NONE


@pytest.fixture
def left_by_b(trace: Trace) -> Trace:
    """The trace after B has left."""
    return trace.a_asks_for_an_id().a_joins().b_joins().the_delay_ends().b_syncs().a_syncs().b_leaves()


@pytest.mark.rules("TR-5")
def test_b_leaves(left_by_b: Trace) -> None:
    """A hears of the rebalance by its heartbeat, may still commit, and is alone in the next generation at once."""
    trace = left_by_b
    assert (trace.left, trace.state) == (ErrorCode.NONE, "PreparingRebalance")
    assert trace.heartbeat(trace.a_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert trace.commit(trace.a_id, 1) == ErrorCode.NONE

    trace.a_rejoins()
    assert (trace.a.generation_id, trace.state) == (2, "CompletingRebalance")


@pytest.mark.rules("TR-6")
def test_a_commits_before_and_after_its_sync(left_by_b: Trace) -> None:
    """The old generation is refused, the new one until A has its assignment."""
    trace = left_by_b.a_rejoins()
    assert trace.commit(trace.a_id, 1) == ErrorCode.ILLEGAL_GENERATION
    assert trace.commit(trace.a_id, 2) == ErrorCode.REBALANCE_IN_PROGRESS

    trace.a_syncs_again()
    assert trace.commit(trace.a_id, 2) == ErrorCode.NONE


@pytest.mark.rules("TR-7")
def test_a_leaves(left_by_b: Trace) -> None:
    """The group is Empty at once, one generation later, and keeps its protocol type."""
    trace = left_by_b.a_rejoins().a_syncs_again().a_leaves()

    described = trace.lab.ask("DescribeGroups", 5, groups=["g"]).groups[0]
    assert (described.group_state, described.protocol_type, described.members) == ("Empty", "consumer", [])
    assert (trace.left, trace.generation) == (ErrorCode.NONE, 3)


@pytest.mark.rules("TR-8")
def test_after_the_life_of_the_members(left_by_b: Trace) -> None:
    """Whoever is no member may commit, and A is unknown."""
    trace = left_by_b.a_rejoins().a_syncs_again()
    assert trace.commit() == ErrorCode.UNKNOWN_MEMBER_ID, "not while there are members"

    trace.a_leaves()
    assert trace.commit() == ErrorCode.NONE
    assert trace.heartbeat(trace.a_id, 2) == ErrorCode.UNKNOWN_MEMBER_ID
