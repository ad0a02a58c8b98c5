"""Loading, moving and unloading: the log is the truth."""

from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core import broker_life
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.coordinator.loading import load_groups
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.events import CoordinatorMoved
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.batch import parse_header
from fakebroker.protocol.records.offsets_codec import (
    Format,
    group_key,
    group_value,
    offset_key,
    offset_value,
    read_entry,
)
from fakebroker.protocol.records.offsets_topic import GroupEntry, GroupValue, MemberValue, OffsetEntry, TopicPartition
from tests.broker.core.offsets.histories import take
from tests.support.chance import examples
from tests.support.logs import Pairs
from tests.support.offsets import NO_ID, PASS, WEEK, OffsetsCluster, Pair, PartitionKey, state_of
from tests.support.time import DAY, HOUR, MINUTE, START


def offset(value: int, partition: PartitionKey = ("t", 0), record_format: Format = Format()) -> Pair:
    row = (*partition, value, -1, "", START.wall_ms, -1, NO_ID)
    return offset_key("g", *partition), offset_value(row, record_format)


def group(generation: int = 1, *members: str, kind: str = "consumer", state_ms: int = START.wall_ms) -> Pair:
    stored = tuple(MemberValue(name, None, "c", "/127.0.0.1", 60_000, 10_000, b"", b"a") for name in members)
    value = GroupValue(kind, generation, "range" if members else None, next(iter(members), None), state_ms, stored)
    return group_key("g"), group_value(value, Format())


def loaded(*pairs: Pair, settings: dict[str, object] | None = None) -> OffsetsCluster:
    """A broker that finds these records in the log of group "g"."""
    lab = OffsetsCluster(settings=settings)
    lab.partition().log.append_records(Pairs(*pairs), lab.now)
    lab.coordinator.load(lab.partition().index, lab.now)
    return lab


def refusal(lab: OffsetsCluster, group_id: str = "g", node: int = 1) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        lab.cluster.nodes[node].coordinator.shard(group_id, lab.now)
    return refused.value.code


@pytest.mark.rules("LD-1", "LD-2", "LD-3", "CR-11")
def test_the_last_record_of_a_key_wins() -> None:
    """A load reads from the log's start; later records replace earlier ones, tombstones remove."""
    lab = loaded(offset(1), offset(2), offset(3, ("t", 1)), (offset_key("g", "t", 1), None), offset(4, ("u", 0)))

    assert lab.offsets() == {("t", 0): 2, ("u", 0): 4}


@pytest.mark.rules("LD-3")
def test_offsets_without_a_group_record() -> None:
    """They make a simple group, Empty since the load."""
    lab = loaded(offset(1))

    assert (lab.group().state, lab.group().protocol_type) == (State.EMPTY, None)
    assert lab.group().state_ms == START.wall_ms
    lab.wait(WEEK)
    assert not lab.exists()


@pytest.mark.rules("LD-3")
@pytest.mark.parametrize(("as_release", "is_loaded"), [("4.3", True), ("3.9", False)])
def test_offsets_that_were_deleted(as_release: str, is_loaded: bool) -> None:
    """They leave a simple group without offsets, up to 3.9 none."""
    lab = OffsetsCluster(as_release)
    lab.partition().log.append_records(Pairs(offset(1), (offset_key("g", "t", 0), None)), lab.now)
    lab.coordinator.load(lab.partition().index, lab.now)

    assert lab.exists() is is_loaded
    assert not is_loaded or lab.offsets() == {}


@pytest.mark.rules("LD-3", "LD-4", "CR-9")
def test_groups_with_and_without_members() -> None:
    """A record with members makes a Stable group with fresh sessions, one without an Empty group."""
    lab = loaded(group(7, "m", "n"))
    loaded_group = lab.group()
    assert (loaded_group.state, loaded_group.generation, loaded_group.leader) == (State.STABLE, 7, "m")
    assert [name for name, _ in loaded_group.members["m"].protocols] == ["range"]
    lab.wait(9_999)
    assert lab.group().state is State.STABLE
    lab.wait(1)
    assert lab.group().state is not State.STABLE

    lab = loaded(group(7, "m"), group(8))
    assert (lab.group().state, lab.group().generation, lab.group().protocol_type) == (State.EMPTY, 8, "consumer")


