"""Requests of transactional producers by short names, on a cluster without a network."""

from typing import Any

from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.protocol.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tests.support.group_apis import GroupApis


def elsewhere(lab: GroupApis, leader: int = 2) -> str:
    """A transactional id that node `leader` coordinates."""
    names = (f"tx-{number}" for number in range(1000))
    return next(name for name in names if lab.cluster.coordinator_partition(TRANSACTION_STATE, name).leader == leader)


def load_slowly(lab: GroupApis, transactional_id: str = "tx") -> None:
    """The partition of the transactional id is being read for a minute from now on."""
    partition = lab.cluster.coordinator_partition(TRANSACTION_STATE, transactional_id)
    lab.cluster.nodes[1].transactions.load(partition.index, lab.now, for_ms=60_000)


def producer(lab: GroupApis, transactional_id: str = "tx") -> dict[str, Any]:
    """The fields of a request by a producer that was given its id just now."""
    asked = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000}
    given = lab.ask("InitProducerId", 4, **asked)
    assert given.error_code == 0
    return {
        "transactional_id": transactional_id,
        "producer_id": given.producer_id,
        "producer_epoch": given.producer_epoch,
    }


def topics(**partitions: list[int]) -> list[AddPartitionsToTxnTopic]:
    """Topics of an AddPartitionsToTxn: topics(t=[0, 1])."""
    return [AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in partitions.items()]


def add(lab: GroupApis, who: dict[str, Any], version: int = 3, **partitions: list[int]) -> dict[tuple[str, int], int]:
    """AddPartitionsToTxn as clients send it; the codes by topic and partition."""
    asked = {f"v3_and_below_{name}": value for name, value in who.items()}
    answer = lab.ask("AddPartitionsToTxn", version, v3_and_below_topics=topics(**partitions), **asked)
    return codes(answer.results_by_topic_v3_and_below)


def asked(who: dict[str, Any], *, verify: bool = False, **partitions: list[int]) -> AddPartitionsToTxnTransaction:
    """One transaction of an AddPartitionsToTxn as brokers send it."""
    return AddPartitionsToTxnTransaction(verify_only=verify, topics=topics(**partitions), **who)


def codes(results: list[Any]) -> dict[tuple[str, int], int]:
    """The codes of an AddPartitionsToTxn by topic and partition."""
    return {
        (topic.name, each.partition_index): each.partition_error_code
        for topic in results
        for each in topic.results_by_partition
    }


def state(lab: GroupApis, transactional_id: str = "tx") -> str:
    """The state that DescribeTransactions shows, "" for an error."""
    (shown,) = lab.ask("DescribeTransactions", 0, transactional_ids=[transactional_id]).transaction_states
    return str(shown.transaction_state)
