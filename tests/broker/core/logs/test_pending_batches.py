"""What coordinators wrote and nobody read: one bound on its memory for the whole broker, and nothing lost by it."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.logs.pending_batches import DeferredBatch
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.offsets_topic import TopicPartition
from tests.support.logs import NOW, LogsCluster, Pairs
from tests.support.offsets import NO_ID, PASS, WEEK, OffsetsCluster, state_of
from tests.support.time import DAY

BOUND = "fakebroker.unread.writes.max.bytes"
ENDLESS_BYTES = 1 << 40
GROUPS = ("g", "h", "i")
PLACES = st.sampled_from([("t", 0), ("t", 1), ("u", 0)])
STEPS = st.one_of(
    st.tuples(st.just("commit"), st.sampled_from(GROUPS), st.lists(PLACES, min_size=1, max_size=3, unique=True)),
    st.tuples(st.just("join"), st.sampled_from(GROUPS)),
    st.tuples(st.just("leave"), st.sampled_from(GROUPS)),
    st.tuples(st.just("delete group"), st.sampled_from(GROUPS)),
    st.tuples(st.just("delete offsets"), st.sampled_from(GROUPS), PLACES),
    st.tuples(st.just("delete topic")),
    st.tuples(st.just("pend"), st.sampled_from(GROUPS), PLACES),
    st.tuples(st.just("end"), st.booleans()),
    st.tuples(st.just("wait"), st.sampled_from([PASS, DAY, WEEK])),
)


def lab_of(max_bytes: int, as_release: str) -> OffsetsCluster:
    """All groups in one partition, and a bound."""
    return OffsetsCluster(as_release, settings={"offsets.topic.num.partitions": 1, BOUND: max_bytes})


def take(lab: OffsetsCluster, number: int, step: tuple[Any, ...]) -> None:
    """One step of a history, the `number`-th; what does not fit the state is left out."""
    kind, *args = step
    shard = lab.shard()
    group = lab.found(args[0]) if args and args[0] in GROUPS else None
    members = list(group.members) if group else []
    if kind == "commit":
        who: dict[str, Any] = {}
        if group and members:
            who = {"member_id": members[0], "generation_id_or_member_epoch": group.generation}
        lab.commit(dict.fromkeys(args[1], number), group_id=args[0], **who)
    elif kind == "join" and not members:
        lab.stable(args[0])
    elif kind == "leave" and members:
        lab.leave(members[0], args[0])
    elif kind == "delete group" and group is not None and group.state is State.EMPTY:
        shard.delete_group(group.group_id, lab.now)
    elif kind == "delete offsets" and group is not None:
        shard.delete_offsets(group, [args[1]], lab.now)
    elif kind == "delete topic":
        shard.delete_topic("u", lab.now)
    elif kind == "pend":
        lab.pend({args[1]: number}, args[0])
    elif kind == "end" and shard.open_transactions:
        shard.partition.log.append_marker(7, 0, lab.now, commit=args[0], coordinator_epoch=0)
        shard.replay_end_transaction_marker(7, args[0], lab.now)
    elif kind == "wait":
        lab.wait(args[0])


def unstable(shard: Any) -> set[tuple[str, str, int]]:
    """Partitions with an offset of an open transaction (OF-9)."""
    pending = {group.group_id: group.offsets.pending for group in shard}
    return {(name, *each) for name, offsets in pending.items() if offsets for each in offsets.partitions()}


@pytest.mark.rules("CO-1", "LD-1", "LD-2")
@given(st.lists(STEPS, max_size=40), st.sampled_from([0, 1000, 3000]), st.sampled_from(["4.3", "3.9", "2.1"]))
def test_a_load_gives_the_same_whatever_was_dropped(
    history: list[tuple[Any, ...]], max_bytes: int, as_release: str
) -> None:
    """However early writes are dropped or stored, the log read back is the live state."""
    bounded, endless = lab_of(max_bytes, as_release), lab_of(ENDLESS_BYTES, as_release)
    for number, step in enumerate(history):
        take(bounded, number, step)
        take(endless, number, step)
        assert bounded.cluster.pending_batch_memory.memory_bytes <= max_bytes

    live, read, reference = bounded.shard(), bounded.reread(), endless.reread()
    assert state_of(read) == state_of(live)
    assert state_of(read) == state_of(reference)
    assert unstable(read) == unstable(live)


def has_dropped(lab: OffsetsCluster) -> bool:
    """Whether something that was written is not in the log."""
    log: PartitionLog = lab.partition().log
    return len(lab.records()) < log.log_end_offset


@pytest.mark.rules("CO-1", "CR-14")
def test_group_records_count_as_replaced_by_the_next() -> None:
    """Of a group that joins and leaves the earlier records go; the last one stays."""
    lab = lab_of(3_000, "4.3")
    for _ in range(20):
        lab.emptied()

    assert has_dropped(lab)
    assert len(lab.records()) < 8
    assert state_of(lab.reread()) == state_of(lab.shard())


@pytest.mark.rules("CO-1", "CR-11")
def test_tombstones_count_as_replaced_once_all_is_there_again() -> None:
    """Offsets that are committed and deleted over and over leave a few records; a last tombstone stays."""
    lab = lab_of(3_000, "4.3")
    for number in range(40):
        lab.commit({("t", 0): number})
        lab.shard().delete_offsets(lab.group(), [TopicPartition("t", 0)], lab.now)
        for again in range(10):
            lab.commit({("t", 0): again})
    lab.shard().delete_offsets(lab.group(), [TopicPartition("t", 0)], lab.now)
    lab.commit({("t", 1): 1})

    assert sum(record.value is None for record in lab.records()) < 5
    assert lab.reread().groups["g"].offsets.get("t", 0) is None


@pytest.mark.rules("OF-9", "LD-2")
def test_a_tombstone_after_an_open_transaction_stays() -> None:
    """Without it a load would find the transaction's offset pending, where the live group has it deleted."""
    lab = lab_of(0, "4.3")
    lab.pend({("t", 0): 1})
    lab.shard().delete_offsets(lab.group(), [TopicPartition("t", 0)], lab.now)
    for number in range(3):
        lab.commit({("t", 0): number})

    assert unstable(lab.shard()) == unstable(lab.reread()) == set()