@pytest.mark.rules("LD-3", "EX-3", "CR-8")
@pytest.mark.parametrize(("state_ms", "gone_after"), [(START.wall_ms - DAY, WEEK - DAY), (-1, WEEK)])
def test_an_empty_group_goes_on_ageing(state_ms: int, gone_after: int) -> None:
    """It counts from the stored time; if that is unknown, from the commits."""
    lab = loaded(group(3, state_ms=state_ms), offset(1))
    lab.wait(gone_after - PASS)
    assert lab.exists()
    lab.wait(PASS)
    assert not lab.exists()


@pytest.mark.rules("LD-2", "LD-3", "CR-11")
def test_a_deleted_group() -> None:
    """A group's tombstone removes it; offsets that are still in the log make a simple group."""
    assert not loaded(group(3), (group_key("g"), None)).exists()
    assert loaded(group(3), offset(1), (group_key("g"), None)).group().protocol_type is None


@pytest.mark.rules("LD-4")
def test_a_group_above_its_size() -> None:
    """A loaded group with more members than group.max.size starts a rebalance."""
    assert loaded(group(3, "m", "n"), settings={"group.max.size": 1}).group().state is State.PREPARING


@pytest.mark.rules("LD-4", "CLU-35")
def test_a_rebalance_under_way_is_forgotten() -> None:
    """The last Stable generation is back, and requests that waited for the new one have to look elsewhere."""
    lab = OffsetsCluster()
    member = lab.stable()
    parked = lab.join()
    lab.coordinator.load(lab.partition().index, lab.now)
    assert (lab.group().state, list(lab.group().members)) == (State.STABLE, [member])
    assert parked.code is ErrorCode.NOT_COORDINATOR


