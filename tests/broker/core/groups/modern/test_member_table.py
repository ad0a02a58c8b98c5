"""The members in the order of Kafka's coordinator (CGA-17); tests/clients/test_kafka_assignors.py asks Kafka itself."""

import pytest

from fakebroker.broker.core.groups.modern.member_table import MemberTable

# What Kafka 4.3.1 listed after each of these was added.
ADDED = ["ada", "bob", "cleo", "dan", "eve", "fay", "gus"]
LISTED = [
    ["ada"],
    ["bob", "ada"],
    ["ada", "cleo", "bob"],
    ["ada", "dan", "cleo", "bob"],
    ["eve", "ada", "dan", "cleo", "bob"],
    ["fay", "eve", "ada", "dan", "cleo", "bob"],
    ["fay", "eve", "ada", "dan", "cleo", "bob", "gus"],
]


@pytest.mark.rules("CGA-17")
def test_members_stand_in_slots() -> None:
    """The upper bits of the spread hash choose the slot, and there are more slots with more members."""
    table: MemberTable[int] = MemberTable()
    listed = []
    for number, member_id in enumerate(ADDED):
        table[member_id] = number
        listed.append(list(table.in_order()))

    assert listed == LISTED
    assert list(table) == ADDED


@pytest.mark.rules("CGA-17")
def test_writing_a_member_again_may_add_slots() -> None:
    """Kafka looks at the size before it looks whether the member is there; nothing else moves."""
    table: MemberTable[int] = MemberTable()
    for member_id in ["ada", "bob"]:
        table[member_id] = 1
    before = list(table.in_order())
    table["ada"] = 2

    assert (before, table.in_order()) == (["bob", "ada"], ["ada", "bob"])
    assert table == {"ada": 2, "bob": 1}


def test_who_leaves_is_not_listed() -> None:
    """Slots stay as many as they are."""
    table: MemberTable[int] = MemberTable()
    for member_id in ADDED:
        table[member_id] = 1
    del table["dan"]

    assert table.in_order() == [member_id for member_id in LISTED[-1] if member_id != "dan"]


@pytest.mark.rules("CGA-17", "SGA-3")
def test_the_order_with_somebody_more() -> None:
    """It is what comes out when that member is added, and adds nobody; who is there already changes nothing."""
    table: MemberTable[int] = MemberTable()
    for member_id, listed in zip(ADDED, LISTED, strict=True):
        assert table.in_order_with(member_id) == listed
        assert member_id not in table
        table[member_id] = 1
        assert table.in_order_with(member_id) == table.in_order() == listed
