"""Who leads and who is in sync when brokers stop and start."""

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.elections import elect_preferred, elect_unclean, reassign
from fakebroker.broker.core.events import NodeChanged
from fakebroker.broker.core.topics import Partition
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.instant import Instant

NOW = Instant(1000, 10)


def make(as_release: str = "4.3") -> Cluster:
    """Three brokers."""
    return Cluster(Settings(), release(as_release), node_ids=(1, 2, 3))


def partition_on(cluster: Cluster, *replicas: int, **config: str) -> Partition:
    names = {name.replace("_", "."): value for name, value in config.items()}
    return cluster.topics.create("t", config=names, assignments=[replicas]).partitions[0]


def leadership(partition: Partition) -> tuple[int, int, list[int]]:
    """Leader, leader epoch, in-sync set."""
    return partition.leader, partition.leader_epoch, partition.isr


@pytest.mark.rules("CLU-6", "CLU-24", "CLU-26", "CLU-30")
def test_the_next_replica_in_sync_leads() -> None:
    """In the order of the replicas, not of the in-sync set; a broker that is back follows and is the last in sync."""
    cluster = make()
    partition = partition_on(cluster, 1, 3, 2)
    partition.isr = [2, 1, 3]
    cluster.stop_node(1, NOW)
    assert leadership(partition) == (3, 1, [2, 3])
    assert partition.replicas == [1, 3, 2]
    cluster.start_node(1, NOW)
    assert leadership(partition) == (3, 1, [2, 3, 1])
    assert elect_preferred(partition, NOW)
    assert leadership(partition) == (1, 2, [2, 3, 1])


@pytest.mark.rules("CLU-24", "CLU-26")
def test_a_follower_comes_and_goes() -> None:
    """Changes of the in-sync set leave leader and epoch alone; a partition without a replica there is not touched."""
    cluster = make()
    partition = partition_on(cluster, 1, 2)
    cluster.stop_node(3, NOW)
    assert leadership(partition) == (1, 0, [1, 2])
    cluster.stop_node(2, NOW)
    assert leadership(partition) == (1, 0, [1])
    cluster.start_node(2, NOW)
    assert leadership(partition) == (1, 0, [1, 2])


@pytest.mark.rules("CLU-22", "CLU-24", "CLU-26")
def test_the_last_replica_in_sync_goes() -> None:
    """Nobody leads, at a new epoch; the last leader is eligible, and leads again as soon as it is back."""
    cluster = make()
    partition = partition_on(cluster, 1, 2)
    cluster.stop_node(2, NOW)
    cluster.stop_node(1, NOW)
    assert leadership(partition) == (-1, 1, [])
    assert (partition.elr, partition.last_known_elr) == ([1], [1])
    cluster.start_node(2, NOW)
    assert leadership(partition) == (-1, 1, [])
    assert not elect_preferred(partition, NOW)
    cluster.start_node(1, NOW)
    assert leadership(partition) == (1, 2, [1, 2])
    assert (partition.elr, partition.last_known_elr) == ([], [])


@pytest.mark.rules("CLU-22")
def test_below_the_minimum_those_who_leave_stay_eligible() -> None:
    """With `min.insync.replicas` 2 each of the last two has every acknowledged record: either may lead (KIP-966)."""
    cluster = make()
    partition = partition_on(cluster, 1, 2, 3, min_insync_replicas="2")
    cluster.stop_node(1, NOW)
    assert (partition.isr, partition.elr) == ([2, 3], [])
    cluster.stop_node(2, NOW)
    cluster.stop_node(3, NOW)
    assert (partition.isr, partition.elr, partition.last_known_elr) == ([], [2, 3], [3])
    cluster.start_node(1, NOW)
    assert partition.leader == -1
    cluster.start_node(2, NOW)
    assert leadership(partition) == (2, 4, [2, 1])
    assert (partition.elr, partition.last_known_elr) == ([], [])


