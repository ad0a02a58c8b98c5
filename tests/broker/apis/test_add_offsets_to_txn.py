"""AddOffsetsToTxn: the partition of a group's offsets in a transaction, and who may not add it."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.group_apis import GroupApis
from tests.support.transactional import elsewhere, load_slowly, producer, state

Make = Callable[..., Call]


def add_offsets(lab: GroupApis, version: int, group_id: str = "g", **who: Any) -> int:
    code: int = lab.ask("AddOffsetsToTxn", version, group_id=group_id, **who).error_code
    return code


@pytest.mark.rules("TO-1")
@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("group_id", ["g", ""])
def test_the_partition_of_the_group_is_added(make_call: Make, version: int, group_id: str) -> None:
    """Any group id will do, the empty one too; the transaction begins."""
    lab = GroupApis(make_call)

    assert add_offsets(lab, version, group_id, **producer(lab)) == 0
    (shown,) = lab.ask("DescribeTransactions", 0, transactional_ids=["tx"]).transaction_states
    partition = lab.cluster.group_partition(group_id).index
    assert [(topic.topic, topic.partitions) for topic in shown.topics] == [("__consumer_offsets", [partition])]
    assert shown.transaction_state == "Ongoing"


@pytest.mark.rules("TO-1", "TO-8")
@pytest.mark.parametrize(
    ("version", "fenced"),
    [
        (0, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, ErrorCode.PRODUCER_FENCED),
        (3, ErrorCode.PRODUCER_FENCED),
        (4, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_who_may_not(make_call: Make, version: int, fenced: int) -> None:
    """An empty transactional id 42, unknown ids 49, other epochs 90, which v0 and v1 call 47."""
    lab = GroupApis(make_call)
    who = producer(lab)

    assert add_offsets(lab, version, **{**who, "transactional_id": ""}) == ErrorCode.INVALID_REQUEST
    assert add_offsets(lab, version, **{**who, "transactional_id": "other"}) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert add_offsets(lab, version, **{**who, "producer_id": 999}) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    for epoch in (1, -1):
        assert add_offsets(lab, version, **{**who, "producer_epoch": epoch}) == fenced
    assert state(lab) == "Empty"


@pytest.mark.rules("CLU-13")
def test_coordinators_that_are_not_there(make_call: Make) -> None:
    """16 where another broker coordinates, 14 while this one loads."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    who: dict[str, Any] = {"transactional_id": elsewhere(lab), "producer_id": 1, "producer_epoch": 0}

    assert add_offsets(lab, 3, **who) == ErrorCode.NOT_COORDINATOR
    own = elsewhere(lab, 1)
    load_slowly(lab, own)
    assert add_offsets(lab, 3, **{**who, "transactional_id": own}) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
