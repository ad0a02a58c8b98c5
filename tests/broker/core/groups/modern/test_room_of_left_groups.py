"""What a group keeps of a member that read very many topics and has left."""

import sys
from collections.abc import Callable

import pytest

from tests.support.engine import SimEngine
from tests.support.rights import ask

TOPICS = 600
MOST_BYTES = 1_000  # of any dict, set or list of a group without members


def consumer(lab: SimEngine, epoch: int) -> None:
    ask(
        lab.client(), "ConsumerGroupHeartbeat", 1, GroupId="g", MemberId="m", MemberEpoch=epoch, TopicPartitions=[],
        RebalanceTimeoutMs=60_000, SubscribedTopicNames=names(),
    )  # fmt: skip


def share(lab: SimEngine, epoch: int) -> None:
    ask(
        lab.client(), "ShareGroupHeartbeat", 1, GroupId="g", MemberId="m", MemberEpoch=epoch,
        SubscribedTopicNames=names(),
    )  # fmt: skip


def names() -> list[str]:
    return [f"topic-{number}" for number in range(TOPICS)]


def largest(of: object, seen: set[int]) -> int:
    """The size of the largest container that an object of ours has, or objects in it."""
    if id(of) in seen:
        return 0
    seen.add(id(of))
    size = sys.getsizeof(of) if isinstance(of, dict | set | list) else 0
    names = [name for kind in type(of).__mro__ for name in getattr(kind, "__slots__", ())]
    parts = [getattr(of, name, None) for name in names] + [*getattr(of, "__dict__", {}).values()]
    near = [each for each in parts if isinstance(each, dict | set | list) or "groups" in type(each).__module__]
    return max([size, *(largest(each, seen) for each in near)])


@pytest.mark.parametrize("heartbeat", [consumer, share])
def test_an_empty_group_keeps_no_room(heartbeat: Callable[[SimEngine, int], None]) -> None:
    """As little as one that never had a member with many topics."""
    lab = SimEngine()
    for name in names():
        lab.cluster.topics.create(name, 1)
    heartbeat(lab, 0)
    node = lab.cluster.nodes[1]
    group = node.coordinator.shard("g", lab.network.now).seen_group("g")
    assert group is not None
    assert largest(group, set()) > MOST_BYTES
    heartbeat(lab, -1)

    assert not list(group.member_ids())
    assert largest(group, set()) < MOST_BYTES
