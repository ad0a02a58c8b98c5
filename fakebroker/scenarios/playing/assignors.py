"""How the leader of a group shares out partitions, for members that do it by themselves: range and round robin."""

from collections.abc import Callable, Mapping, Sequence

Assignment = dict[str, dict[str, list[int]]]  # member id -> topic -> partitions


def by_range(topics_of: Mapping[str, Sequence[str]], partitions: Mapping[str, int]) -> Assignment:
    """Of each topic a run of partitions for each member, in the order of the member ids; the first get one more."""
    assignment: Assignment = {member_id: {} for member_id in sorted(topics_of)}
    for topic, count in sorted(partitions.items()):
        members = [each for each in assignment if topic in topics_of[each]]
        first = 0
        for place, member_id in enumerate(members):
            share = count // len(members) + (place < count % len(members))
            if share:
                assignment[member_id][topic] = list(range(first, first + share))
            first += share
    return assignment


def by_turns(topics_of: Mapping[str, Sequence[str]], partitions: Mapping[str, int]) -> Assignment:
    """One partition after the other for the next member that wants its topic, in the order of the member ids."""
    members = sorted(topics_of)
    assignment: Assignment = {member_id: {} for member_id in members}
    turn = 0
    for topic, count in sorted(partitions.items()):
        if not any(topic in topics_of[each] for each in members):
            continue
        for index in range(count):
            while topic not in topics_of[members[turn % len(members)]]:
                turn += 1
            assignment[members[turn % len(members)]].setdefault(topic, []).append(index)
            turn += 1
    return assignment


ASSIGNORS: Mapping[str, Callable[[Mapping[str, Sequence[str]], Mapping[str, int]], Assignment]] = {
    "range": by_range,
    "roundrobin": by_turns,
}
