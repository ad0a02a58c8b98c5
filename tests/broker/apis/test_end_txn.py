"""EndTxn: what its answer has in each version, and who may not end a transaction."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.group_apis import GroupApis
from tests.support.transactional import add, elsewhere, load_slowly, producer, state

Make = Callable[..., Call]


@pytest.fixture
def lab(make_call: Make) -> GroupApis:
    """A broker with topic "t" of two partitions."""
    lab = GroupApis(make_call)
    lab.cluster.topics.create("t", 2)
    return lab


def end(lab: GroupApis, version: int, *, commit: bool = True, **who: Any) -> tuple[int, int, int]:
    """(error, producer id, epoch); before v5 there is no producer: -1 and -1."""
    answer = lab.ask("EndTxn", version, committed=commit, **who)
    return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.mark.rules("TX-12", "TX-2")
@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [True, False])
def test_an_open_transaction_ends(lab: GroupApis, version: int, commit: bool) -> None:
    """The answer comes before the markers; in v5 it has the producer of the next transaction."""
    who = producer(lab)
    add(lab, who, t=[0])
    following = (who["producer_id"], 1) if version == 5 else (-1, -1)

    assert end(lab, version, commit=commit, **who) == (0, *following)
    assert state(lab).startswith("Prepare")
    lab.wait(0)
    assert state(lab) == ("CompleteCommit" if commit else "CompleteAbort")


@pytest.mark.rules("TX-22")
@pytest.mark.parametrize(
    ("version", "fenced"),
    [
        (0, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, ErrorCode.PRODUCER_FENCED),
        (3, ErrorCode.PRODUCER_FENCED),
        (4, ErrorCode.PRODUCER_FENCED),
        (5, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_who_may_not_end(lab: GroupApis, version: int, fenced: int) -> None:
    """An empty transactional id 42, unknown ids 49, other epochs 90, which v0 and v1 call 47."""
    who = producer(lab)
    add(lab, who, t=[0])

    assert end(lab, version, **{**who, "transactional_id": ""}) == (ErrorCode.INVALID_REQUEST, -1, -1)
    assert end(lab, version, **{**who, "transactional_id": "other"}) == (ErrorCode.INVALID_PRODUCER_ID_MAPPING, -1, -1)
    assert end(lab, version, **{**who, "producer_id": 999}) == (ErrorCode.INVALID_PRODUCER_ID_MAPPING, -1, -1)
    for epoch in (1, 7):
        assert end(lab, version, **{**who, "producer_epoch": epoch}) == (fenced, -1, -1)
    assert state(lab) == "Ongoing"


@pytest.mark.rules("TX-20", "TX-21")
def test_an_end_without_a_begin(lab: GroupApis) -> None:
    """48 for both in the first protocol; in the second an abort is answered 0 and raises the epoch."""
    who = producer(lab)

    for commit in (True, False):
        assert end(lab, 4, commit=commit, **who)[0] == ErrorCode.INVALID_TXN_STATE
    assert end(lab, 5, commit=True, **who) == (ErrorCode.INVALID_TXN_STATE, -1, -1)
    assert end(lab, 5, commit=False, **who) == (0, who["producer_id"], 1)


@pytest.mark.rules("CLU-13")
@pytest.mark.parametrize("version", [0, 5])
def test_coordinators_that_are_not_there(make_call: Make, version: int) -> None:
    """16 where another broker coordinates, 14 while this one loads; without a producer."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    who: dict[str, Any] = {"transactional_id": elsewhere(lab), "producer_id": 1, "producer_epoch": 0}

    assert end(lab, version, **who) == (ErrorCode.NOT_COORDINATOR, -1, -1)
    own = elsewhere(lab, 1)
    load_slowly(lab, own)
    assert end(lab, version, **{**who, "transactional_id": own}) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)


@pytest.mark.rules("TX-20")
def test_later_epochs_in_2_1(make_call: Make) -> None:
    """2.1.1 fences earlier epochs only; with a transaction to end a later one is 47, and the transaction stays."""
    lab = GroupApis(make_call, "2.1")
    lab.cluster.topics.create("t", 2)
    who = producer(lab)
    later = {**who, "producer_epoch": 1}

    assert end(lab, 1, **later)[0] == ErrorCode.INVALID_TXN_STATE
    add(lab, who, t=[0])
    assert end(lab, 1, **later)[0] == ErrorCode.INVALID_PRODUCER_EPOCH
    assert end(lab, 1, **who)[0] == 0
    lab.wait(0)
    assert end(lab, 1, **later)[0] == 0
    assert end(lab, 1, **{**who, "producer_epoch": -1})[0] == ErrorCode.INVALID_PRODUCER_EPOCH
