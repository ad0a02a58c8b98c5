"""Tasks: what streams groups assign. A task is a partition of a subtopology; a member has it in one of three roles.

Kafka: `TaskId`, `TasksTuple`.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Task(NamedTuple):
    """One task: it processes that partition of each topic that the subtopology reads."""

    subtopology_id: str
    partition: int


class Tasks(NamedTuple):
    """Tasks by role, each role in ascending order without duplicates.

    An `active` task processes records, a `standby` keeps a copy of its state, a `warmup` copies the state before the
    active task moves there (Kafka 4.3 assigns none, STA-6).
    """

    active: tuple[Task, ...] = ()
    standby: tuple[Task, ...] = ()
    warmup: tuple[Task, ...] = ()

    def __bool__(self) -> bool:
        return any(self)

    def have_any_of(self, others: "Tasks") -> bool:
        """Whether a task is in the same role in both."""
        return any(not frozenset(mine).isdisjoint(theirs) for mine, theirs in zip(self, others, strict=True))

    def are_within(self, others: "Tasks") -> bool:
        """Whether all tasks are in the same role in `others`."""
        return all(frozenset(mine) <= frozenset(theirs) for mine, theirs in zip(self, others, strict=True))


NO_TASKS = Tasks()


def tasks_of(active: Iterable[Task] = (), standby: Iterable[Task] = (), warmup: Iterable[Task] = ()) -> Tasks:
    """Tasks by role, each brought into order."""
    return Tasks(_in_order(active), _in_order(standby), _in_order(warmup))


def _in_order(tasks: Iterable[Task]) -> tuple[Task, ...]:
    return tuple(sorted(dict.fromkeys(tasks)))


def partitions_by_subtopology(tasks: Iterable[Task]) -> dict[str, list[int]]:
    """Tasks in ascending order as messages and records hold them: the partitions of each subtopology, ascending."""
    by_subtopology: dict[str, list[int]] = {}
    for subtopology_id, partition in tasks:
        by_subtopology.setdefault(subtopology_id, []).append(partition)
    return by_subtopology


def each_task(subtopology_id: str, partitions: Iterable[int]) -> Iterator[Task]:
    """The tasks of a subtopology with these partitions."""
    return (Task(subtopology_id, partition) for partition in partitions)
