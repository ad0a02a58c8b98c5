"""Whatever becomes of brokers, in any order: the cluster stays whole, and when all are back everything is served."""

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core import broker_life
from fakebroker.broker.core.cluster import Cluster
from tests.serve.sim.test_broker_life import SESSION_MS, SETTINGS, commit, produce
from tests.serve.sim.test_nodes import ClusterLab
from tests.support.chance import examples

OPERATIONS = ("stop", "kill", "start", "freeze", "thaw", "cut_off", "rejoin", "produce", "commit", "wait", "long_wait")
STEPS = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(1, 3)), max_size=25)


def act(lab: ClusterLab, operation: str, node_id: int) -> None:
    """One thing that happens to a broker, or that a client asks of it."""
    node, now = lab.cluster.nodes[node_id], lab.network.now
    if operation == "cut_off":
        if node.has_process and not node.is_cut_off:
            broker_life.cut_off(lab.cluster, node, now)
    elif operation == "rejoin":
        if node.is_cut_off:
            broker_life.rejoin(lab.cluster, node, now)
    elif operation in ("wait", "long_wait"):
        lab.network.advance(200 if operation == "wait" else SESSION_MS)
    elif operation in ("produce", "commit"):
        if node.has_process:
            client = lab.at(node_id)
            _ = produce(client, -1 if now.mono_ms % 2 else 1) if operation == "produce" else commit(client, "", 1, -1)
    else:
        getattr(lab.network, f"{operation}_node")(node_id)
    lab.network.flush()


def check(cluster: Cluster) -> None:
    """What holds at any time."""
    for node in cluster.nodes.values():
        assert node.has_process or not node.coordinator.shards
        assert node.is_unaware or not (node.is_fenced and node.is_running) or node.learns is not None
    for topic in cluster.topics:
        for partition in topic.partitions:
            assert partition.leader == -1 or partition.leader in partition.isr
            assert partition.leader == -1 or not cluster.nodes[partition.leader].is_fenced
            assert set(partition.isr) <= set(partition.replicas)
            if partition.has_log:
                log = partition.log
                assert log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset
                assert (log.high_watermark_limit is None) == partition.is_replicating


@examples(60)
@given(STEPS)
def test_any_order(steps: list[tuple[str, int]]) -> None:
    """After each step the state is one that a cluster can have; with all back, writes and commits are accepted."""
    lab = ClusterLab(**SETTINGS, min_insync_replicas=2)
    lab.cluster.topics.create("t", assignments=[[1, 2, 3]])
    for operation, node_id in steps:
        act(lab, operation, node_id)
        check(lab.cluster)
    for node_id in (1, 2, 3):
        for operation in ("rejoin", "thaw", "start"):
            act(lab, operation, node_id)
    lab.network.advance(SESSION_MS)
    check(lab.cluster)
    partition, coordinator = lab.cluster.topics.partition("t", 0), lab.cluster.group_partition("g")
    assert partition is not None
    assert [sorted(each.isr) for each in (partition, coordinator)] == [[1, 2, 3], [1, 2, 3]]
    assert produce(lab.at(partition.leader), -1) == (0, partition.log.log_end_offset - 1)
    assert commit(lab.at(coordinator.leader), "", 7, -1) == 0
    assert not any(p.stale_views for topic in lab.cluster.topics for p in topic.partitions)
    assert lab.engine.errors == []
