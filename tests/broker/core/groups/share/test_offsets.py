"""Start offsets of share groups: altered, deleted, described."""

from collections.abc import Mapping
from typing import Any

import pytest

from fakebroker.broker.core.groups.share.offsets import (
    alter_offsets,
    delete_all_states,
    delete_offsets,
    describe_states,
)
from fakebroker.broker.core.share_state.states import SharePartition, ShareState
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.share_groups import OneShareGroup

NONE = ErrorCode.NONE


class Lab(OneShareGroup):
    """Requests of an administrator."""

    def key(self, topic: str, partition: int) -> SharePartition:
        return SharePartition("g", self.topics[topic].id, partition)

    def alter(self, start_offsets: Mapping[tuple[str, int], int]) -> list[ErrorCode]:
        found: list[ErrorCode] = []
        keys = {self.key(*each): offset for each, offset in start_offsets.items()}
        alter_offsets(self.shard, "g", keys, lambda codes, _now: found.extend(codes.values()), self.now)
        return found

    def delete(self, *topics: str) -> dict[str, ErrorCode]:
        names = {topic.id: name for name, topic in self.topics.items()}
        found: dict[str, ErrorCode] = {}
        delete_offsets(
            self.shard,
            "g",
            [self.topics[name].id for name in topics],
            lambda codes, _now: found.update({names[topic_id]: code for topic_id, code in codes.items()}),
            self.now,
        )
        return found


@pytest.mark.rules("SGO-4", "SGH-4", "SGB-1")
def test_altering_makes_the_group() -> None:
    """It is Empty at epoch 1, without a record of its own; the first join has the partitions at once."""
    lab = Lab()

    assert lab.alter({("t", 0): 5, ("t", 1): 7}) == [NONE, NONE]
    assert (lab.group.state, lab.group.group_epoch, lab.group.assignment_epoch) == ("Empty", 1, 1)
    assert lab.types() == [["15"], ["15"]]
    assert lab.state_of("t", 1) == ShareState(1, 0, 7, 0, ())
    joined = lab.join("m1")
    assert (joined.member_epoch, lab.assigned(joined)) == (2, {"t": [0, 1]})


@pytest.mark.rules("SGO-4")
def test_nothing_to_alter() -> None:
    """Then no group is made."""
    lab = Lab()

    assert lab.alter({}) == []
    assert lab.shard.group("g") is None


@pytest.mark.rules("SGO-4", "SGO-5")
def test_members_are_in_the_way() -> None:
    """NON_EMPTY_GROUP for both; another kind of group is none."""
    lab = Lab()
    lab.join("m1")

    for call in (lambda: lab.alter({("t", 0): 5}), lambda: lab.delete("t")):
        with pytest.raises(KafkaError) as refused:
            call()
        assert refused.value.code == ErrorCode.NON_EMPTY_GROUP


@pytest.mark.rules("SGO-4", "SGO-5")
@pytest.mark.parametrize("is_classic", [True, False])
def test_groups_that_are_no_share_groups(is_classic: bool) -> None:
    """GROUP_ID_NOT_FOUND; altering makes one that is not there."""
    lab = Lab()
    if is_classic:
        lab.shard.create_group("g", lab.now)
        with pytest.raises(KafkaError) as refused:
            lab.alter({("t", 0): 5})
        assert refused.value.code == ErrorCode.GROUP_ID_NOT_FOUND

    with pytest.raises(KafkaError) as refused:
        lab.delete("t")
    assert refused.value.code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.rules("SGO-4")
def test_the_state_epoch_is_that_of_the_group() -> None:
    """A leader that still has the old state is fenced by its next write."""
    lab = Lab()
    lab.join("m1")
    lab.send("m1", 2)
    lab.send("m1", -1)

    lab.alter({("t", 0): 9})

    assert lab.state_of("t", 0) == ShareState(4, 0, 9, 0, ())
    assert lab.known() == ({}, {"t": [0, 1]}, [])


@pytest.mark.rules("SGO-5", "SGB-1")
def test_deleting() -> None:
    """Topics with a state are answered; others are not, and the group is written all the same."""
    lab = Lab()
    lab.alter({("t", 0): 5})
    lab.written()

    assert lab.delete("t", "u") == {"t": NONE}
    assert (lab.known(), lab.state_of("t", 0)) == (({}, {}, []), None)
    assert lab.types() == [["15"], ["15"]]
    assert lab.delete("t") == {}
    assert lab.types() == [["15"]]


@pytest.mark.rules("SGO-5")
def test_deleting_fails() -> None:
    """The topic was deleted meanwhile, unknown to the group: its error is reported, and the deletion stays noted."""
    lab = Lab()
    lab.alter({("t", 0): 5})
    topic_id = lab.topics["t"].id
    lab.group.host.topics._by_id.pop(topic_id)  # as if the group had not heard of it

    assert lab.delete("t") == {"t": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert lab.known() == ({}, {}, ["t"])


@pytest.mark.rules("SGL-3", "SGB-1")
def test_all_states_of_a_group() -> None:
    """They are noted as being deleted, then gone; a group that never had any writes nothing."""
    lab = Lab()
    lab.join("m1", ["t", "u"])
    lab.send("m1", -1)
    lab.written()
    codes: list[ErrorCode] = []

    delete_all_states(lab.shard, lab.group, lambda code, _now: codes.append(code), lab.now)

    assert codes == [NONE]
    assert lab.types() == [["15"]]
    assert lab.known() == ({}, {}, ["t", "u"])
    assert lab.state_of("u", 0) is None


@pytest.mark.rules("SGO-1")
def test_describing() -> None:
    """Each share partition with its code and its state, in the order asked for; nothing asked, nothing answered."""
    lab = Lab()
    lab.alter({("t", 1): 7})
    found: list[Any] = []
    keys = [lab.key("u", 0), lab.key("t", 1)]

    describe_states(lab.cluster.nodes[1], keys, lambda states, _now: found.append(states), lab.now)
    describe_states(lab.cluster.nodes[1], [], lambda states, _now: found.append(states), lab.now)

    assert found == [{keys[0]: (NONE, ShareState(0, 0, -1)), keys[1]: (NONE, ShareState(1, 0, 7, 0))}, {}]
