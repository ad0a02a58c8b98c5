"""DescribeTransactions: what is shown of a transactional id, and why one is not shown."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.group_apis import GroupApis
from tests.support.transactional import add, elsewhere, load_slowly, producer

Make = Callable[..., Call]


def describe(lab: GroupApis, *names: str) -> list[Any]:
    shown: list[Any] = lab.ask("DescribeTransactions", 0, transactional_ids=list(names)).transaction_states
    return shown


@pytest.mark.rules("DX-1")
def test_a_transaction_through_its_states(make_call: Make) -> None:
    """Partitions while it is open; the start time from then on, -1 before."""
    lab = GroupApis(make_call)
    for name in ("t", "u"):
        lab.cluster.topics.create(name, 2)
    who = producer(lab)
    lab.wait(5)
    (empty,) = describe(lab, "tx")
    assert (empty.transaction_state, empty.transaction_start_time_ms, empty.topics) == ("Empty", -1, [])
    add(lab, who, t=[1, 0], u=[0])
    began_ms = lab.now.wall_ms
    (ongoing,) = describe(lab, "tx")
    assert (ongoing.transaction_state, ongoing.transaction_start_time_ms) == ("Ongoing", began_ms)
    assert (ongoing.transaction_timeout_ms, ongoing.producer_id) == (60_000, who["producer_id"])
    assert [(topic.topic, sorted(topic.partitions)) for topic in ongoing.topics] == [("t", [0, 1]), ("u", [0])]
    lab.ask("EndTxn", 5, committed=True, **who)
    lab.wait(0)
    (ended,) = describe(lab, "tx")
    assert (ended.transaction_state, ended.producer_epoch, ended.topics) == ("CompleteCommit", 1, [])
    assert ended.transaction_start_time_ms == began_ms


@pytest.mark.rules("DX-1")
@pytest.mark.parametrize(("as_release", "is_kept"), [("4.3", False), ("3.9", True)])
def test_the_start_time_after_a_new_producer(make_call: Make, as_release: str, is_kept: bool) -> None:
    """Kafka 3.9.1 goes on showing that of the transaction before, until it loads."""
    lab = GroupApis(make_call, as_release)
    lab.cluster.topics.create("t", 1)
    who = producer(lab)
    add(lab, who, t=[0])
    lab.ask("EndTxn", 3, committed=True, **who)
    lab.wait(10)
    producer(lab)
    assert (describe(lab, "tx")[0].transaction_start_time_ms >= 0) == is_kept
    partition = lab.cluster.coordinator_partition("__transaction_state", "tx")
    lab.cluster.nodes[1].transactions.load(partition.index, lab.now)
    assert describe(lab, "tx")[0].transaction_start_time_ms == -1


@pytest.mark.rules("DX-2", "CLU-13")
def test_what_is_not_shown(make_call: Make) -> None:
    """Unknown 105, empty 42, elsewhere 16, loading 14: texts are empty and numbers 0. Each is answered in its place."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    own, other = elsewhere(lab, 1), elsewhere(lab)
    producer(lab, own)
    shown = describe(lab, own, "", other, own)
    assert [each.error_code for each in shown] == [0, ErrorCode.INVALID_REQUEST, ErrorCode.NOT_COORDINATOR, 0]
    unknown = next(
        name for name in (f"x-{n}" for n in range(99)) if describe(lab, name)[0].error_code != ErrorCode.NOT_COORDINATOR
    )
    (missing,) = describe(lab, unknown)
    assert missing.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert (missing.transaction_state, missing.producer_id, missing.transaction_start_time_ms) == ("", 0, 0)
    load_slowly(lab, own)
    assert [each.error_code for each in describe(lab, own)] == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]


def test_many_are_described_in_steps(make_call: Make) -> None:
    """Other clients have their turn meanwhile."""
    lab = GroupApis(make_call)
    names = [f"x-{number}" for number in range(3000)]
    sent = lab.send("DescribeTransactions", 0, transactional_ids=names)
    assert [each.transactional_id for each in sent.transaction_states] == names
