"""Fetch: what one partition gives, limits, waiting, versions."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis import fetch, fetch_answer
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.node import Node
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import finished
from fakebroker.protocol.records.batch import build_batch, read_records, split_batches
from fakebroker.protocol.records.message_set import read_message_set, unwrap
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.fetch import FetchRequest, PartitionData
from tests.support.fetches import MIB, At, Fetches, Pending
from tests.support.share_state_apis import MakeCall
from tests.support.time import T0

ALL_VERSIONS = range(4, 19)


@pytest.fixture
def lab(make_call: MakeCall) -> Fetches:
    return Fetches(make_call)


def position(data: PartitionData) -> tuple[int, int, int, int]:
    """(code, high watermark, last stable offset, log start) of an answered partition."""
    return (data.error_code, data.high_watermark, data.last_stable_offset, data.log_start_offset)


# -- what a partition gives ------------------------------------------------------------------------------------------


@pytest.mark.rules("FT-1")
def test_old_versions_are_gone() -> None:
    """4.x serves v4 to v18; 3.9 still served v0."""
    assert release("4.3").versions[ApiKey.FETCH] == (4, 18)
    assert release("3.9").versions[ApiKey.FETCH][0] == 0


@pytest.mark.rules("FT-3", "FT-9")
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_every_version_reads(lab: Fetches, version: int) -> None:
    """Records come with watermarks; names or ids as the version has them; no replica is preferred."""
    lab.produce(3)
    pending = lab.fetch(At(offset=1), version=version)
    data = pending.only()
    assert pending.offsets() == {0: [1, 2]}
    expected_start = 0 if version >= 5 else -1  # the field's default where the version has none
    assert position(data) == (0, 3, 3, expected_start)
    assert data.aborted_transactions is None
    assert data.preferred_read_replica == -1
    assert pending.partitions()[0][0] == ("t" if version < 13 else lab.topic.id)


@pytest.mark.rules("FT-3", "FT-15")
def test_read_committed_has_a_list_of_aborted_transactions(lab: Fetches) -> None:
    """It is null for read_uncommitted, and a list, empty without records, for read_committed."""
    assert lab.fetch(At()).only().aborted_transactions is None
    data = lab.fetch(At(), committed=True).only()
    assert data.aborted_transactions == []
    assert data.records == b""


@pytest.mark.rules("FT-14")
def test_read_committed_ends_at_the_last_stable_offset(lab: Fetches) -> None:
    """Records behind it are for read_uncommitted only; both learn where it is."""
    lab.produce(4)
    lab.log().last_stable_offset = 2
    assert lab.fetch(At(), committed=True).offsets() == {0: [0, 1]}
    assert lab.fetch(At()).offsets() == {0: [0, 1, 2, 3]}
    assert position(lab.fetch(At()).only()) == (0, 4, 2, 0)
    assert lab.fetch(At(offset=3), committed=True).offsets() == {0: []}


@pytest.mark.rules("FT-9")
def test_batches_come_whole(lab: Fetches) -> None:
    """An offset inside a batch gives the batch from its beginning."""
    lab.log().append(build_batch([Record(n, T0, None, b"v") for n in range(5)]), lab.now)
    data = lab.fetch(At(offset=3)).only()
    assert [record.offset for record in read_records(data.records or b"")] == [0, 1, 2, 3, 4]


@pytest.mark.rules("FT-10", "FT-20", "CLU-52")
def test_positions(lab: Fetches) -> None:
    """Beyond either end is 1 without offsets; at the end, or between high watermark and end, is empty."""
    lab.produce(4)
    lab.log().advance_log_start(1, lab.now)
    lab.log().limit_high_watermark(3, lab.now)
    for offset in (-1, 0, 5, 2**62):
        data = lab.fetch(At(offset=offset)).only()
        assert position(data) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1, -1)
        assert data.aborted_transactions is None
    for offset, found in ((1, [1, 2]), (2, [2]), (3, []), (4, [])):
        pending = lab.fetch(At(offset=offset))
        assert pending.offsets() == {0: found}
        assert position(pending.only()) == (0, 3, 3, 1)


@pytest.mark.rules("FT-20")
def test_a_batch_over_the_log_start_comes_whole(lab: Fetches) -> None:
    """After DeleteRecords inside a batch the batch is delivered as it is."""
    lab.log().append(build_batch([Record(n, T0, None, b"v") for n in range(5)]), lab.now)
    lab.log().advance_log_start(2, lab.now)
    assert lab.fetch(At(offset=2)).offsets() == {0: [0]}


@pytest.mark.rules("FT-8")
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_unknown_topics_and_partitions(lab: Fetches, version: int) -> None:
    """3 for names and indexes, 100 for ids; offsets -1, and an empty list of aborted transactions, not null."""
    for at, code in (
        (At(topic="no"), ErrorCode.UNKNOWN_TOPIC_ID if version >= 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (At(partition=4), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (At(partition=-1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        data = lab.fetch(at, version=version).only()
        assert position(data) == (code, -1, -1, -1)
        assert data.aborted_transactions == []
        assert data.records == b""


@pytest.mark.rules("FT-2", "FT-8")
def test_order_of_the_answer(lab: Fetches) -> None:
    """Partitions come as asked for, under one entry as long as the topic stays; unknown ones come last."""
    lab.cluster.topics.create("u", 1)
    pending = lab.fetch(At(9), At(1), At(0), At(8), At(0, topic="u"), At(2), At(0, topic="no"))
    order = [(topic, data.partition_index) for topic, data in pending.partitions()]
    assert order == [("t", 1), ("t", 0), ("u", 0), ("t", 2), ("t", 9), ("t", 8), ("no", 0)]
    assert [entry.topic for entry in pending.response.responses] == ["t", "u", "t", "no"]


@pytest.mark.rules("FT-21")
def test_asked_twice(lab: Fetches) -> None:
    """The last one counts, in the place of the first."""
    lab.produce(3)
    pending = lab.fetch(At(0), At(1), At(0, offset=2))
    assert [data.partition_index for _, data in pending.partitions()] == [0, 1]
    assert pending.offsets() == {0: [2], 1: []}


@pytest.mark.rules("FT-11", "CLU-53")
@pytest.mark.parametrize(
    ("epoch", "code"),
    [
        (-1, 0),
        (-9, 0),
        (2, 0),
        (1, ErrorCode.FENCED_LEADER_EPOCH),
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (3, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_leader_epochs(lab: Fetches, epoch: int, code: int) -> None:
    """Lower than the partition's is 74, higher 75, below zero is not checked."""
    lab.topic.partitions[0].leader_epoch = 2
    lab.produce()
    data = lab.fetch(At(epoch=epoch)).only()
    assert data.error_code == code
    assert data.aborted_transactions is None
    assert (data.high_watermark == -1) == bool(code)


