"""The assignors that run on the coordinator for consumer groups (CGA), and which of them a group uses."""

from collections.abc import Iterable, Sequence

from fakebroker.core.groups.consumer.assignors import range_assignor, uniform_assignor
from fakebroker.core.groups.modern.assignments import Assignor
from fakebroker.core.java_hash_map import JavaHashMap

ASSIGNORS: dict[str, Assignor] = {
    uniform_assignor.NAME: uniform_assignor.assign,
    range_assignor.NAME: range_assignor.assign,
}


def preferred_assignor(named: Iterable[str | None], configured: Sequence[str]) -> str:
    """The assignor named by most members, or the first configured one if nobody names one (CGA-1).

    `named` has one entry for each member, None for a member that names none. Among equals it is the one that comes
    first in Java's hash order, which among Kafka's own is "uniform".
    """
    counts: JavaHashMap[str, int] = JavaHashMap()
    for name in named:
        if name is not None:
            counts[name] = counts.get(name, 0) + 1
    return max(counts.keys_in_order(), key=counts.__getitem__, default=configured[0])