@pytest.mark.rules("LD-2")
@pytest.mark.parametrize(("commits", "expected"), [(True, 50), (False, 5)])
def test_transactions(commits: bool, expected: int) -> None:
    """Offsets of a transaction wait for their marker in the log; open ones stay pending."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5})
    lab.pend({("t", 0): 50}, producer_id=7)
    lab.pend({("t", 0): 60}, producer_id=8)
    lab.partition().log.append_marker(7, 0, lab.now, commit=commits, coordinator_epoch=0)
    reread = lab.reread().group("g")

    assert reread is not None
    assert {stored[:2]: stored[2] for stored in reread.offsets} == {("t", 0): expected}
    assert reread.offsets.pending
    assert reread.offsets.pending.producer_ids() == [8]


@pytest.mark.rules("LD-5", "CR-2")
def test_records_of_another_kind_are_skipped() -> None:
    """An unknown key version is no obstacle."""
    assert loaded((pack(">h", 77) + b"?", b"?"), offset(1)).offsets() == {("t", 0): 1}


@pytest.mark.rules("LD-5")
@pytest.mark.parametrize(
    "bad", [(offset_key("g", "t", 0), pack(">h", 9) + bytes(30)), (group_key("g"), b"\0\3"), (b"\0", b""), (None, b"")]
)
def test_an_unreadable_record_fails_the_load(bad: Pair) -> None:
    """Then no group of the partition can be reached, until a load succeeds; others are not touched."""
    lab = loaded(offset(1), bad)
    (*_, last) = [event for event in lab.cluster.outbox if isinstance(event, CoordinatorMoved)]

    assert refusal(lab) is ErrorCode.NOT_COORDINATOR
    assert (last.what, last.reason[:27]) == ("failed", "__consumer_offsets-3: batch")
    assert lab.commit_codes(group_id="h") == [0]
    lab.partition().log.truncate(1, lab.now)
    lab.coordinator.load(lab.partition().index, lab.now)
    assert lab.offsets() == {("t", 0): 1}


@pytest.mark.rules("LD-1", "LD-6")
def test_a_slow_load() -> None:
    """For as long as it lasts requests get 14, by the clock of live clients; then the groups are there."""
    lab = OffsetsCluster()
    lab.commit()
    lab.load_slowly()
    lab.wait(MINUTE - 1)
    assert refusal(lab) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    lab.wait(1)
    assert lab.offsets() == {("t", 0): 5}


@pytest.mark.rules("LD-6")
def test_a_slow_load_is_cut_short() -> None:
    """Another load, or the loss of the partition, ends it."""
    lab = OffsetsCluster(nodes=(1, 2))
    lab.partition().lead(1, lab.now)
    lab.commit()
    lab.load_slowly()
    lab.coordinator.load(lab.partition().index, lab.now)
    assert lab.offsets() == {("t", 0): 5}

    lab.load_slowly()
    lab.partition().lead(2, lab.now)
    lab.wait(MINUTE)
    assert refusal(lab) is ErrorCode.NOT_COORDINATOR


@pytest.mark.rules("ST-14", "LD-1", "CLU-31", "CLU-34", "CLU-39")
def test_moving_to_another_broker_and_back() -> None:
    """The old broker answers what is parked with 16 and knows nothing; the new one reads the log, at once."""
    lab = OffsetsCluster(nodes=(1, 2))
    partition = lab.partition()
    partition.lead(1, lab.now)
    member = lab.stable(session_ms=10_000)
    lab.commit(member_id=member, generation_id_or_member_epoch=1)
    parked = lab.join()
    (newcomer,) = set(lab.group().members) - {member}
    lab.wait(8_000)

    partition.lead(2, lab.now)

    assert (parked.code, parked.member_id, parked.generation) == (ErrorCode.NOT_COORDINATOR, newcomer, -1)
    assert refusal(lab) is ErrorCode.NOT_COORDINATOR
    there = lab.cluster.nodes[2].coordinator.shard("g", lab.now)
    moved = there.group("g")
    assert isinstance(moved, ClassicGroup)
    assert (moved.state, list(moved.members)) == (State.STABLE, [member])
    assert {stored[:2]: stored[2] for stored in moved.offsets} == {("t", 0): 5}
    lab.wait(9_999)
    still = moved.state
    assert still is State.STABLE  # its session began anew with the load
    lab.wait(1)
    assert moved.state is State.EMPTY

    partition.lead(1, lab.now)
    assert lab.group().state is State.EMPTY
    assert refusal(lab, node=2) is ErrorCode.NOT_COORDINATOR


@pytest.mark.rules("LD-1", "LD-4", "CLU-31")
def test_a_new_leader_loads_before_anybody_asks() -> None:
    """Sessions begin anew at the move, so a member that is silent from then on is gone in time."""
    lab = OffsetsCluster(nodes=(1, 2))
    partition = lab.partition()
    partition.lead(1, lab.now)
    lab.stable(session_ms=10_000)
    lab.wait(8_000)
    partition.lead(2, lab.now)
    lab.wait(10_000)

    group = lab.cluster.nodes[2].coordinator.shard("g", lab.now).group("g")
    assert group is not None
    assert group.state is State.EMPTY


@pytest.mark.rules("CLU-3")
def test_only_the_groups_of_a_partition_move() -> None:
    """Groups of other partitions stay with the broker."""
    lab = OffsetsCluster(nodes=(1, 2))
    for group_id in ("g", "h"):
        lab.partition(group_id).lead(1, lab.now)
        lab.stable(group_id)
    lab.partition("g").lead(2, lab.now)

    assert refusal(lab) is ErrorCode.NOT_COORDINATOR
    assert lab.group("h").state is State.STABLE


@pytest.mark.rules("LD-1", "LD-4", "CLU-34")
def test_a_restart() -> None:
    """A broker that was stopped and started knows what its logs say; sessions begin anew."""
    lab = OffsetsCluster()
    member = lab.stable(session_ms=10_000)
    lab.commit(member_id=member, generation_id_or_member_epoch=1)
    lab.join(session_ms=10_000)
    lab.ms += MINUTE  # nothing runs while it is stopped
    broker_life.restart_all(lab.cluster, lab.now)

    assert (lab.group().state, list(lab.group().members)) == (State.STABLE, [member])
    assert lab.offsets() == {("t", 0): 5}
    lab.wait(9_999)
    assert lab.group().state is State.STABLE
    lab.wait(1)
    assert lab.group().state is State.EMPTY


@pytest.mark.rules("ST-14")
def test_timers_of_an_unloaded_shard_die() -> None:
    """Nothing of it is armed any more: no session, no cleanup."""
    lab = OffsetsCluster()
    lab.commit()
    lab.stable("h")
    armed = len(lab.cluster.timers.wall.armed()), len(lab.cluster.timers.mono.armed())
    assert armed == (2, 1)

    for group_id in ("g", "h"):
        lab.coordinator.unload(lab.partition(group_id).index, lab.now)

    assert not lab.cluster.timers.wall.armed()
    assert not lab.cluster.timers.mono.armed()


def test_deleting_the_offsets_topic() -> None:
    """With `__consumer_offsets` everything is gone; the next request makes it anew."""
    lab = OffsetsCluster()
    lab.commit()
    lab.cluster.topics.delete("__consumer_offsets", lab.now)

    assert not lab.exists()
    assert lab.commit_codes() == [0]


@pytest.mark.rules("CR-12", "CR-14", "CR-15")
def test_what_is_written() -> None:
    """One batch a request, stamped with the present time; a group's record tells when its join phase ended."""
    lab = OffsetsCluster()
    member = lab.join().member_id
    lab.wait(1000)
    lab.sync(member)
    lab.wait(1000)
    lab.commit([("t", 0, 5), ("u", 0, 6)], member_id=member, generation_id_or_member_epoch=1)
    lab.wait(1000)
    lab.leave(member)
    records = lab.records()

    assert [record.timestamp_ms - START.wall_ms for record in records] == [1000, 2000, 2000, 3000]
    assert len(lab.batches()) == 3
    entries = [read_entry(record.key, record.value) for record in records]
    groups = [entry.value for entry in entries if isinstance(entry, GroupEntry) and entry.value]
    assert [value.state_ms - START.wall_ms for value in groups] == [0, 3000]
    assert [len(value.members) for value in groups] == [1, 0]


