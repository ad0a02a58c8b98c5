"""Where a transactional id is, and what its coordinator knows of it. Looking makes no internal topic and no log."""

from typing import TYPE_CHECKING

from fakebroker.broker.core.explain.transactions import shard_of
from fakebroker.broker.core.java_hash import partition_of
from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.transactions.transaction import Transaction


def expected_coordinator(cluster: "Cluster", transactional_id: str) -> tuple[int, int]:
    """The partition of `__transaction_state` that holds the transactional id, and its leader, -1 for none.

    Before the topic is made: what they will be if nothing changes until then.
    """
    if TRANSACTION_STATE in cluster.topics:
        partition = cluster.coordinator_partition(TRANSACTION_STATE, transactional_id)
        return partition.index, partition.leader
    index = partition_of(transactional_id, cluster.settings.get_int("transaction.state.log.num.partitions"))
    return index, cluster.assign_replicas(index, 1, 1)[0][0] if cluster.live(cluster.nodes) else -1


def find_transaction(cluster: "Cluster", transactional_id: str, now: Instant) -> "Transaction | None":
    """What its coordinator knows of a transactional id; None without a coordinator, too, and while it is loading."""
    try:
        shard = shard_of(cluster, transactional_id, now)
    except KafkaError:
        return None
    return None if shard is None else shard.transaction(transactional_id)