@pytest.mark.rules("FT-11", "CLU-51")
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_leader_hints(lab: Fetches, version: int) -> None:
    """From v16 on 74 names the leader and where it is; 75 does not."""
    lab.topic.partitions[0].leader_epoch = 2
    hinted = version >= 16
    for epoch, code in ((1, 74), (3, 75)):
        pending = lab.fetch(At(epoch=epoch), At(1), version=version)
        if version < 9:
            assert {data.error_code for _, data in pending.partitions()} == {0}
            continue
        leader = pending.partitions()[0][1].current_leader
        named = hinted and code == ErrorCode.FENCED_LEADER_EPOCH
        assert (leader.leader_id, leader.leader_epoch) == ((1, 2) if named else (-1, -1))
        assert [(n.node_id, n.port) for n in pending.response.node_endpoints] == ([(1, 9092)] if named else [])


@pytest.mark.rules("FT-13", "LE-2", "CLU-54")
def test_last_fetched_epoch(lab: Fetches) -> None:
    """The epoch's end below the fetch offset, or another epoch, is a divergence; an epoch to come is out of range."""
    log, partition = lab.log(), lab.topic.partitions[0]
    lab.produce(3)
    partition.leader_epoch = 2
    lab.produce(2)
    assert log.epochs.entries() == [(0, 0), (2, 3)]
    cases = {(3, 0): None, (3, 2): None, (4, 0): (0, 3), (4, 1): (0, 3), (5, 2): None, (2, -5): None}
    for (offset, last_epoch), diverging in cases.items():
        data = lab.fetch(At(offset=offset, last_epoch=last_epoch)).only()
        assert position(data) == (0, 5, 5, 0)
        assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (diverging or (-1, -1))
        assert bool(data.records) == (diverging is None and offset < 5)
    assert position(lab.fetch(At(last_epoch=3)).only()) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1, -1)


