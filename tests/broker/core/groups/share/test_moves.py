"""Share groups whose coordinator is another one, and clusters that are built again from a snapshot."""

import pytest

from fakebroker.broker.core import elections
from fakebroker.broker.core.cluster_state import build_cluster, cluster_state, load_coordinators
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.share_state.states import SharePartition, ShareState
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from tests.support.share_groups import DEFAULTS, OneShareGroup
from tests.support.time import SECOND


@pytest.mark.rules("SGB-1", "SGH-20")
def test_another_coordinator_goes_on() -> None:
    """Members keep epochs and partitions; their sessions begin anew there, and nobody is removed here."""
    lab = OneShareGroup({"offsets.topic.replication.factor": 2}, (1, 2))
    lab.join("m1")
    lab.send("m1", 2)
    partition = lab.cluster.group_partition("g")
    former = lab.group
    lab.wait(40 * SECOND)

    elections.move_leader(partition, 3 - partition.leader, lab.now)
    lab.wait(10 * SECOND)
    answer = lab.send("m1", 3)

    assert former.is_dead
    assert (answer.member_epoch, lab.has("m1")) == (3, (3, {"t": [0, 1]}))


def test_a_snapshot_has_groups_and_states() -> None:
    """Both come from the logs: the member goes on, and the share coordinator knows what was acknowledged."""
    lab = OneShareGroup()
    lab.join("m1")
    lab.send("m1", 2)
    state = cluster_state(lab.cluster)

    cluster = build_cluster(state, Settings(DEFAULTS, profile="kafka"), release("4.3"), lab.now)
    load_coordinators(cluster, lab.now)

    group = cluster.nodes[1].coordinator.shard("g", lab.now).group_of(ShareGroup, "g")
    key = SharePartition("g", lab.topics["t"].id, 1)
    assert group is not None
    assert group.members == lab.group.members
    assert cluster.nodes[1].share_coordinator.shard(str(key), lab.now).states[key].state == ShareState(2, 0, -1)