@pytest.mark.rules("CR-1")
def test_the_topic_and_its_records() -> None:
    """The topic is compacted and keeps the compression of its writers; records have create times: the broker's."""
    lab = OffsetsCluster()
    lab.wait(1000)
    lab.commit()
    topic = lab.partition().topic

    assert topic.config.get_list("cleanup.policy") == ("compact",)
    assert topic.config.get_str("compression.type") == "producer"
    (header,) = map(parse_header, lab.batches())
    assert (header.is_log_append_time, header.max_timestamp_ms) == (False, START.wall_ms + 1000)
    assert [(record.key or b"")[:2] for record in lab.records()] == [b"\0\1"]


@pytest.mark.rules("CR-12")
def test_a_simple_group_writes_offsets_only() -> None:
    """No group record is written for it."""
    lab = OffsetsCluster()
    lab.commit()

    assert [type(read_entry(record.key, record.value)) for record in lab.records()] == [OffsetEntry]


@pytest.mark.rules("CR-5", "CR-8")
@pytest.mark.parametrize(
    ("as_release", "offset_version", "group_version"), [("4.3", 4, 3), ("3.9", 3, 3), ("2.1", 3, 2), ("2.0", 1, 1)]
)
def test_formats_of_releases(as_release: str, offset_version: int, group_version: int) -> None:
    """Each release writes the versions of its time."""
    lab = OffsetsCluster(as_release)
    lab.commit(version=2)
    lab.emptied()
    values = [record.value or b"" for record in lab.records()]

    assert values[0][:2] == pack(">h", offset_version)
    assert values[-1][:2] == pack(">h", group_version)