@pytest.mark.rules("FT-13", "FT-5")
def test_a_divergence_ends_the_wait(lab: Fetches) -> None:
    """Nothing new has to come before the client is told to truncate."""
    lab.produce(3)
    lab.topic.partitions[0].leader_epoch = 1
    assert lab.fetch(At(offset=3, last_epoch=0), wait=500).is_parked, "the epoch ends where the client is"
    lab.produce(1)
    diverging = lab.fetch(At(offset=4, last_epoch=0), wait=500)
    assert diverging.only().diverging_epoch.end_offset == 3


@pytest.mark.rules("FT-12")
def test_a_topic_made_again_has_another_id(lab: Fetches) -> None:
    """A session that goes by ids meets the new topic of the old name as 103; a full request as 100."""
    old_id = lab.cluster.topics.create("again", 1).id
    session = lab.fetch(At(topic="again"), version=13, epoch=0).response.session_id
    lab.cluster.topics.delete("again", lab.now)
    assert lab.fetch(version=13, session=session, epoch=1).only().error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    lab.cluster.topics.create("again", 1)
    assert lab.fetch(version=13, session=session, epoch=2).only().error_code == ErrorCode.INCONSISTENT_TOPIC_ID
    full = lab.fetch(At(topic="again"), version=13, ids={"again": old_id})
    assert full.only().error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.rules("CLU-58")
@pytest.mark.parametrize("version", [4, 12, 15, 18])
def test_somebody_who_says_it_is_a_broker(lab: Fetches, version: int) -> None:
    """The leader's own id and one that has no replica get 6; -2, the debugging consumer, is served."""
    lab.produce()
    codes = {replica: lab.fetch(At(), version=version, replica=replica).only().error_code for replica in (1, 5, -2)}
    assert codes == {1: ErrorCode.NOT_LEADER_OR_FOLLOWER, 5: ErrorCode.NOT_LEADER_OR_FOLLOWER, -2: 0}


@pytest.mark.rules("AV-10", "FT-14")
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_an_isolation_level_that_does_not_exist(lab: Fetches, version: int) -> None:
    """It fails the request if there is a partition to read: -1 at the top, and before v13 for every partition, too."""
    call = lab.fetch(version=version).call
    asked = FetchRequest(topics=[lab.entry(version, At())], isolation_level=7)
    with pytest.raises(KafkaError) as caught:
        fetch.handle(call, asked)
    assert caught.value.code == ErrorCode.UNKNOWN_SERVER_ERROR
    nothing_to_read = fetch.handle(call, FetchRequest(topics=[lab.entry(version, At(9))], isolation_level=7))
    assert nothing_to_read is not None
    assert nothing_to_read.error_code == 0
    answer = Pending(call, finished(fetch.error_response(asked, version, ErrorCode.UNKNOWN_SERVER_ERROR)))
    assert answer.response.error_code == (ErrorCode.UNKNOWN_SERVER_ERROR if version >= 7 else 0)
    assert [position(data) for _, data in answer.partitions()] == (
        [(ErrorCode.UNKNOWN_SERVER_ERROR, -1, -1, -1)] if version < 13 else []
    )


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.rules("FT-6", "FT-7")
@pytest.mark.parametrize(
    ("max_bytes", "partition_max_bytes", "expected"),
    [
        (MIB, MIB, {0: [0, 1, 2], 1: [0, 1], 2: []}),
        (0, MIB, {0: [0], 1: [], 2: []}),
        (MIB, 0, {0: [0], 1: [], 2: []}),
        (99, MIB, {0: [0], 1: [], 2: []}),
        (200, MIB, {0: [0, 1], 1: [], 2: []}),
        (299, MIB, {0: [0, 1], 1: [], 2: []}),
        (300, MIB, {0: [0, 1, 2], 1: [], 2: []}),
        (499, MIB, {0: [0, 1, 2], 1: [0], 2: []}),
        (500, MIB, {0: [0, 1, 2], 1: [0, 1], 2: []}),
        (MIB, 100, {0: [0], 1: [0], 2: []}),
        (MIB, 199, {0: [0], 1: [0], 2: []}),
        (150, 200, {0: [0], 1: [], 2: []}),
    ],
)
def test_limits(lab: Fetches, max_bytes: int, partition_max_bytes: int, expected: dict[int, list[int]]) -> None:
    """The first batch of the first partition with data always comes; everything else only if it fits both limits."""
    lab.produce(3)
    lab.produce(2, partition=1)
    asked = [At(partition, 0, partition_max_bytes) for partition in range(3)]
    assert lab.fetch(*asked, max_bytes=max_bytes).offsets() == expected


