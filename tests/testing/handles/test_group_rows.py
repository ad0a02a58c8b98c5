"""A row for each group, and only those that changed for who has seen the others."""

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker import FakeBroker
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.handles import group_rows
from fakebroker.testing.handles.group_rows import GroupChanges, GroupRow
from fakebroker.testing.virtual_broker import VirtualBroker


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    """A broker with five groups."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        for number in range(5):
            broker.group(f"group-{number}").commit({("orders", 0): 1})
        yield broker


def groups(states: dict[str, str]) -> list[Any]:
    """Groups that are as the table says, in order of their ids."""
    return [
        SimpleNamespace(group_id=name, kind=GroupKind.CLASSIC, state=state, state_ms=0, epoch=0, members={})
        for name, state in sorted(states.items())
    ]


def ids(rows: list[GroupRow]) -> list[str]:
    return [row.group_id for row in rows]


def test_a_row_for_each_group(broker: VirtualBroker) -> None:
    """In order, with their kinds, states and members; counts and total are of all."""
    broker.client("a").join("group-1", ["orders"])
    broker.client("b").join_consumer_group("modern", ["orders"])
    found = broker.group_rows()

    assert ids(found.rows) == [*(f"group-{number}" for number in range(5)), "modern"]
    assert [row.members for row in found.rows] == [0, 1, 0, 0, 0, 1]
    assert (found.rows[1].state, found.rows[5].kind) == ("CompletingRebalance", "consumer")
    assert found.counts == {"CompletingRebalance": 1, "Empty": 4, "Stable": 1}
    assert (found.total, found.next, found.is_complete) == (6, None, True)


def test_pages(broker: VirtualBroker) -> None:
    """`next` goes on after a page, and is null after the last."""
    first = broker.group_rows(limit=2)
    second = broker.group_rows(limit=2, after=first.next or "")
    third = broker.group_rows(limit=2, after=second.next or "")

    assert [ids(each.rows) for each in (first, second, third)] == [
        ["group-0", "group-1"], ["group-2", "group-3"], ["group-4"]
    ]  # fmt: skip
    assert (second.next, third.next) == ("group-3", None)


def test_some_groups(broker: VirtualBroker) -> None:
    """By a part of the id, by state, by kind."""
    broker.client("b").join_consumer_group("modern", ["orders"])

    assert ids(broker.group_rows(search="p-3").rows) == ["group-3"]
    assert ids(broker.group_rows(state="Stable").rows) == ["modern"]
    assert ids(broker.group_rows(kind="consumer").rows) == ["modern"]
    assert broker.group_rows(search="none").total == 0


def test_only_what_changed(broker: VirtualBroker) -> None:
    """After a version: rows that are new or different, and ids that are gone; nothing when nothing happened."""
    before = broker.group_rows().version
    assert broker.group_rows(since=before)._replace(counts={}) == (before, False, [], [], {}, 0, None)

    broker.client("a").join("group-1", ["orders"])
    broker.group("group-2").delete()
    broker.group("new").commit({("orders", 0): 1})
    changed = broker.group_rows(since=before)

    assert (ids(changed.rows), changed.gone) == (["group-1", "new"], ["group-2"])
    assert broker.group_rows(since=changed.version).rows == []


def test_versions_go_on_over_a_reset() -> None:
    """Who has seen groups learns that all are gone."""
    with FakeBroker() as broker:
        broker.create_topic("orders")
        broker.group("billing").commit({("orders", 0): 1})
        before = broker.group_rows().version
        broker.reset()

        assert broker.group_rows(since=before).gone == ["billing"]


def test_a_version_that_is_not_known(broker: VirtualBroker) -> None:
    """One of the future, or of another broker: all there is, and it says so."""
    found = broker.group_rows(since=1000)

    assert (found.is_complete, len(found.rows)) == (True, 5)


@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["Empty", "Stable"])), max_size=12))
def test_a_reader_of_changes_knows_what_one_of_all_knows(history: list[dict[str, str]]) -> None:
    """Whatever happens, whoever applies the changes since any version has what is there."""
    changes = GroupChanges()
    known: dict[int, dict[str, str]] = {0: {}}
    for states in history:
        version = changes.look(groups(states))
        for since, old in known.items():
            is_complete, rows, gone = changes.since(since)
            mine = {} if is_complete else {name: state for name, state in old.items() if name not in gone}
            assert mine | {row.group_id: row.state for row in rows} == states
        known[version] = states


def test_of_groups_that_are_gone_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks with a version before those that were forgotten is given everything."""
    monkeypatch.setattr(group_rows, "MAX_GONE", 3)
    changes = GroupChanges()
    first = changes.look(groups(dict.fromkeys("abcdefgh", "Empty")))
    second = changes.look(groups(dict.fromkeys("efgh", "Empty")))
    changes.look(groups(dict.fromkeys("gh", "Empty")))

    assert changes.since(first)[0] is True
    assert changes.since(second) == (False, [], ["e", "f"])


def test_wrong_numbers(broker: VirtualBroker) -> None:
    """Each is named."""
    for wrong in ({"limit": 0}, {"limit": 1001}, {"since": -1}):
        with pytest.raises(InvalidArgument) as error:
            broker.group_rows(**wrong)  # type: ignore[arg-type]
        assert error.value.field in wrong


def test_a_broker_that_is_gone_leaves_nothing() -> None:
    """What was kept to tell changes goes with the broker."""
    gc.collect()
    before = len(group_rows._CHANGES)
    with VirtualBroker() as broker:
        broker.group_rows()
        assert len(group_rows._CHANGES) == before + 1
    del broker
    gc.collect()

    assert len(group_rows._CHANGES) == before
