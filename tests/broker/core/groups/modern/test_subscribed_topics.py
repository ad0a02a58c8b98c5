"""Which topics a group reads follows from its records, and is put together only when somebody asks."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.consumer import group_step, subscriptions
from fakebroker.broker.core.groups.consumer import records as consumer_records
from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.consumer.leaving import remove_members
from fakebroker.broker.core.groups.consumer.member import MemberMetadata
from fakebroker.broker.core.groups.consumer.subscriptions import ResolvedPattern
from fakebroker.broker.core.groups.share import records as share_records
from fakebroker.broker.core.groups.share import share_group
from fakebroker.broker.core.groups.share.member import MemberMetadata as ShareMetadata
from fakebroker.broker.core.groups.streams import stored_group as streams_stored_group
from tests.support.consumer_groups import OneConsumerGroup
from tests.support.share_groups import OneShareGroup
from tests.support.streams_groups import OneStreamsGroup
from tests.support.work_counter import operations_of

Lab = OneConsumerGroup | OneShareGroup | OneStreamsGroup
NAMES = st.lists(st.sampled_from("tuvw"), unique=True).map(sorted)
MEMBERS = st.sampled_from(["m1", "m2", "m3"])
PATTERNS = ("a.*", "b.*")
PATTERN = st.sampled_from(["", *PATTERNS])


class CountedSet(frozenset[Any]):
    """Counts how many are made."""

    made = 0

    def __new__(cls, *entries: Any) -> "CountedSet":
        cls.made += 1
        return super().__new__(cls, *entries)


class CountedId(str):
    """A member id that counts how often one is compared with it."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedId.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def consumers(members: int) -> OneConsumerGroup:
    """Each member reads a topic of its own by name, and one by a pattern of its own."""
    lab = OneConsumerGroup()
    for number in range(members):
        lab.join(f"m{number}", [f"t{number}"], pattern=f"t{number}.*")
        resolved = ResolvedPattern((f"t{number}1",), 1, 0)
        lab.group.replay(consumer_records.pattern_record("g", f"t{number}.*", resolved), lab.now)
    return lab


def sharers(members: int) -> OneShareGroup:
    lab = OneShareGroup()
    for number in range(members):
        lab.join(f"m{number}", [f"t{number}"])
    return lab


def streams(members: int) -> OneStreamsGroup:
    lab = OneStreamsGroup()
    for number in range(members):
        lab.join(f"m{number}")
    return lab


@pytest.mark.parametrize("make", [consumers, sharers, streams])
def test_records_of_members_make_no_set_of_topics(monkeypatch: pytest.MonkeyPatch, make: Callable[[int], Lab]) -> None:
    """A load of more members makes no more sets: each would have the topics of all of them."""
    for module in (subscriptions, share_group, streams_stored_group):
        monkeypatch.setattr(module, "frozenset", CountedSet, raising=False)

    def made(members: int) -> int:
        lab = make(members)
        before = CountedSet.made
        lab.reload()
        return CountedSet.made - before

    assert made(20) <= made(10)


def test_patterns_that_match_less_make_no_set_of_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """All patterns of a group are stored together, and a deleted topic is in each of them."""
    monkeypatch.setattr(subscriptions, "frozenset", CountedSet, raising=False)
    lab = consumers(20)
    before = CountedSet.made
    for topics in (("t1", "t2"), ("t1",)):
        for number in range(20):
            record = consumer_records.pattern_record("g", f"t{number}.*", ResolvedPattern(topics, 1, 0))
            lab.group.replay(record, lab.now)

    assert CountedSet.made == before


def test_members_that_leave_together_are_looked_up_and_not_compared() -> None:
    """The default policy asks who remains: each member is compared a few times, and not with each that leaves."""
    lab = consumers(40)
    CountedId.compared = 0
    remove_members(lab.group, [CountedId(member_id) for member_id in lab.group.members], lab.now, "they left")
    assert CountedId.compared < 400


def operations_to_leave(members: int) -> int:
    lab = consumers(members)
    member_ids = list(lab.group.members)
    return operations_of(
        lambda: remove_members(lab.group, member_ids, lab.now, "they left"),
        lambda frame: frame.f_code.co_filename == group_step.__file__,
    )


def test_members_with_patterns_that_leave_together() -> None:
    """Four times as many, each with a pattern of its own, are about four times the work."""
    assert operations_to_leave(80) < 5 * operations_to_leave(20)


# -- what is put together --------------------------------------------------------------------------------------------

Asks = st.booleans()  # the group is asked after the record, and may remember


def read_by(group: ConsumerGroup) -> set[str]:
    """The topics that the members read, made anew from what each of them said."""
    named = {name for each in group.members.values() for name in each.metadata.topic_names}
    patterns = [group.patterns.get(each.metadata.pattern) for each in group.members.values()]
    return named.union(*(resolved.topics for resolved in patterns if resolved is not None))


@example([(True, "m1", ([], "a.*")), (True, "a.*", ["t", "u"]), (True, "a.*", ["u"]), (True, "a.*", None)])
@given(
    st.lists(
        st.tuples(Asks, MEMBERS, st.none() | st.tuples(NAMES, PATTERN))
        | st.tuples(Asks, st.sampled_from(PATTERNS), st.none() | NAMES)
    )
)
def test_a_consumer_group_reads_what_its_members_say(history: list[tuple[bool, str, Any]]) -> None:
    """Whichever records of members and patterns are replayed, and whenever the group was asked before."""
    lab = OneConsumerGroup()
    lab.join("m0", ["t"])
    group = lab.group
    for asks, key, value in history:
        if key in PATTERNS:
            resolved = None if value is None else ResolvedPattern(tuple(value), 1, 0)
            record = consumer_records.pattern_record("g", key, resolved)
        elif value is None:
            record = consumer_records.member_tombstones("g", key)[-1]
        else:
            metadata = MemberMetadata(topic_names=tuple(value[0]), pattern=value[1])
            record = consumer_records.member_record("g", key, metadata)
        group.replay(record, lab.now)
        assert not asks or group.subscribed_topics == read_by(group)
    assert group.subscribed_topics == read_by(group)


@given(st.lists(st.tuples(Asks, MEMBERS, st.none() | NAMES)))
def test_a_share_group_reads_what_its_members_say(history: list[tuple[bool, str, list[str] | None]]) -> None:
    """The same of share groups, whose members have no patterns."""
    lab = OneShareGroup()
    lab.join("m0", ["t"])
    group = lab.group
    for asks, member_id, names in history:
        if names is None:
            record = share_records.member_tombstones("g", member_id)[-1]
        else:
            record = share_records.member_record("g", member_id, ShareMetadata(topic_names=tuple(names)))
        group.replay(record, lab.now)
        read = {name for each in group.members.values() for name in each.metadata.topic_names}
        assert not asks or group.subscribed_topics == read
    assert group.subscribed_topics == {name for each in group.members.values() for name in each.metadata.topic_names}