@pytest.mark.rules("FT-7")
def test_the_exception_is_for_the_first_partition_with_data(lab: Fetches) -> None:
    """Empty partitions before do not use it up, and a large first batch takes the room of the others."""
    lab.produce(1, partition=1, size=1000)
    lab.produce(1, partition=2)
    asked = [At(0, 0, 10), At(1, 0, 10), At(2, 0, 10)]
    assert lab.fetch(*asked).offsets() == {0: [], 1: [0], 2: []}
    assert lab.fetch(At(0), At(1), At(2), max_bytes=500).offsets() == {0: [], 1: [0], 2: []}


@pytest.mark.rules("FT-6")
def test_the_broker_caps_the_answer(make_call: MakeCall) -> None:
    """fetch.max.bytes holds whatever the client allows."""
    lab = Fetches(make_call, fetch_max_bytes=1024)
    lab.produce(20)
    assert len(lab.fetch(At(), max_bytes=MIB).offsets()[0]) == 10


def test_limits_below_zero(lab: Fetches) -> None:
    """Kafka answers -1 for the partition; nothing is read."""
    lab.produce()
    assert position(lab.fetch(At(max_bytes=-1)).only()) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1, -1, -1)
    assert position(lab.fetch(At(), max_bytes=-1).only()) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1, -1, -1)