@pytest.mark.rules("CLU-22")
def test_before_eligible_leaders_the_last_one_stays_in_sync() -> None:
    """Up to 3.9 the in-sync set is never empty: whoever is in it may lead."""
    cluster = make("3.9")
    partition = partition_on(cluster, 1, 2)
    cluster.stop_node(1, NOW)
    cluster.stop_node(2, NOW)
    assert leadership(partition) == (-1, 2, [2])
    assert (partition.elr, partition.last_known_elr) == ([], [])
    cluster.start_node(1, NOW)
    assert leadership(partition) == (-1, 2, [2])
    cluster.start_node(2, NOW)
    assert leadership(partition) == (2, 3, [2, 1])


@pytest.mark.rules("CLU-70")
def test_unclean_elections() -> None:
    """Any live replica may lead where `unclean.leader.election.enable` or ElectLeaders says so, none without one."""
    cluster = make()
    careful = partition_on(cluster, 1, 2)
    careless = cluster.topics.create(
        "u", config={"unclean.leader.election.enable": "true"}, assignments=[[1, 2]]
    ).partitions[0]
    for node_id in (2, 1):
        cluster.stop_node(node_id, NOW)
    assert not elect_unclean(careful, NOW)
    cluster.start_node(2, NOW)
    assert leadership(careful) == (-1, 1, [])
    assert leadership(careless) == (2, 2, [2])
    assert elect_unclean(careful, NOW)
    assert leadership(careful) == (2, 2, [2])
    cluster.start_node(1, NOW)
    assert leadership(careful) == (2, 2, [2, 1])


@pytest.mark.rules("CLU-20", "CLU-30")
def test_what_goes_with_a_broker() -> None:
    """Its fetch sessions; the controller is another; stopping or starting twice does nothing more."""
    cluster = make()
    partition = partition_on(cluster, 1, 2)
    sessions = cluster.nodes[1].fetch_sessions
    for _ in range(2):
        cluster.stop_node(1, NOW)
    assert cluster.controller_id == 2
    for _ in range(2):
        cluster.start_node(1, NOW)
    assert cluster.nodes[1].fetch_sessions is not sessions
    assert leadership(partition) == (2, 1, [2, 1])
    assert cluster.outbox == [NodeChanged(1, "stopped"), NodeChanged(1, "started")]


def test_a_leader_without_a_replica() -> None:
    """Where a test let a broker lead that has no replica, a replica leads when that broker stops."""
    cluster = make()
    partition = partition_on(cluster, 1)
    partition.lead(2, NOW)
    cluster.stop_node(2, NOW)
    assert leadership(partition) == (1, 2, [1])
    cluster.start_node(2, NOW)
    assert leadership(partition) == (1, 2, [1])


@pytest.mark.rules("CLU-71")
def test_a_partition_moved_to_a_broker_that_is_down() -> None:
    """Nobody leads it until the broker is back."""
    cluster = make()
    partition = partition_on(cluster, 1)
    cluster.stop_node(2, NOW)
    reassign(partition, [2], NOW)
    assert leadership(partition) == (-1, 1, [])
    cluster.start_node(2, NOW)
    assert leadership(partition) == (2, 2, [2])


@pytest.mark.rules("CLU-55", "CLU-71")
@pytest.mark.parametrize("leader_lives", [False, True])
def test_a_move_wakes_who_waits_for_records(leader_lives: bool) -> None:
    """Fetches look again when replicas were taken away, whoever leads before and after; to add one wakes nobody."""
    cluster = make()
    partition = partition_on(cluster, 1, 2)
    if not leader_lives:
        cluster.stop_node(1, NOW)
        cluster.stop_node(2, NOW)
        cluster.stop_node(3, NOW)
    woken: list[Instant] = []
    changes = partition.changes
    partition.log.waiters["fetch"] = woken.append
    reassign(partition, [1, 2, 3], NOW)
    assert woken == []
    reassign(partition, [1, 3], NOW)
    assert woken[:1] == [NOW]
    assert partition.changes > changes
