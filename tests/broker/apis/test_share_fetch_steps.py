"""A ShareFetch of many partitions is done in steps: what others do in between."""

import pytest

from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.messages import share_acknowledge
from fakebroker.protocol.wire.messages.share_fetch import FetchPartition, FetchTopic
from fakebroker.protocol.wire.registry import api
from tests.support.frames import frames, request
from tests.support.share_fetches import ShareGroupLab, ShareMember, parts_of
from tests.support.small_steps import make_steps_smaller

PARTITIONS = 6
ONE_BY_ONE = 500  # a step has so many partitions else


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> ShareGroupLab:
    """Partitions with a record each; a step is over after the second partition."""
    make_steps_smaller(monkeypatch, ONE_BY_ONE)
    lab = ShareGroupLab(PARTITIONS)
    for index in range(PARTITIONS):
        lab.produce(1, partition=index)
    return lab


def begin(lab: ShareGroupLab, member: ShareMember, steps: int, wait: int = 0) -> None:
    """Send a ShareFetch of all partitions, of which only so many steps are taken."""
    rows = [FetchPartition(partition_index=index) for index in range(PARTITIONS)]
    data = request(
        "ShareFetch", 2, group_id="g", member_id=member.member_id, share_session_epoch=member.epoch, max_wait_ms=wait,
        min_bytes=1, max_bytes=1 << 20, max_records=500, batch_size=500,
        topics=[FetchTopic(topic_id=lab.topic.id, partitions=rows)],
    )  # fmt: skip
    member.client.socket.connection.receive(data, lab.sim.network.now)
    for _ in range(steps):
        lab.sim.engine.step(lab.sim.network.now)


def finish(lab: ShareGroupLab, member: ShareMember) -> dict[int, tuple[int, int]]:
    """Take the other steps. Returns, by partition, the error and how many ranges were acquired."""
    lab.sim.network.flush()
    (frame,) = frames(member.client.socket.take())
    answer = decode_response(api("ShareFetch").key, 2, frame)[1]
    assert answer.error_code == 0
    assert lab.sim.engine.errors == []
    return {each.partition_index: (each.error_code, len(each.acquired_records)) for each in parts_of(answer)}


def acquired_partitions(lab: ShareGroupLab) -> set[int]:
    """Those of whose record somebody has the lock."""
    found = {index: lab.share_partition(index) for index in range(PARTITIONS)}
    windows = {index: each.window for index, each in found.items() if each is not None}
    return {
        index
        for index, window in windows.items()
        if window is not None and any(state.lock is not None for batch in window for *_, state in batch.states())
    }


def steps_until_some_are_acquired(lab: ShareGroupLab) -> None:
    """Take steps until a part of the partitions is acquired."""
    while not acquired_partitions(lab):
        lab.sim.engine.step(lab.sim.network.now)
    assert len(acquired_partitions(lab)) < PARTITIONS


@pytest.mark.rules("SGF-10")
@pytest.mark.parametrize("wait", [0, 500])
def test_all_are_acquired_in_the_end(lab: ShareGroupLab, wait: int) -> None:
    """The answer is that of a request which takes one step."""
    member = lab.member("m")
    begin(lab, member, 0, wait)
    assert len(lab.sim.engine.works) == 1
    assert finish(lab, member) == dict.fromkeys(range(PARTITIONS), (0, 1))


@pytest.mark.rules("SGP-7", "SGP-9")
@pytest.mark.parametrize("steps", range(12))
def test_a_client_that_leaves_between_steps_has_nothing(lab: ShareGroupLab, steps: int) -> None:
    """Whatever step it leaves after: another member gets all records, and nothing waits any more."""
    member, other = lab.member("m"), lab.member("n")
    other.send(wait=0)  # its session keeps the share partitions in memory
    begin(lab, member, 0)
    for _ in range(steps):
        if lab.sim.engine.works:
            lab.sim.engine.step(lab.sim.network.now)
    member.client.socket.connection.closed(lab.sim.network.now)
    lab.sim.network.flush()
    assert lab.sim.engine.errors == []
    assert acquired_partitions(lab) == set()
    assert not any(partition.log.waiters for partition in lab.topic.partitions)
    begin(lab, other, 0)
    assert finish(lab, other) == dict.fromkeys(range(PARTITIONS), (0, 1))


@pytest.mark.rules("SGP-9")
def test_a_leader_that_changes_between_steps(lab: ShareGroupLab) -> None:
    """A share partition that is dropped meanwhile gives nothing; what others gave is answered."""
    member = lab.member("m")
    begin(lab, member, 0)
    steps_until_some_are_acquired(lab)
    last = max(set(range(PARTITIONS)) - acquired_partitions(lab))
    lab.cluster.nodes[1].share_partitions.drop(lab.share_partition(last))  # type: ignore[arg-type]
    assert finish(lab, member) == {index: (0, int(index != last)) for index in range(PARTITIONS) if index != last}


@pytest.mark.rules("SGF-10")
def test_two_members_between_each_others_steps(lab: ShareGroupLab) -> None:
    """Each record is acquired by one of them."""
    first, second = lab.member("m"), lab.member("n")
    begin(lab, first, 0)
    steps_until_some_are_acquired(lab)
    begin(lab, second, 0)
    lab.sim.network.flush()
    taken = [finish(lab, each) for each in (first, second)]
    assert sum(count for each in taken for _, count in each.values()) == PARTITIONS
    assert acquired_partitions(lab) == set(range(PARTITIONS))


@pytest.mark.rules("SGK-10")
def test_acknowledgements_are_stored_in_steps(lab: ShareGroupLab) -> None:
    """All of them count, also if the client leaves when the first are stored."""
    member = lab.member("m")
    begin(lab, member, 0)
    finish(lab, member)
    batch = share_acknowledge.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    rows = [
        share_acknowledge.AcknowledgePartition(partition_index=index, acknowledgement_batches=[batch])
        for index in range(PARTITIONS)
    ]
    topic = share_acknowledge.AcknowledgeTopic(topic_id=lab.topic.id, partitions=rows)
    data = request("ShareAcknowledge", 2, group_id="g", member_id="m", share_session_epoch=1, topics=[topic])
    member.client.socket.connection.receive(data, lab.sim.network.now)
    assert lab.sim.engine.works
    member.client.socket.connection.closed(lab.sim.network.now)
    lab.sim.network.flush()
    assert lab.sim.engine.errors == []
    assert not any(lab.share_partition(index) for index in range(PARTITIONS))  # what is stored counts
    other = lab.member("n")
    begin(lab, other, 0)
    assert finish(lab, other) == dict.fromkeys(range(PARTITIONS), (0, 0))