@pytest.mark.rules("FT-16", "SE-2")
def test_an_answer_ends_with_the_segment(make_call: MakeCall) -> None:
    """One answer reads from one segment of a partition, though more could be read."""
    lab = Fetches(make_call)
    lab.cluster.topics.create("s", 1, 1, {"segment.ms": "1000"})
    for n in range(4):
        lab.produce(1, topic="s", timestamp_ms=T0 + n // 2 * 5000)
    assert lab.fetch(At(topic="s")).offsets() == {0: [0, 1]}
    assert lab.fetch(At(offset=2, topic="s")).offsets() == {0: [2, 3]}
    at_once = lab.fetch(At(topic="s"), wait=500, min_bytes=MIB)
    assert not at_once.is_parked, "the rest of an older segment does not wait for min_bytes"
    assert lab.fetch(At(offset=2, topic="s"), wait=500, min_bytes=MIB).is_parked


# -- waiting ---------------------------------------------------------------------------------------------------------


@pytest.mark.rules("FT-4")
def test_woken_by_the_append_that_is_enough(lab: Fetches) -> None:
    """The bytes of all partitions count together; the append that reaches min_bytes answers at once."""
    lab.produce(1)
    pending = lab.fetch(At(0), At(1), wait=500, min_bytes=300)
    assert pending.is_parked
    lab.produce(1, partition=1)
    lab.produce(1, partition=2)
    assert pending.is_parked
    lab.produce(1, partition=0)
    assert pending.offsets() == {0: [0, 1], 1: [0]}
    assert not lab.log(0).waiters
    assert not lab.log(1).waiters
    assert lab.cluster.timers.mono.next_due_ms() is None


@pytest.mark.rules("FT-5")
def test_answered_when_the_time_is_up(lab: Fetches) -> None:
    """At max_wait, not a millisecond before, whatever is there is answered."""
    lab.produce(1)
    pending = lab.fetch(At(), wait=500, min_bytes=1000)
    lab.produce(1)
    lab.wait(499)
    assert pending.is_parked
    lab.wait(1)
    assert pending.offsets() == {0: [0, 1]}
    assert not lab.log().waiters


def test_a_setting_bounds_the_wait(make_call: MakeCall) -> None:
    """`fakebroker.fetch.max.wait.ms`: a client that asks for more is answered then, one that asks for less is not."""
    lab = Fetches(make_call, fakebroker_fetch_max_wait_ms=50)
    longer, shorter = lab.fetch(At(), wait=500), lab.fetch(At(), wait=20)
    lab.wait(20)
    assert (shorter.is_parked, longer.is_parked) == (False, True)
    lab.wait(29)
    assert longer.is_parked
    lab.wait(1)
    assert longer.offsets() == {0: []}


@pytest.mark.rules("FT-5")
@pytest.mark.parametrize(("wait", "min_bytes"), [(0, MIB), (-1, MIB), (500, 0), (500, -5)])
def test_nothing_to_wait_for(lab: Fetches, wait: int, min_bytes: int) -> None:
    """No time or no bytes wanted: answered at once, empty."""
    assert lab.fetch(At(), wait=wait, min_bytes=min_bytes).offsets() == {0: []}


@pytest.mark.rules("FT-5")
def test_no_servable_partition(lab: Fetches) -> None:
    """An empty request, and one of unknown partitions only, do not wait."""
    assert lab.fetch(wait=500).response.responses == []
    assert not lab.fetch(At(9), At(topic="no"), wait=500).is_parked


@pytest.mark.rules("FT-5")
def test_errors_end_the_wait_but_unknown_partitions_do_not(lab: Fetches) -> None:
    """1, 74, 75 and 6 are found while reading and answered at once; 3 waits with the others."""
    assert lab.fetch(At(0), At(9), wait=500).is_parked
    assert not lab.fetch(At(0), At(1, offset=99), wait=500).is_parked
    assert not lab.fetch(At(0), At(1, epoch=7), wait=500).is_parked
    assert not lab.fetch(At(0), wait=500, replica=7).is_parked


@pytest.mark.rules("FT-4")
def test_caps_of_min_bytes(lab: Fetches) -> None:
    """min_bytes is at most max_bytes; a partition counts at most its own limit (as seen on 4.3.1)."""
    lab.produce(5)
    assert not lab.fetch(At(), wait=500, min_bytes=1000, max_bytes=300).is_parked
    pending = lab.fetch(At(max_bytes=300), wait=500, min_bytes=1000)
    assert pending.is_parked
    lab.produce(50)
    assert pending.is_parked
    lab.wait(500)
    assert pending.offsets() == {0: [0, 1, 2]}


@pytest.mark.rules("FT-4", "FT-14")
def test_only_readable_bytes_count(lab: Fetches) -> None:
    """Records above the high watermark do not wake; the watermark's move does."""
    lab.log().limit_high_watermark(0, lab.now)
    pending = lab.fetch(At(), wait=500)
    lab.produce()
    assert pending.is_parked
    lab.log().limit_high_watermark(None, lab.now)
    assert pending.offsets() == {0: [0]}


@pytest.mark.rules("FT-5", "XT-6")
@pytest.mark.parametrize("version", [12, 13])
def test_deletion_of_a_topic_ends_the_wait(lab: Fetches, version: int) -> None:
    """Its partition is answered 3, with ids too, and like an error of reading: null for the aborted transactions."""
    lab.cluster.topics.create("gone", 1)
    pending = lab.fetch(At(), At(topic="gone"), version=version, wait=500)
    assert pending.is_parked
    lab.cluster.topics.delete("gone", lab.now)
    data = pending.partitions()[1][1]
    assert position(data) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1)
    assert data.aborted_transactions is None


@pytest.mark.rules("FT-5")
def test_a_truncated_or_purged_log_ends_the_wait(lab: Fetches) -> None:
    """A position that is out of range by now is answered 1."""
    changes: list[Callable[[PartitionLog], None]] = [
        lambda log: log.truncate(1, lab.now),
        lambda log: log.advance_log_start(3, lab.now),
    ]
    for partition, change in enumerate(changes):
        lab.produce(3, partition)
        pending = lab.fetch(At(partition, offset=2), wait=500, min_bytes=1000)
        assert pending.is_parked
        change(lab.log(partition))
        assert pending.only().error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.rules("FT-5")
