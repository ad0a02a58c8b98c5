"""A share fetch that goes on in steps while its topic is deleted."""

import pytest

from fakebroker.broker.core.share_partitions import share_fetch
from fakebroker.broker.core.share_partitions.acquisition import AcquireMode
from fakebroker.broker.core.share_partitions.sessions import TopicIdPartition
from fakebroker.broker.core.share_partitions.share_fetch import FetchedRecords, ShareFetch, ShareFetchParams
from tests.support.share_fetches import ShareGroupLab

PARTITIONS = 4


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> ShareGroupLab:
    """Each partition is looked at in a step of its own."""
    monkeypatch.setattr(share_fetch, "PARTITIONS_PER_STEP", 0)
    return ShareGroupLab(PARTITIONS)


def fetch_of(lab: ShareGroupLab, answers: list[dict[TopicIdPartition, FetchedRecords]]) -> ShareFetch:
    targets = [((lab.topic.id, each.index), each) for each in lab.topic.partitions]
    params = ShareFetchParams("g", "m", 0, 1, 1 << 20, 500, 500, AcquireMode.BATCH_OPTIMIZED)
    manager = lab.cluster.nodes[1].share_partitions
    return ShareFetch(manager, params, targets, lambda found, _now: answers.append(found))


@pytest.mark.rules("SGF-8")
@pytest.mark.parametrize("steps_before", range(PARTITIONS))
def test_partitions_that_are_not_loaded_yet_are_left_alone(lab: ShareGroupLab, steps_before: int) -> None:
    """They give nothing, get no log, and no share partition waits for their records."""
    partitions, answers = list(lab.topic.partitions), list[dict[TopicIdPartition, FetchedRecords]]()
    steps = fetch_of(lab, answers)._begin_in_steps()
    for _ in range(steps_before):
        next(steps)
    lab.cluster.topics.delete("t", lab.sim.network.now)
    for _ in steps:
        pass
    assert [each.used_log for each in partitions] == [None] * PARTITIONS
    assert list(lab.cluster.nodes[1].share_partitions) == []
    assert answers == []


@pytest.mark.rules("SGF-8")
@pytest.mark.parametrize("steps_before", range(2 * PARTITIONS))
def test_partitions_that_are_not_read_yet_give_nothing(lab: ShareGroupLab, steps_before: int) -> None:
    """The others have given what they had; the request is answered."""
    for index in range(PARTITIONS):
        lab.produce(1, partition=index)
    partitions, answers = list(lab.topic.partitions), list[dict[TopicIdPartition, FetchedRecords]]()
    fetch = fetch_of(lab, answers)
    for _ in fetch._begin_in_steps():
        pass
    steps = fetch._complete_in_steps()
    for _ in range(steps_before):
        next(steps)
    lab.cluster.topics.delete("t", lab.sim.network.now)
    for _ in steps:
        pass
    assert [each.used_log for each in partitions] == [None] * PARTITIONS
    assert len(answers) == 1
    assert len(answers[0]) == max(0, steps_before - PARTITIONS)
