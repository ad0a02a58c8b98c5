"""Share partitions when leaders change, brokers stop, states move, topics go."""

import pytest

from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.topics import SHARE_GROUP_STATE
from fakebroker.protocol.errors import ErrorCode
from tests.support.share_fetches import ACCEPT, RELEASE, RENEW, ShareGroupLab, ShareMember, listed
from tests.support.work_counter import calls_of

UNTIL_GIVEN_UP_MS = 5 * 5_000 + 15_000  # a write is tried five times, with pauses


@pytest.fixture
def lab() -> ShareGroupLab:
    """Three brokers that have all partitions."""
    return ShareGroupLab(nodes=(1, 2, 3))


def leader(lab: ShareGroupLab) -> int:
    return lab.topic.partitions[0].leader


def other_than_leader(lab: ShareGroupLab) -> int:
    return next(node for node in (1, 2, 3) if node != leader(lab))


def member_at_leader(lab: ShareGroupLab, member_id: str = "m") -> ShareMember:
    return lab.member(member_id, node=leader(lab))


@pytest.mark.rules("SGP-1")
def test_only_the_leader_serves(lab: ShareGroupLab) -> None:
    """Another broker answers at once that it does not lead, and who does."""
    other = lab.member("m", node=other_than_leader(lab))
    answer = other.send(0)
    assert listed(answer) == {0: (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)}
    assert answer.responses[0].partitions[0].current_leader.leader_id == leader(lab)
    assert [node.node_id for node in answer.node_endpoints] == [leader(lab)]


@pytest.mark.rules("SGP-1", "SGP-9")
@pytest.mark.parametrize("end", ["stop_node", "kill_node"])
def test_the_next_leader_knows_what_was_stored(lab: ShareGroupLab, end: str) -> None:
    """The leader is gone: what was acknowledged stays so, what was only acquired comes again with its stored count."""
    lab.produce(4)
    member = member_at_leader(lab)
    member.fetch(0)
    assert member.acknowledge((0, 0, ACCEPT), (2, 2, RELEASE)) == 0
    gone = leader(lab)
    getattr(lab.sim.network, end)(gone)
    lab.wait(10_000)
    assert leader(lab) not in (gone, -1)
    assert member_at_leader(lab).fetch(0) == [(1, 1, 1), (2, 2, 2), (3, 3, 1)]
    assert not lab.cluster.nodes[gone].has_share_partitions


