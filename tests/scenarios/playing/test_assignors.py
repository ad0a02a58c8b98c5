"""Range and round robin: every partition has one owner who wants it, and shares are even."""

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.scenarios.playing.assignors import ASSIGNORS, by_range, by_turns

TOPICS = st.sampled_from(["orders", "bills", "mails"])


def test_the_first_get_more_of_a_range() -> None:
    """Runs of partitions, topic by topic."""
    members = {"m1": ["orders"], "m2": ["orders"]}

    assert by_range(members, {"orders": 3}) == {"m1": {"orders": [0, 1]}, "m2": {"orders": [2]}}
    assert by_turns(members, {"orders": 3}) == {"m1": {"orders": [0, 2]}, "m2": {"orders": [1]}}


@given(
    st.dictionaries(st.sampled_from("abcd"), st.lists(TOPICS, unique=True), min_size=1),
    st.dictionaries(TOPICS, st.integers(0, 7)),
    st.sampled_from(sorted(ASSIGNORS)),
)
def test_every_partition_has_one_owner(members: dict[str, list[str]], partitions: dict[str, int], name: str) -> None:
    """Each partition of a topic that somebody wants goes to one member that wants it."""
    assignment = ASSIGNORS[name](members, partitions)
    owned = [(topic, index) for topics in assignment.values() for topic, found in topics.items() for index in found]
    wanted = {topic for topics in members.values() for topic in topics}

    assert sorted(owned) == sorted((t, i) for t, count in partitions.items() if t in wanted for i in range(count))
    assert all(topic in members[member] for member, topics in assignment.items() for topic in topics)
    assert assignment.keys() == members.keys()
