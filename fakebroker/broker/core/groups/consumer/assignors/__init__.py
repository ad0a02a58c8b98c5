"""The assignors that run on the coordinator for consumer groups (CGA), and which of them a group uses."""

from collections.abc import Sequence

from fakebroker.broker.core.groups.consumer.assignors import range_assignor, uniform_assignor
from fakebroker.broker.core.groups.modern.assignments import Assignor
from fakebroker.broker.core.groups.modern.member_table import MemberTable
from fakebroker.broker.core.java_hash_map import JavaHashMap, capacity_for

ASSIGNORS: dict[str, Assignor] = {
    uniform_assignor.NAME: uniform_assignor.assign,
    range_assignor.NAME: range_assignor.assign,
}


def preferred_assignor(counts: MemberTable[int], configured: Sequence[str]) -> str:
    """The assignor named by most members, or the first configured one if nobody names one (CGA-1, CGD-6).

    `counts` is how many members name each. Among equals it is the one that comes first in Kafka's table.
    """
    return max(counts.in_order(), key=counts.__getitem__, default=configured[0])


def assignor_after(counts: MemberTable[int], before: str | None, after: str | None, configured: Sequence[str]) -> str:
    """The same for a group one of whose members will name `after` instead of `before`.

    Kafka counts on a Java HashMap that was made with the size of `counts`. There a name that is new comes in front of
    those in its bucket, so among equals it mostly wins.
    """
    table: JavaHashMap[str, int] = JavaHashMap(expected=capacity_for(len(counts)) if counts else None)
    for name in counts.in_order():
        table[name] = counts[name]
    if before is not None and before in table:
        _count(table, before, -1)
    if after is not None:
        _count(table, after, 1)
    return max(table.keys_in_order(), key=table.__getitem__, default=configured[0])


def _count(table: JavaHashMap[str, int], name: str, by: int) -> None:
    count = table.compute_if_absent(name, int) + by
    if count:
        table[name] = count
    else:
        del table[name]