@pytest.mark.rules("SGP-1")
def test_a_new_leader_in_between(lab: ShareGroupLab) -> None:
    """A leader that lost the partition and got it back begins with what is stored; its old requests are void."""
    lab.produce(2)
    member = member_at_leader(lab)
    member.fetch(0)
    first, partition, now = leader(lab), lab.topic.partitions[0], lab.sim.network.now
    partition.lead(other_than_leader(lab), now)
    assert member.acknowledge((0, 1, ACCEPT)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partition.lead(first, now)
    assert member.acknowledge((0, 1, ACCEPT)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert member.fetch(0) == [(0, 1, 1)]
    assert member.acknowledge((0, 1, ACCEPT)) == 0


@pytest.mark.rules("SGP-9")
def test_a_wait_outlives_its_share_partition(lab: ShareGroupLab) -> None:
    """The leader changes while a fetch waits: the fetch finds nothing any more, and ends with its time."""
    member = member_at_leader(lab)
    assert member.send(0, wait=500) is None
    lab.topic.partitions[0].lead(other_than_leader(lab), lab.sim.network.now)
    lab.produce(1)
    assert member.answer() is None
    lab.wait(500)
    assert listed(member.answer()) == {}


@pytest.mark.rules("SGP-9")
def test_a_deleted_topic_ends_no_wait() -> None:
    """A fetch whose topic is deleted waits until its time is up, and finds nothing."""
    lab = ShareGroupLab()
    member = lab.member("m")
    assert member.send(0, wait=500) is None
    lab.cluster.topics.delete("t", lab.sim.network.now)
    lab.wait(499)
    assert member.answer() is None
    lab.wait(1)
    assert listed(member.answer()) == {}
    assert list(lab.cluster.nodes[1].share_partitions) == []


@pytest.mark.rules("SGP-5")
def test_a_frozen_leader_releases_when_it_goes_on() -> None:
    """The lock of a record times out while its broker stands still: it is released when the broker runs again."""
    lab = ShareGroupLab(settings={"broker.session.timeout.ms": 100_000_000})
    lab.produce(1)
    lab.member("m").fetch(0)
    lab.sim.network.freeze_node(1)
    lab.wait(31_000)
    assert lab.states() == {0: ("Acquired", 1)}
    lab.sim.network.thaw_node(1)
    lab.wait(1)
    assert lab.states() == {0: ("Available", 1)}


def state_log(lab: ShareGroupLab) -> PartitionLog:
    """The log of `__share_group_state` that has the share partition."""
    return lab.cluster.coordinator_partition(SHARE_GROUP_STATE, str(lab.key())).log


def hold_writes(lab: ShareGroupLab) -> None:
    """What is written of states from now on is not replicated."""
    log = state_log(lab)
    log.limit_high_watermark(log.high_watermark, lab.sim.network.now)


def let_writes_go(lab: ShareGroupLab) -> None:
    """It is replicated."""
    state_log(lab).limit_high_watermark(None, lab.sim.network.now)
    lab.sim.network.flush()


@pytest.fixture
def held() -> tuple[ShareGroupLab, ShareMember, ShareMember]:
    """One broker whose member has acquired three records, another member; writes of states wait."""
    lab = ShareGroupLab()
    lab.produce(3)
    member, other = lab.member("m"), lab.member("other")
    other.fetch(0, max_records=0)
    member.fetch(0)
    hold_writes(lab)
    return lab, member, other


@pytest.mark.rules("SGK-10")
def test_an_answer_waits_for_the_state(held: tuple[ShareGroupLab, ShareMember, ShareMember]) -> None:
    """An acknowledgement is answered when its state is stored: until then nobody else gets the records."""
    lab, member, other = held
    assert member.send_acks((0, 2, RELEASE)) is None
    assert other.fetch(0, wait=100) == []
    let_writes_go(lab)
    assert member.client.answer("ShareAcknowledge", 2).responses[0].partitions[0].error_code == 0
    assert other.fetch() == [(0, 2, 2)]


@pytest.mark.rules("SGK-10")
def test_what_could_not_be_stored_did_not_happen(held: tuple[ShareGroupLab, ShareMember, ShareMember]) -> None:
    """A write that comes to nothing is taken back: the member still has its records, and can say it again."""
    lab, member, _ = held
    lab.configure(share_record_lock_duration_ms=60_000)
    assert member.acknowledge((0, 2, RENEW), is_renew_ack=True) == 0
    assert member.send_acks((0, 1, ACCEPT)) is None
    lab.wait(UNTIL_GIVEN_UP_MS)
    error = member.client.answer("ShareAcknowledge", 2).responses[0].partitions[0].error_code
    assert error != 0
    member.epoch += 1
    assert lab.states() == dict.fromkeys(range(3), ("Acquired", 1))
    let_writes_go(lab)
    assert member.acknowledge((0, 2, ACCEPT)) == 0


@pytest.mark.rules("SGP-5", "SGK-10")
def test_a_lock_times_out_while_its_record_is_stored() -> None:
    """Nothing is released in the middle of a write; when the write comes to nothing it is."""
    lab = ShareGroupLab(share_record_lock_duration_ms=2_000)
    lab.produce(2)
    member = lab.member("m")
    member.fetch(0)
    lab.wait(1_000)
    hold_writes(lab)
    assert member.send_acks((0, 0, ACCEPT)) is None
    lab.wait(1_000)
    assert lab.states()[1] == ("Available", 1)
    assert lab.states()[0] == ("Acknowledged", 1)
    lab.wait(UNTIL_GIVEN_UP_MS)
    assert member.client.answer("ShareAcknowledge", 2).responses[0].partitions[0].error_code != 0
    assert lab.states()[0] == ("Available", 1)


@pytest.mark.rules("SGP-9")
def test_a_write_that_outlives_its_share_partition() -> None:
    """It is answered; what was in memory has no timers any more, and the next fetch loads what was stored."""
    lab = ShareGroupLab()
    lab.produce(2)
    member = lab.member("m")
    member.fetch(0)
    armed = len(lab.cluster.timers.mono) - 1
    hold_writes(lab)
    assert member.send_acks((0, 1, ACCEPT, RENEW), is_renew_ack=True) is None
    share_partition = lab.share_partition()
    assert share_partition is not None
    lab.cluster.nodes[1].share_partitions.drop(share_partition)
    let_writes_go(lab)
    assert member.client.answer("ShareAcknowledge", 2).responses[0].partitions[0].error_code == 0
    assert len(lab.cluster.timers.mono) == armed
    member.epoch += 1
    assert member.fetch() == [(1, 1, 1)]


@pytest.mark.rules("SGO-4")
def test_a_state_that_was_begun_anew() -> None:
    """Another state epoch refuses the next write: the share partition is dropped, and the next fetch loads it."""
    lab = ShareGroupLab()
    lab.produce(4)
    member = lab.member("m")
    member.fetch(0)
    lab.initialize(state_epoch=2, start=2)
    assert member.acknowledge((0, 0, ACCEPT)) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert member.acknowledge((1, 1, ACCEPT)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert member.fetch(0) == [(2, 3, 1)]


@pytest.mark.rules("SGP-9")
def test_the_end_of_a_connection_costs_what_it_opened() -> None:
    """It looks neither at share partitions of other groups nor at groups whose sessions were closed."""
    calls = []
    for partitions, groups in ((5, 5), (50, 200)):
        lab = ShareGroupLab(partitions)
        lab.member("m").send(*range(partitions), wait=0)
        other = lab.member("n")
        for number in range(groups):
            other.group, other.epoch = f"g{number}", 0
            assert other.send(wait=0) is not None
            assert other.close() == 0
        calls.append(calls_of(other.hang_up))
        assert lab.share_partition() is not None
    assert calls[0] == calls[1]