def test_the_oldest_is_stored_when_everything_is_alive() -> None:
    """Where nothing was overwritten the bound holds all the same; the newest stay values."""
    workshop = LogsCluster({BOUND: 100_000})
    log = workshop.topic(cleanup_policy="compact").partitions[0].log
    writes = [Pairs((b"k%d" % n, b"v")) for n in range(1_000)]
    for write in writes:
        log.append_records(write, NOW)
        assert workshop.cluster.pending_batch_memory.memory_bytes <= 100_000

    assert writes[0].asked == 1
    assert writes[-1].asked == 0


def test_one_bound_for_all_logs() -> None:
    """The largest log gives first; logs with little keep their writes as values."""
    workshop = LogsCluster({BOUND: 100_000})
    logs = [partition.log for partition in workshop.topic(partitions=3, cleanup_policy="compact").partitions]
    few = [Pairs((b"k", b"v")) for _ in range(3)]
    for log, write in zip(logs, few, strict=True):
        log.append_records(write, NOW)
    many = [Pairs((b"k%d" % n, b"v")) for n in range(1_000)]
    for write in many:
        write.superseded = True
        logs[0].append_records(write, NOW)
        assert workshop.cluster.pending_batch_memory.memory_bytes <= 100_000

    assert sum(write.asked for write in many) == 0
    assert [write.asked for write in few] == [0, 0, 0], "what is alive need not be stored when the rest can be dropped"