def test_forgotten_when_the_client_hangs_up(lab: Fetches) -> None:
    """Neither a log nor a timer keeps the fetch of a client that has gone."""
    pending = lab.fetch(At(0), At(1), wait=500)
    pending.hang_up()
    assert not lab.log(0).waiters
    assert not lab.log(1).waiters
    assert lab.cluster.timers.mono.next_due_ms() is None


@pytest.mark.rules("FT-4")
def test_one_append_wakes_everybody(lab: Fetches) -> None:
    """Fetches that wait for the same log are answered in the order in which they came."""
    pendings = [lab.fetch(At(), wait=500) for _ in range(3)]
    other = lab.fetch(At(1), wait=500)
    lab.produce()
    assert [pending.is_parked for pending in pendings] == [False, False, False]
    assert other.is_parked


# -- leaders and followers -------------------------------------------------------------------------------------------


def add_nodes(lab: Fetches, racks: dict[int, str], **settings: str) -> None:
    """Brokers with these ids, each in its rack."""
    for node_id, rack in racks.items():
        values = {"broker.rack": rack, **{name.replace("_", "."): value for name, value in settings.items()}}
        lab.cluster.nodes[node_id] = Node(lab.cluster, node_id, Settings(values, profile="kafka"))


@pytest.fixture
def pair(lab: Fetches) -> Fetches:
    """Partition 0 is led by node 1 and followed by node 2; node 3 has no replica."""
    add_nodes(lab, {2: "b", 3: "c"})
    partition = lab.topic.partitions[0]
    partition.replicas, partition.isr = [1, 2], [1, 2]
    lab.produce(3)
    return lab


@pytest.mark.rules("CLU-52", "CLU-53")
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_followers_serve_from_v11_on(pair: Fetches, version: int) -> None:
    """A follower answers up to the high watermark, in older versions 6; a node without replica is 6 always."""
    follower = pair.fetch(At(), version=version, node=2)
    assert follower.only().error_code == (0 if version >= 11 else ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert follower.offsets() == {0: [0, 1, 2] if version >= 11 else []}
    stranger = pair.fetch(At(epoch=5), version=version, node=3).only()
    assert position(stranger) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1, -1)
    hinted = (stranger.current_leader.leader_id, stranger.current_leader.leader_epoch)
    assert hinted == ((1, 0) if version >= 16 else (-1, -1))


@pytest.mark.rules("CLU-58")
def test_a_replica_reads_to_the_end(pair: Fetches) -> None:
    """A valid replica's id is served by the leader above the high watermark."""
    pair.log().limit_high_watermark(1, pair.now)
    assert pair.fetch(At()).offsets() == {0: [0]}
    assert pair.fetch(At(), replica=2).offsets() == {0: [0, 1, 2]}
    assert pair.fetch(At(), node=2, replica=1).only().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.rules("CLU-55")
