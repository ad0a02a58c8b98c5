"""DeleteGroups of share groups (SGL-3)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.share_state.states import SharePartition
from fakebroker.protocol.errors import ErrorCode
from tests.support.share_group_apis import ShareGroupApis

MakeCall = Callable[..., Call]


@pytest.fixture
def lab(make_call: MakeCall) -> ShareGroupApis:
    return ShareGroupApis(make_call)


@pytest.mark.rules("SGL-3")
def test_deleting_groups(lab: ShareGroupApis) -> None:
    """One with members stays; an Empty one goes with its states; others in the same request are as ever."""
    lab.beat(0)
    (left,) = lab.stable("classic")
    lab.ask("LeaveGroup", 0, group_id="classic", member_id=left)

    def delete(*names: str) -> list[tuple[str, int]]:
        answer = lab.ask("DeleteGroups", 2, groups_names=list(names))
        return [(each.group_id, each.error_code) for each in answer.results]

    assert delete("g", "none") == [("g", ErrorCode.NON_EMPTY_GROUP), ("none", ErrorCode.GROUP_ID_NOT_FOUND)]
    lab.beat(-1)
    assert delete("none", "g", "classic") == [("none", ErrorCode.GROUP_ID_NOT_FOUND), ("g", 0), ("classic", 0)]
    assert delete("g") == [("g", ErrorCode.GROUP_ID_NOT_FOUND)]
    assert all(not shard.states for shard in lab.cluster.nodes[1].share_coordinator.all_shards(lab.now))


@pytest.mark.rules("SGL-3")
def test_a_group_whose_states_cannot_be_deleted_stays(lab: ShareGroupApis) -> None:
    """It is answered with the share coordinator's error, when that is reported for good."""
    lab.alter({"t": {0: 4}})
    key = str(SharePartition("g", lab.topic.id, 0))
    partition = lab.cluster.coordinator_partition("__share_group_state", key).index
    lab.cluster.nodes[1].share_coordinator.load(partition, lab.now, for_ms=60_000)

    sent = lab.send("DeleteGroups", 2, groups_names=["g"])
    assert sent.answer is None
    lab.wait(15_000)

    assert [(each.group_id, each.error_code) for each in sent.results] == [
        ("g", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    ]
    assert lab.coordinator.shard("g", lab.now).group("g") is not None