@pytest.mark.rules("CR-14")
@pytest.mark.parametrize(("as_release", "beside_groups"), [("4.3", 0), ("3.9", -1), ("2.0", -1)])
def test_base_sequences_of_releases(as_release: str, beside_groups: int) -> None:
    """There is no producer; the sequence is 0 all the same, but up to 3.9.1 not beside groups and tombstones."""
    lab = OffsetsCluster(as_release)
    lab.commit(version=2)
    lab.emptied()
    lab.shard().delete_group("g", lab.now)
    headers = [parse_header(batch) for batch in lab.batches()]

    assert {header.producer_id for header in headers} == {-1}
    assert [header.base_sequence for header in headers] == [0, *[beside_groups] * (len(headers) - 1)]


# -- state == state rebuilt from the log -------------------------------------------------------------------------------

_MORE_STEPS = st.one_of(
    st.tuples(
        st.just("commit"), st.sampled_from(["t", "u"]), st.integers(0, 2), st.sampled_from([-1, MINUTE, 9 * DAY])
    ),
    st.tuples(st.just("wait"), st.sampled_from([1, PASS, HOUR, 3 * DAY, WEEK])),
    st.tuples(st.just("join"), st.sampled_from([("t",), ("u",)])),
    st.tuples(st.just("leave")),
    st.tuples(st.just("forget"), st.sampled_from(["t", "u"]), st.integers(0, 2)),
    st.tuples(st.just("delete_group")),
    st.tuples(st.just("delete_topic"), st.sampled_from(["t", "u"])),
    st.tuples(st.just("move")),
)


def go_on(lab: OffsetsCluster, step: tuple[Any, ...]) -> None:
    kind, *args = step
    group = lab.shard().group("g")
    if kind == "forget" and group:
        lab.shard().delete_offsets(group, [TopicPartition(args[0], args[1])], lab.now)
    elif kind == "delete_group" and group and group.is_empty:
        lab.shard().delete_group(group.group_id, lab.now)
    elif kind == "delete_topic":
        lab.cluster.topics.delete(args[0], lab.now)
        lab.topics[args[0]] = lab.cluster.topics.create(args[0], 4, 1)
    elif kind == "move":
        lab.coordinator.load(lab.partition().index, lab.now)
    else:
        take(lab, step)


def compacted(pairs: list[Pair]) -> list[Pair]:
    """The last record of each key, where it was; tombstones are kept."""
    last = {key: n for n, (key, _) in enumerate(pairs)}
    return [pair for n, pair in enumerate(pairs) if last[pair[0]] == n]


@pytest.mark.rules("LD-2", "LD-3", "CR-9", "CR-14")
@examples(60)
@given(st.sampled_from(["4.3", "3.9", "2.1", "2.0"]), st.lists(_MORE_STEPS, max_size=15))
def test_state_is_what_the_log_says(as_release: str, history: list[tuple[Any, ...]]) -> None:
    """After any history the groups are those that a reader of the log finds, whether it was compacted or not."""
    lab = OffsetsCluster(as_release)
    for step in history:
        go_on(lab, step)
    expected = state_of(lab.shard())

    assert state_of(lab.reread()) == expected

    other = Cluster(Settings(), lab.cluster.release)
    partition = other.topics.internal("__consumer_offsets").partitions[0]
    pairs = compacted([(record.key, record.value) for record in lab.records()])
    if pairs:
        partition.log.append_records(Pairs(*pairs), lab.now)
    shard = Shard(other.nodes[1], partition, lab.now)
    shard.timers.passes.finish(load_groups(shard), lab.now)
    assert state_of(shard) == expected
