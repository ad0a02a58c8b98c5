"""Reconciliation as a function of values: every state, and what a look comes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.consumer.member import CurrentAssignment, StampedPartitions
from fakebroker.broker.core.groups.consumer.reconciliation import Goal, reconcile
from fakebroker.broker.core.groups.consumer.states import MemberState

T, U = b"t" * 16, b"u" * 16
STABLE, UNREVOKED, UNRELEASED = MemberState
NOTHING: StampedPartitions = {}


def has(
    epoch: int, assigned: StampedPartitions, pending: StampedPartitions = NOTHING, state: MemberState = STABLE
) -> CurrentAssignment:
    return CurrentAssignment(epoch, epoch - 1, state, assigned, pending)


def goal(
    epoch: int,
    target: dict[bytes, tuple[int, ...]],
    owned: dict[bytes, tuple[int, ...]] | None = None,
    subscribed: tuple[bytes, ...] = (T, U),
    taken: tuple[tuple[bytes, int], ...] = (),
    changed: bool = False,
) -> Goal:
    return Goal(epoch, target, subscribed, lambda *partition: partition in taken, owned, changed)


@pytest.mark.rules("CGR-2")
def test_a_stable_member_stays_as_it_is() -> None:
    """Stable at the assignment epoch with the same subscription: not even another target matters."""
    current = has(3, {T: {0: 3}})

    assert reconcile(current, goal(3, {T: (1,)}, {})) is current


@pytest.mark.rules("CGR-3")
def test_what_the_target_lacks_has_to_be_given_up() -> None:
    """It may own the rest at the same epoch, until it tells."""
    current = has(2, {T: {0: 2, 1: 2, 2: 1}})

    after = reconcile(current, goal(3, {T: (0, 1)}))

    assert after == CurrentAssignment(2, 2, UNREVOKED, {T: {0: 2, 1: 2}}, {T: {2: 1}})


@pytest.mark.rules("CGR-4")
@pytest.mark.parametrize("owned", [None, {T: (0, 2)}])
def test_no_news_is_no_progress(owned: dict[bytes, tuple[int, ...]] | None) -> None:
    """As long as it may own a pending partition nothing changes."""
    current = has(2, {T: {0: 2}}, {T: {1: 2, 2: 2}}, UNREVOKED)

    assert reconcile(current, goal(3, {T: (0,)}, owned)) is current


@pytest.mark.rules("CGR-5")
def test_new_partitions_are_stamped_with_the_assignment_epoch() -> None:
    """Kept ones keep the epoch at which they were assigned."""
    current = has(2, {T: {0: 1}}, {T: {1: 2}}, UNREVOKED)

    after = reconcile(current, goal(4, {T: (0, 3), U: (1,)}, {T: (0,)}))

    assert after == CurrentAssignment(4, 2, STABLE, {T: {0: 1, 3: 4}, U: {1: 4}}, {})


@pytest.mark.rules("CGR-6")
def test_what_others_own_comes_one_by_one() -> None:
    """The new epoch comes at once, the partitions as they become free."""
    target: dict[bytes, tuple[int, ...]] = {T: (0, 1)}
    first = reconcile(CurrentAssignment(), goal(3, target, {}, taken=((T, 0), (T, 1))))
    second = reconcile(first, goal(3, target, taken=((T, 1),)))
    third = reconcile(second, goal(3, target))

    assert first == CurrentAssignment(3, 0, UNRELEASED, {}, {})
    assert second == CurrentAssignment(3, 3, UNRELEASED, {T: {0: 3}}, {})
    assert third == CurrentAssignment(3, 3, STABLE, {T: {0: 3, 1: 3}}, {})


@pytest.mark.rules("CGR-8")
def test_revoked_and_received_in_one_step() -> None:
    """A heartbeat that already reports the reduced list skips UnrevokedPartitions."""
    after = reconcile(has(2, {T: {0: 2, 1: 2}}), goal(3, {T: (0, 2)}, {T: (0,)}))

    assert after == CurrentAssignment(3, 2, STABLE, {T: {0: 2, 2: 3}}, {})


@pytest.mark.rules("CGR-3")
def test_its_own_pending_partitions_are_free_for_it() -> None:
    """A target that has them again gives them back in the look that finds them given up, with a new stamp."""
    current = has(2, {T: {0: 2}}, {T: {1: 2}}, UNREVOKED)

    after = reconcile(current, goal(4, {T: (0, 1)}, {T: (0,)}))

    assert after == CurrentAssignment(4, 2, STABLE, {T: {0: 2, 1: 4}}, {})


@pytest.mark.rules("CGR-3")
@pytest.mark.parametrize("state", [STABLE, UNRELEASED])
def test_targets_of_other_topics_do_not_count(state: MemberState) -> None:
    """Topics that it no longer subscribes to count as absent from an older target."""
    current = has(2, {T: {0: 2}, U: {0: 2}}, state=state)

    after = reconcile(current, goal(3, {T: (0,), U: (0,)}, subscribed=(T,), changed=True))

    assert after == CurrentAssignment(2, 2, UNREVOKED, {T: {0: 2}}, {U: {0: 2}})


@pytest.mark.rules("CGR-7")
@pytest.mark.parametrize(
    ("owned", "after"),
    [
        (None, CurrentAssignment(2, 2, UNREVOKED, {T: {0: 2}}, {U: {0: 2, 1: 2}})),
        ({T: (0,), U: (1,)}, CurrentAssignment(2, 2, UNREVOKED, {T: {0: 2}}, {U: {0: 2, 1: 2}})),
        ({T: (0,)}, CurrentAssignment(2, 2, STABLE, {T: {0: 2}}, {})),
    ],
)
def test_a_subscription_shrinks_before_the_target(
    owned: dict[bytes, tuple[int, ...]] | None, after: CurrentAssignment
) -> None:
    """What it no longer subscribes to is pending at once, at the same epoch; or gone if it says so."""
    current = has(2, {T: {0: 2}, U: {0: 2, 1: 2}})
    target: dict[bytes, tuple[int, ...]] = {T: (0,), U: (0, 1)}

    assert reconcile(current, goal(2, target, owned, subscribed=(T,), changed=True)) == after


@pytest.mark.rules("CGR-7")
def test_a_subscription_grows_before_the_target() -> None:
    """What an older target has of a topic that it subscribes to again does not come back before the next target."""
    current = has(2, {T: {0: 2}})

    after = reconcile(current, goal(2, {T: (0,), U: (0,)}, changed=True))

    assert after == current._replace(previous_epoch=2)


@pytest.mark.rules("CGR-7")
def test_a_subscription_shrinks_while_it_gives_up() -> None:
    """What it no longer subscribes to is added to what is pending, as long as that is not given up."""
    current = has(2, {T: {0: 2}}, {U: {0: 2}}, UNREVOKED)

    after = reconcile(current, goal(2, {T: (0,)}, subscribed=(), changed=True))

    assert after == CurrentAssignment(2, 2, UNREVOKED, {}, {U: {0: 2}, T: {0: 2}})


partitions = st.dictionaries(st.sampled_from([T, U]), st.frozensets(st.integers(0, 5), min_size=1))


@given(partitions, partitions, partitions, st.booleans())
def test_everything_comes_to_the_target(
    first: dict[bytes, frozenset[int]],
    taken: dict[bytes, frozenset[int]],
    target: dict[bytes, frozenset[int]],
    has_assignment: bool,
) -> None:
    """A member that reports what it may own has, look by look, never more than its target and nothing of others, and in
    the end all that is free; it keeps what it can without a break.
    """
    others = tuple(
        (topic_id, partition)
        for topic_id, indexes in taken.items()
        for partition in indexes
        if partition not in first.get(topic_id, ())
    )
    current = has(2, {topic_id: dict.fromkeys(indexes, 2) for topic_id, indexes in first.items()})
    wanted = {topic_id: tuple(sorted(indexes)) for topic_id, indexes in target.items()}
    free = {(t, p) for t, indexes in target.items() for p in indexes if (t, p) not in others}
    kept = {(t, p) for t, indexes in first.items() for p in indexes if p in target.get(t, ())}
    owned = None
    for _ in range(3):
        current = reconcile(current, goal(3, wanted, owned, taken=others))
        assigned = {(t, p) for t, indexes in current.assigned.items() for p in indexes}
        assert kept <= assigned <= free
        owned = {topic_id: tuple(indexes) for topic_id, indexes in current.assigned.items()} if has_assignment else {}

    assert (assigned, current.pending, current.epoch) == (free, {}, 3)
    assert current.state is (STABLE if len(free) == sum(map(len, target.values())) else UNRELEASED)