@pytest.mark.parametrize(("version", "stays"), [(10, False), (11, True), (18, True)])
def test_a_parked_fetch_when_the_leader_moves(pair: Fetches, version: int, stays: bool) -> None:
    """v0-v10 are answered 6 at once, v11+ stay with the follower until there is data."""
    pending = pair.fetch(At(offset=3), version=version, wait=500)
    assert pending.is_parked
    pair.topic.partitions[0].lead(2, pair.now)
    assert pending.is_parked == stays
    pair.produce()
    assert pending.only().error_code == (0 if stays else ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert pending.offsets() == {0: [3] if stays else []}


@pytest.fixture
def racks(make_call: MakeCall) -> Fetches:
    """Partition 0 is led by node 1 in rack a and followed by node 2 in rack b; node 3 is in rack c, without replica."""
    lab = Fetches(make_call)
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    add_nodes(lab, {1: "a", 2: "b", 3: "c"}, replica_selector_class=selector)
    partition = lab.topic.partitions[0]
    partition.replicas, partition.isr = [1, 2], [1, 2]
    lab.produce(2)
    return lab


@pytest.mark.rules("FT-18", "CLU-56", "FS-5")
def test_a_replica_in_the_clients_rack(racks: Fetches) -> None:
    """The leader names it, without records and at once, also when nothing is new there."""
    for offset in (0, 2):
        data = racks.fetch(At(offset=offset), rack="b", wait=500).only()
        assert position(data) == (0, 2, 2, 0)
        assert (data.preferred_read_replica, data.records) == (2, b"")
    session = racks.fetch(At(offset=2), rack="b", epoch=0).response.session_id
    assert racks.fetch(rack="b", session=session, epoch=1).only().preferred_read_replica == 2


@pytest.mark.rules("FT-18", "CLU-56")
def test_no_better_replica(racks: Fetches) -> None:
    """Own rack, one without replica, none; an offset out of range; old versions; a follower; one that stopped."""
    for rack in ("a", "c", "none", ""):
        pending = racks.fetch(At(), rack=rack)
        assert pending.only().preferred_read_replica == -1
        assert pending.offsets() == {0: [0, 1]}
    assert position(racks.fetch(At(offset=9), rack="b").only()) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1, -1)
    assert racks.fetch(At(), version=10, rack="b").offsets() == {0: [0, 1]}
    assert racks.fetch(At(), node=2, rack="a").offsets() == {0: [0, 1]}
    racks.cluster.stop_node(2, Instant(0, 0))
    assert racks.fetch(At(), rack="b").offsets() == {0: [0, 1]}


@pytest.mark.rules("FT-18")
def test_without_a_selector_nobody_is_preferred(pair: Fetches) -> None:
    """The default names no replica whatever rack the client is in."""
    assert pair.fetch(At(), rack="b").only().preferred_read_replica == -1


# -- old versions ----------------------------------------------------------------------------------------------------


@pytest.fixture
def old(make_call: MakeCall) -> Fetches:
    """As 3.9.1: three records in a plain batch, two in one of gzip, one in a plain batch."""
    lab = Fetches(make_call, as_release="3.9")
    for count, codec in ((3, 0), (2, 1), (1, 0)):
        records = [Record(n, T0 + n, b"k%d" % n, b"v" * 30, [(b"h", b"1")]) for n in range(count)]
        lab.log().append(build_batch(records, codec=codec), lab.now)
    return lab


def messages(pending: Pending) -> list[tuple[int, int, int, list[int]]]:
    """(offset, format, codec, offsets inside) of every message answered."""
    sets = [list(read_message_set(data.records or b"")) for _, data in pending.partitions()]
    return [(m.offset, m.magic, m.codec, [i.offset for i in unwrap(m)]) for one in sets for m in one]


@pytest.mark.rules("MS-3", "MS-4", "MS-5", "MS-6")
@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_old_versions_get_message_sets(old: Fetches, version: int) -> None:
    """Format 0 in v0-v1, 1 in v2-v3: plain batches as messages from the offset on, compressed ones as one wrapper."""
    magic = version // 2
    everything = [(n, magic, 0, [n]) for n in range(3)] + [(4, magic, 1, [3, 4]), (5, magic, 0, [5])]
    for offset, skipped in ((0, 0), (1, 1), (3, 3), (4, 3), (5, 4)):
        pending = old.fetch(At(offset=offset), version=version)
        assert messages(pending) == everything[skipped:]
        data = pending.only().records or b""
        assert sum(len(one) for one in split_batches(data)) == len(data), "no padding"


@pytest.mark.rules("MS-5")
def test_messages_have_the_room_that_records_took(make_call: MakeCall) -> None:
    """Messages that are larger than the records are cut off where those ended, but for those of the first batch."""
    lab = Fetches(make_call, as_release="3.9")
    for count in (3, 7):
        records = [Record(n, T0 + n, b"k", b"v" * (n + 1)) for n in range(count)]
        lab.log().append(build_batch(records), lab.now)
    answered = lab.fetch(At(), version=2)
    assert [offset for offset, *_ in messages(answered)] == [0, 1, 2, 3, 4, 5]
    assert len(answered.only().records or b"") == lab.log().readable_bytes(0, 10)
    assert [offset for offset, *_ in messages(lab.fetch(At(offset=6), version=2))] == [6, 7, 8, 9]
    lab.log().append(build_batch([Record(n, T0 + n, b"k", b"v") for n in range(40)]), lab.now)
    assert [offset for offset, *_ in messages(lab.fetch(At(offset=10), version=2))] == list(range(10, 50))


