"""The records of consumer groups: what they say, and that reading them gives back what was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.consumer import records
from fakebroker.broker.core.groups.consumer.member import ClassicMetadata, CurrentAssignment, MemberMetadata
from fakebroker.broker.core.groups.consumer.states import MemberState
from fakebroker.broker.core.groups.consumer.subscriptions import ResolvedPattern
from fakebroker.protocol.records.group_records import GroupRecord, read_group_record
from tests.support.consumer_groups import OneConsumerGroup

names = st.text(min_size=1, max_size=8)
optional_names = st.none() | names
ids = st.binary(min_size=16, max_size=16)
epochs = st.integers(-2, 2**31 - 1)
indexes = st.integers(0, 50)
stamped = st.dictionaries(ids, st.dictionaries(indexes, epochs, min_size=1), max_size=3)
metadatas = st.builds(
    MemberMetadata,
    instance_id=optional_names,
    rack_id=optional_names,
    client_id=names,
    client_host=names,
    topic_names=st.lists(names, unique=True).map(sorted).map(tuple),
    pattern=st.just("") | names,
    rebalance_timeout_ms=st.integers(-1, 2**31 - 1),
    assignor=optional_names,
    classic=st.none()
    | st.builds(ClassicMetadata, st.integers(1, 60_000), st.lists(st.tuples(names, st.binary())).map(tuple)),
)
currents = st.builds(CurrentAssignment, epochs, epochs, st.sampled_from(MemberState), stamped, stamped)


def reread(record: GroupRecord) -> GroupRecord:
    key, value = record.encode()
    found = read_group_record(key, value)
    assert found is not None
    assert found == record
    return found


@given(metadatas)
def test_what_a_member_reported_is_read_back(metadata: MemberMetadata) -> None:
    """Type 5 has all of it."""
    assert records.metadata_of(reread(records.member_record("g", "m", metadata)).value) == metadata


@given(currents)
def test_what_a_member_has_is_read_back(current: CurrentAssignment) -> None:
    """Type 8 has epochs, state and every stamp."""
    assert records.current_of(reread(records.current_record("g", "m", current)).value) == current


@given(st.dictionaries(ids, st.lists(indexes, unique=True).map(tuple)))
def test_a_target_is_read_back_in_its_order(target: dict[bytes, tuple[int, ...]]) -> None:
    """The order of topics and partitions is part of it: the next assignment goes on from there."""
    read = records.target_of(reread(records.target_record("g", "m", target)).value)

    assert list(read.items()) == list(target.items())


@given(st.lists(names, unique=True).map(tuple), st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_resolved_pattern_is_read_back(topics: tuple[str, ...], version: int, ms: int) -> None:
    """Type 16 has topics, version and time."""
    resolved = ResolvedPattern(topics, version, ms)

    assert records.resolved_of(reread(records.pattern_record("g", "t.*", resolved)).value) == resolved


@pytest.mark.rules("CGB-3")
def test_a_member_of_the_consumer_protocol_ends_in_null_classic_metadata() -> None:
    """One tagged field, which says null."""
    _, value = records.member_record("g", "m", MemberMetadata(client_id="c", client_host="/127.0.0.1")).encode()

    assert value is not None
    assert value.endswith(bytes.fromhex("01000100"))


def test_partitions_without_stamps_have_the_member_epoch() -> None:
    """Records of older releases have none."""
    record = records.current_record("g", "m", CurrentAssignment(7, 6, assigned={b"t" * 16: {0: 1, 2: 3}}))
    record.value.assigned_partitions[0].assignment_epochs = None

    assert records.current_of(record.value).assigned == {b"t" * 16: {0: 7, 2: 7}}


@pytest.mark.rules("CGB-5", "CGL-4")
def test_the_tombstones_of_a_group() -> None:
    """By kind of record, the group's own last; replaying them ends the group."""
    lab = OneConsumerGroup()
    lab.join("m1", pattern="u")
    lab.join("m2")
    lab.wait(0)
    lab.types()
    group = lab.group

    assert lab.shard.write_records("g", group.tombstones(), lab.now) == 0

    assert lab.types() == [
        ["-8 m2", "-8 m1", "-7 m2", "-7 m1", "-6", "-5 m2", "-5 m1", "-16 u", "-4", "-3"],
    ]
    assert (lab.shard.group("g"), group.is_dead) == (None, True)


@pytest.mark.rules("CGB-8")
def test_a_group_made_again_starts_anew() -> None:
    """Nothing remembers the epoch of the one before."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.send("m1", -1)
    assert lab.shard.delete_group("g", lab.now) == 0

    assert lab.join("m1").member_epoch == 2