def test_reading_and_deleting_give_the_room_back() -> None:
    """Writes that became bytes, or whose topic is gone, do not count any more."""
    workshop = LogsCluster()
    read, deleted = workshop.log(name="read"), workshop.log(name="deleted")
    for log in (read, deleted):
        log.append_records(Pairs((b"k", b"v")), NOW)
    assert workshop.cluster.pending_batch_memory.memory_bytes == 2_000

    read.materialize_pending()
    assert workshop.cluster.pending_batch_memory.memory_bytes == 1_000
    workshop.cluster.topics.delete("deleted", NOW)
    assert workshop.cluster.pending_batch_memory.memory_bytes == 0


def commit_often(lab: OffsetsCluster, count: int) -> int:
    """So many commits to groups in all 50 partitions; returns the most that the broker counted."""
    shards = [(lab.shard(name), lab.shard(name).create_group(name, lab.now)) for name in map("g{}".format, range(200))]
    peak_bytes = 0
    for number in range(count):
        shard, group = shards[number % len(shards)]
        row = ("t", number % 4, number, -1, "", lab.now.wall_ms, -1, NO_ID)
        shard.commit(group, [row], lab.now)
        peak_bytes = max(peak_bytes, lab.cluster.pending_batch_memory.memory_bytes)
    return peak_bytes


def reread_all(lab: OffsetsCluster) -> list[tuple[Any, Any]]:
    """For each partition what is live and what its log says."""
    names = {shard.partition.index: next(iter(shard.groups)) for shard in lab.coordinator.all_shards(lab.now)}
    return [(state_of(lab.shard(name)), state_of(lab.reread(name))) for name in names.values()]


@pytest.mark.rules("CO-1", "LD-1")
def test_many_commits_over_all_partitions() -> None:
    """Memory stays below the bound, no log grows, and what is left is the live state."""
    lab = OffsetsCluster(settings={BOUND: 512 * 1024})
    assert 500 * 1024 < commit_often(lab, 30_000) <= 512 * 1024
    logs = [p.log for p in lab.cluster.topics.internal(CONSUMER_OFFSETS).partitions if p.has_log]
    assert len(logs) > 45
    assert sum(len(segment.batches) for log in logs for segment in log.segments.values()) < 200

    for live, read in reread_all(lab):
        assert read == live


RSS_OF_A_MILLION = """
import gc, os
from tests.broker.core.logs.test_pending_batches import OffsetsCluster, commit_often, reread_all
def rss_mb():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
lab = OffsetsCluster()
figures = [rss_mb()]
for _ in range(4):
    assert commit_often(lab, 250_000) <= 32 * 2**20
    figures.append(rss_mb())
assert all(live == read for live, read in reread_all(lab))
print(*figures)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_million_commits_and_the_memory_of_the_process() -> None:
    """The process grows until the bound is reached, by no more than the bound and some, and not after that."""
    ran = subprocess.run([sys.executable, "-c", RSS_OF_A_MILLION], capture_output=True, text=True, check=True)
    start, *after = map(int, ran.stdout.split())
    assert max(after) - start < 48
    assert after[-1] - after[0] < 6


def test_what_cannot_be_built_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker reports it; a gap in the offsets stays, and what others wrote behind it is in the log."""
    lab, errors, build = lab_of(ENDLESS_BYTES, "4.3"), list[Exception](), DeferredBatch.build

    def built(batch: DeferredBatch) -> bytes:
        if batch.base_offset == 1:
            raise WireError("no record can hold this")
        return build(batch)

    monkeypatch.setattr(DeferredBatch, "build", built)
    lab.cluster.timers.passes.on_error = errors.append
    for group_id in GROUPS:
        lab.commit({("t", 0): 5}, group_id=group_id)
    log = lab.shard().log
    assert isinstance(log, PartitionLog)
    assert [record.offset for record in log.records()] == [0, 2]
    assert log.log_end_offset == 3
    assert [str(each) for each in errors] == ["no record can hold this"]
