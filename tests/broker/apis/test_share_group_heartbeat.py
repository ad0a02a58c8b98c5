"""ShareGroupHeartbeat (SGH): checks of its fields, and the answer on the wire."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call, Repeat
from fakebroker.broker.apis.share_group_heartbeat import handle, repeat
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.support.group_apis import GroupApis

MakeCall = Callable[..., Call]
JOIN = {"group_id": "g", "member_id": "m1", "member_epoch": 0, "subscribed_topic_names": ["t"]}


@pytest.fixture
def lab(make_call: MakeCall) -> GroupApis:
    lab = GroupApis(make_call, share_coordinator_state_topic_replication_factor=1, group_share_assignment_interval_ms=0)
    lab.cluster.topics.create("t", 2, 1)
    return lab


def beat(lab: GroupApis, **fields: Any) -> Any:
    return lab.ask("ShareGroupHeartbeat", 1, **{**JOIN, **fields})


@pytest.mark.rules("SGH-4", "SGH-7", "SGH-12", "SGH-14")
def test_a_life(lab: GroupApis) -> None:
    """Join, partitions, steady heartbeat, leave."""
    joined = beat(lab)
    lab.wait(0)
    assigned = beat(lab, member_epoch=2, subscribed_topic_names=None)
    steady = beat(lab, member_epoch=3, subscribed_topic_names=None)
    left = beat(lab, member_epoch=-1)

    assert (joined.error_code, joined.member_id, joined.member_epoch) == (0, "m1", 2)
    assert (joined.heartbeat_interval_ms, joined.assignment.topic_partitions) == (5000, [])
    [topic] = assigned.assignment.topic_partitions
    assert (assigned.member_epoch, topic.partitions) == (3, [0, 1])
    assert (steady.error_code, steady.member_epoch, steady.assignment) == (0, 3, None)
    assert (left.member_epoch, left.heartbeat_interval_ms, left.assignment) == (-1, 0, None)


@pytest.mark.rules("SGH-1")
@pytest.mark.parametrize("member_id", ["", "x" * 37])
def test_member_ids_that_cannot_be(lab: GroupApis, member_id: str) -> None:
    """Empty or too long: INVALID_REQUEST without a text, and without a look at the rest."""
    answer = beat(lab, member_id=member_id, group_id="")

    assert (answer.error_code, answer.error_message, answer.member_id) == (ErrorCode.INVALID_REQUEST, None, None)


@pytest.mark.rules("SGH-1")
@pytest.mark.parametrize(
    "fields",
    [
        {"member_id": "  "},
        {"group_id": ""},
        {"group_id": " "},
        {"rack_id": ""},
        {"subscribed_topic_names": []},
        {"subscribed_topic_names": None},
        {"member_epoch": -2},
    ],
)
def test_malformed_requests(lab: GroupApis, fields: dict[str, Any]) -> None:
    """INVALID_REQUEST with a text; no group is made."""
    answer = beat(lab, **fields)

    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message
    assert lab.coordinator.all_shards(lab.now) == []


@pytest.mark.rules("SGH-1")
def test_the_longest_member_id(lab: GroupApis) -> None:
    """36 characters, the length of a UUID, are good."""
    assert beat(lab, member_id="x" * 36).error_code == 0


@pytest.mark.rules("SGH-2", "SGH-3", "SGH-5")
def test_errors_carry_a_text(lab: GroupApis) -> None:
    """And nothing else."""
    unknown_group = beat(lab, member_epoch=1)
    beat(lab)
    answers = [unknown_group, beat(lab, member_id="m2", member_epoch=1), beat(lab, member_epoch=7)]

    assert [answer.error_code for answer in answers] == [
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
    ]
    assert all(answer.error_message and answer.member_id is None and not answer.member_epoch for answer in answers)


def test_another_broker_coordinates_the_group(make_call: MakeCall) -> None:
    """NOT_COORDINATOR without a text."""
    lab = GroupApis(make_call, node_ids=(1, 2))

    answer = beat(lab, group_id=lab.elsewhere())

    assert (answer.error_code, answer.error_message) == (ErrorCode.NOT_COORDINATOR, None)


def test_a_group_that_is_being_loaded(lab: GroupApis) -> None:
    """COORDINATOR_LOAD_IN_PROGRESS."""
    lab.load_slowly("g")

    assert beat(lab).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def repeated(lab: GroupApis, make_call: MakeCall, epoch: int) -> Repeat | None:
    """What answers repetitions of a heartbeat with this epoch, which was answered just now."""
    request = ShareGroupHeartbeatRequest(group_id="g", member_id="m1", member_epoch=epoch)
    call = make_call(lab.cluster, 1, now=lab.now)
    response = handle(call, request)
    assert response is not None
    return repeat(call, request, response)


@pytest.mark.rules("SGH-14", "SGH-20")
def test_repeated_heartbeats(lab: GroupApis, make_call: MakeCall) -> None:
    """They are answered without being decoded, prolong the session, and carry partitions when these change."""
    beat(lab)
    lab.wait(0)
    assert repeated(lab, make_call, 2) is None  # it carried the partitions
    answer = repeated(lab, make_call, 3)
    assert answer is not None

    lab.wait(40_000)
    steady = answer(make_call(lab.cluster, 1, now=lab.now), ())
    lab.wait(40_000)
    beat(lab, member_id="m2")
    changed = answer(make_call(lab.cluster, 1, now=lab.now), ())

    assert isinstance(steady, bytes)
    assert isinstance(changed, bytes)
    same, _ = ShareGroupHeartbeatResponse.decode(steady, 1)
    other, _ = ShareGroupHeartbeatResponse.decode(changed, 1)
    assert (same.error_code, same.member_epoch, same.assignment) == (0, 3, None)
    assert other.assignment is not None
    assert (other.error_code, other.member_epoch, len(other.assignment.topic_partitions[0].partitions)) == (0, 4, 1)


def test_joins_and_errors_are_not_repeated(lab: GroupApis, make_call: MakeCall) -> None:
    """Only the steady heartbeats of a member are; while its group is being loaded the request is decoded."""
    beat(lab)
    assert repeated(lab, make_call, -1) is None
    assert repeated(lab, make_call, 9) is None
    beat(lab)
    lab.wait(0)
    repeated(lab, make_call, 4)
    answer = repeated(lab, make_call, 5)
    assert answer is not None

    lab.load_slowly("g")

    assert answer(make_call(lab.cluster, 1, now=lab.now), ()) is None
