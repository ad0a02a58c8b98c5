"""The records of streams groups: what is written is what is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.streams import records
from fakebroker.broker.core.groups.streams.member import CurrentAssignment, Endpoint, MemberMetadata
from fakebroker.broker.core.groups.streams.states import MemberState
from fakebroker.broker.core.groups.streams.tasks import Task, Tasks, tasks_of
from fakebroker.protocol.records.group_records import GroupRecord, read_group_record
from tests.support.streams_groups import READS_T, tasks

TASKS = st.lists(st.builds(Task, st.sampled_from("012"), st.integers(0, 9)), max_size=6)
BY_ROLE = st.builds(tasks_of, TASKS, TASKS, TASKS)
TEXTS = st.text(max_size=5)
EPOCHS = st.integers(0, 99)


def through_the_log(record: GroupRecord) -> GroupRecord:
    """The record as it is read again."""
    found = read_group_record(*record.encode())
    assert found is not None
    return found


@pytest.mark.rules("STB-3")
@given(BY_ROLE, BY_ROLE, EPOCHS, st.sampled_from(MemberState), st.data())
def test_what_a_member_has(
    assigned: Tasks, pending: Tasks, epoch: int, state: MemberState, data: st.DataObject
) -> None:
    """Epochs, state and tasks of all roles come back, and the epoch at which each active task was assigned."""
    stamps = {task: data.draw(EPOCHS) for task in (*assigned.active, *pending.active)}
    current = CurrentAssignment(epoch, epoch, state, assigned, pending, stamps)

    record = through_the_log(records.current_record("g", "m", current))

    if not frozenset(assigned.active) & frozenset(pending.active):  # a task is never in both
        assert records.current_of(record.value) == current


@given(
    st.builds(
        MemberMetadata,
        st.none(),
        st.none() | TEXTS,
        TEXTS,
        TEXTS,
        EPOCHS,
        EPOCHS,
        TEXTS,
        st.none() | st.builds(Endpoint, TEXTS, st.integers(0, 65_535)),
        st.lists(st.tuples(TEXTS, TEXTS), max_size=3).map(tuple),
    )
)
def test_what_a_member_reported(metadata: MemberMetadata) -> None:
    """All that a member reported of itself comes back."""
    record = through_the_log(records.member_record("g", "m", metadata))

    assert records.metadata_of(record.value) == metadata


@given(BY_ROLE)
def test_what_a_member_shall_have(target: Tasks) -> None:
    """A target assignment comes back with all roles."""
    assert records.target_of(through_the_log(records.target_record("g", "m", target)).value) == target


@pytest.mark.rules("STB-2", "STE-2")
def test_the_group() -> None:
    """Epoch, hash, validated topology epoch and the settings of the assignor come back."""
    record = through_the_log(records.metadata_record("g", 7, -5, 3, {"num.standby.replicas": "1"}))

    assert (record.value.epoch, record.value.metadata_hash, record.value.validated_topology_epoch) == (7, -5, 3)
    assert records.assignment_configs_of(record.value) == {"num.standby.replicas": "1"}
    assert records.assignment_configs_of(type(record.value)()) == {}


def test_the_topology() -> None:
    """The topology comes back as it was sent."""
    record = through_the_log(records.topology_record("g", READS_T))

    assert record.value == READS_T.value


def test_active_tasks_without_epochs_have_that_of_the_member() -> None:
    """A record of a release that wrote no assignment epochs is read as if all came with the member epoch."""
    record = records.current_record("g", "m", CurrentAssignment(5, 4, assigned=tasks(0), stamps={Task("0", 0): 3}))
    record.value.active_tasks[0].assignment_epochs = None

    assert records.current_of(record.value).stamps == {Task("0", 0): 5}
