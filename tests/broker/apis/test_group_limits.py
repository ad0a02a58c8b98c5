"""Requests of groups with fields at their limits: Kafka's answer, or a clear one."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequestProtocol
from fakebroker.protocol.wire.messages.leave_group import MemberIdentity
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequestAssignment
from tests.support.group_apis import GroupApis, join

MakeCall = Callable[..., Call]
LARGEST_METADATA = 1_048_343  # asked of Kafka 4.3.1: group id of 12 letters, member id of 42, client id of 5


def with_metadata(size_bytes: int) -> dict[str, Any]:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"x" * size_bytes)]
    return {"protocols": protocols, "protocol_type": "bench"}


@pytest.mark.parametrize(
    "group_id", ["x" * 32_767, "ü" * 16_383, "\U0001f600" * 8_191, "a\0b", " ", "../..", "группа"], ids=range(7)
)
def test_group_ids(make_call: MakeCall, group_id: str) -> None:
    """Any text of up to 32,767 bytes is a group id."""
    lab = GroupApis(make_call)
    (me,) = lab.stable(group_id)

    assert lab.ask("Heartbeat", 4, group_id=group_id, member_id=me, generation_id=1).error_code == 0
    assert lab.ask("ListGroups", 5).groups[0].group_id == group_id
    (described,) = lab.ask("DescribeGroups", 6, groups=[group_id]).groups
    assert (described.group_id, described.group_state) == (group_id, "Stable")


@pytest.mark.rules("ST-8")
@pytest.mark.parametrize(
    ("size_bytes", "code", "state"),
    [(LARGEST_METADATA, 0, "Stable"), (LARGEST_METADATA + 1, ErrorCode.UNKNOWN_SERVER_ERROR, "PreparingRebalance")],
)
def test_metadata_too_large_to_store(make_call: MakeCall, size_bytes: int, code: int, state: str) -> None:
    """A group whose record does not fit into a batch does not become Stable, its syncs get -1: to the byte as Kafka."""
    lab = GroupApis(make_call)
    group_id = "g" * 12
    sent = lab.send("JoinGroup", 3, client_id="probe", **join(group_id, **with_metadata(size_bytes)))
    lab.wait(3000)
    me = sent.member_id
    answer = lab.ask("SyncGroup", 3, group_id=group_id, generation_id=1, member_id=me)

    assert (answer.error_code, answer.assignment) == (code, b"")
    assert lab.ask("DescribeGroups", 6, groups=[group_id]).groups[0].group_state == state


@pytest.mark.rules("ST-8")
def test_assignments_too_large_to_store(make_call: MakeCall) -> None:
    """What the leader assigns counts too; a smaller assignment in the next generation is taken."""
    lab = GroupApis(make_call)
    sent = lab.send("JoinGroup", 3, **join("g"))
    lab.wait(3000)
    me = sent.member_id

    def assign(generation: int, size_bytes: int) -> int:
        entries = [SyncGroupRequestAssignment(member_id=me, assignment=b"x" * size_bytes)]
        fields = {"group_id": "g", "generation_id": generation, "member_id": me, "assignments": entries}
        return int(lab.ask("SyncGroup", 3, **fields).error_code)

    assert assign(1, 1_100_000) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert lab.ask("JoinGroup", 3, **join("g", me)).generation_id == 2
    assert assign(2, 1_000_000) == 0


@pytest.mark.rules("JG-6", "HB-3")
def test_a_member_of_another_group(make_call: MakeCall) -> None:
    """Its id means nothing here: 25 everywhere."""
    lab = GroupApis(make_call)
    (theirs,) = lab.stable("theirs")
    lab.stable("ours")
    fields = {"group_id": "ours", "generation_id": 1, "member_id": theirs}

    assert lab.ask("JoinGroup", 9, **join("ours", theirs)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.ask("SyncGroup", 3, **fields).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.ask("Heartbeat", 4, **fields).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    left = lab.ask("LeaveGroup", 5, group_id="ours", members=[MemberIdentity(member_id=theirs)])
    assert left.members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.rules("SG-4", "HB-4")
@pytest.mark.parametrize("generation", [-1, -(2**31), 0, 2, 2**31 - 1])
def test_generations(make_call: MakeCall, generation: int) -> None:
    """Every number but the current one is 22, negative ones too."""
    lab = GroupApis(make_call)
    (me,) = lab.stable("g")
    fields = {"group_id": "g", "generation_id": generation, "member_id": me}

    assert lab.ask("SyncGroup", 3, **fields).error_code == ErrorCode.ILLEGAL_GENERATION
    assert lab.ask("Heartbeat", 4, **fields).error_code == ErrorCode.ILLEGAL_GENERATION


@pytest.mark.rules("CP-4", "EX-7")
@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0\x7f\xff\xff\xff", b"\xff\xff\0\0\0\0", b"x" * 1000])
def test_metadata_that_is_no_subscription(make_call: MakeCall, metadata: bytes) -> None:
    """The group works all the same (Kafka never answers where an array claims to be longer than the metadata)."""
    lab = GroupApis(make_call)
    sent = lab.send("JoinGroup", 3, **join("g", protocols=[JoinGroupRequestProtocol(name="p", metadata=metadata)]))
    lab.wait(3000)

    assert (sent.generation_id, sent.members[0].metadata) == (1, metadata)