@pytest.mark.rules("MS-5")
@pytest.mark.parametrize("version", [0, 2, 3])
def test_an_answer_converts_so_much(old: Fetches, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy waits for a client that may not read it. What has no room comes with the next Fetch."""
    monkeypatch.setattr(fetch_answer, "MAX_CONVERTED_BYTES", 1)
    old.log(1).append(build_batch([Record(0, T0, b"k", b"v")]), old.now)
    first, second = (data.records for _, data in old.fetch(At(), At(1), version=version).partitions())
    assert first
    assert not second
    seen: list[int] = []
    while found := messages(old.fetch(At(offset=len(seen)), version=version)):
        seen += [offset for *_, inside in found for offset in inside if offset >= len(seen)]
    assert seen == list(range(6))


@pytest.mark.rules("FT-30", "FT-6")
def test_hard_limits_of_old_versions(old: Fetches) -> None:
    """v0-v2 give nothing when the first batch does not fit; v3 gives it."""
    for version in range(3):
        assert messages(old.fetch(At(max_bytes=50), version=version)) == []
    assert len(messages(old.fetch(At(max_bytes=50), version=3))) == 3


@pytest.mark.rules("FT-17")
@pytest.mark.parametrize("version", [0, 2, 3, 4, 9, 10])
def test_zstd(old: Fetches, version: int) -> None:
    """What has to be converted is 76; v4-v9 deliver it unless the topic asks for zstd; v10 delivers it."""
    batch = build_batch([Record(0, T0, b"k", b"v" * 500)], codec=4)
    old.log(1).append(batch, old.now)
    data = old.fetch(At(1), version=version).only()
    assert data.error_code == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if version < 4 else 0)
    assert (data.records is None) == (version < 4)
    old.cluster.topics.create("z", 1, 1, {"compression.type": "zstd"})
    refused = old.fetch(At(topic="z"), version=version).only()
    assert refused.error_code == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if version < 10 else 0)
    if 4 <= version < 10:
        assert refused.aborted_transactions == []


@pytest.mark.rules("FT-17")
def test_zstd_on_4_x(lab: Fetches) -> None:
    """4.x delivers it in every version that it serves."""
    lab.cluster.topics.create("z", 1, 1, {"compression.type": "zstd"})
    lab.produce(topic="z")
    assert lab.fetch(At(topic="z"), version=4).only().error_code == 0


def test_a_corrupted_batch_in_an_old_version(old: Fetches) -> None:
    """What a test has broken cannot be converted: 2, as a checksum that is wrong; new versions deliver the bytes."""
    segment = old.log(2)
    segment.append(build_batch([Record(0, T0, b"k", b"v" * 20)]), old.now)
    batches = next(iter(segment.segments.values())).batches
    batches[0] = batches[0][:61] + b"\xff" * (len(batches[0]) - 61)
    assert old.fetch(At(2), version=2).only().error_code == ErrorCode.CORRUPT_MESSAGE
    assert old.fetch(At(2), version=4).only().records == batches[0]


def test_time_of_waiting_is_mono(lab: Fetches) -> None:
    """A jump of wall time does not end the wait."""
    pending = lab.fetch(At(), wait=500)
    lab.now = Instant(T0 + 10**9, lab.now.mono_ms)
    lab.wait(499)
    assert pending.is_parked


@pytest.mark.rules("FT-8", "FT-17")
@pytest.mark.parametrize(("release", "newest"), [("2.1", 10), ("2.0", 8)])
def test_an_unknown_partition_in_old_releases(make_call: MakeCall, release: str, newest: int) -> None:
    """2.1.1 takes it for one of zstd in versions that do not know that; the aborted transactions are null."""
    lab = Fetches(make_call, as_release=release)
    unknown, zstd = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE

    for version in range(newest + 1):
        data = lab.fetch(At(9), version=version).only()
        assert data.error_code == (zstd if release == "2.1" and version < 10 else unknown)
        assert version < 4 or data.aborted_transactions is None
