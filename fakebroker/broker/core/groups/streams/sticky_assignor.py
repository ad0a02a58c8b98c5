"""The assignor `sticky`: tasks stay where they are as far as loads allow, standbys go to other processes (STA).

Members share processes: a process has the tasks of its members, and its load is tasks per member. Members and processes
are walked in the order of Java's hash maps, processes and members with equal loads in that of its priority queue.
Kafka: `StickyTaskAssignor`, `ProcessState`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Task, Tasks, each_task, tasks_of
from fakebroker.broker.core.java_hash_map import JavaHashMap
from fakebroker.broker.core.java_priority_queue import JavaPriorityQueue


class AssignorMember(NamedTuple):
    """One member for the assignor: its process, and its previous target, which it keeps as much as possible of."""

    process_id: str
    previous: Tasks = NO_TASKS


class AssignorSubtopology(NamedTuple):
    """One subtopology for the assignor: it has the tasks 0 to `tasks` - 1."""

    subtopology_id: str
    tasks: int
    is_stateful: bool


def assign(
    members: Mapping[str, AssignorMember], subtopologies: Sequence[AssignorSubtopology], num_standby_replicas: int
) -> dict[str, Tasks]:
    """Give every member its target.

    `members` are in the order of Java's hash map (CGA-10); each stateful task gets up to `num_standby_replicas`
    standbys, fewer if there are not enough processes.
    """
    return _Assignment(members, subtopologies, num_standby_replicas).result()


class _Member:
    """A member with what it has got so far."""

    def __init__(self, member_id: str, process: "_Process") -> None:
        self.member_id = member_id
        self.process = process
        self.active: list[Task] = []
        self.standby: list[Task] = []

    @property
    def load(self) -> int:
        return len(self.active) + len(self.standby)


class _Process:
    """A process with its members; `by_load` is made anew once a task was given to a member out of turn."""

    def __init__(self) -> None:
        self.members: JavaHashMap[str, _Member] = JavaHashMap()
        self.tasks: dict[Task, None] = {}
        self.by_load: JavaPriorityQueue[_Member] | None = None

    @property
    def load(self) -> float:
        return len(self.tasks) / len(self.members)

    def take_turn(self) -> _Member:
        """The member that is next: the one with the fewest tasks. It stays out of the queue until `end_turn`."""
        if self.by_load is None:
            in_order = (self.members[member_id] for member_id in self.members.keys_in_order())
            self.by_load = JavaPriorityQueue(lambda member: member.load, in_order)
        return self.by_load.poll()

    def end_turn(self, member: _Member) -> None:
        """The member has got its task."""
        assert self.by_load is not None
        self.by_load.add(member)


class _Quota:
    """How many tasks a member may have before others must get theirs: a fair share of what is left, rounded up.

    Each time a member reaches it, that member and its tasks no longer count.
    """

    def __init__(self, tasks: int, members: int) -> None:
        self.tasks = tasks
        self.members = members
        self.size = self._share()

    def _share(self) -> int:
        return -(-self.tasks // self.members) if self.members > 0 else 0

    def count(self, load: int) -> None:
        """A member has now so many tasks."""
        if load == self.size:
            self.members -= 1
            self.tasks -= load
            self.size = self._share()


class _Assignment:
    """One run of the assignor."""

    def __init__(
        self,
        members: Mapping[str, AssignorMember],
        subtopologies: Sequence[AssignorSubtopology],
        num_standby_replicas: int,
    ) -> None:
        self.replicas = num_standby_replicas
        self.active = [task for each in subtopologies for task in _tasks(each)]
        self.stateful = [task for each in subtopologies if each.is_stateful for task in _tasks(each)]
        total = len(self.active) + len(self.stateful) * num_standby_replicas
        self.active_quota = _Quota(len(self.active), len(members))
        self.total_quota = _Quota(total, len(members))
        self.members: dict[str, _Member] = {}
        self.processes: JavaHashMap[str, _Process] = JavaHashMap(expected=len(members))
        self.had_active: dict[Task, _Member] = {}
        self.had_standby: dict[Task, list[_Member]] = {}
        for member_id, member in members.items():
            self._add(member_id, member)

    def _add(self, member_id: str, spec: AssignorMember) -> None:
        if spec.process_id not in self.processes:
            self.processes[spec.process_id] = _Process()
        process = self.processes[spec.process_id]
        member = self.members[member_id] = process.members[member_id] = _Member(member_id, process)
        for task in spec.previous.active:
            self.had_active[task] = member
        for task in spec.previous.standby:
            self.had_standby.setdefault(task, []).append(member)

    def result(self) -> dict[str, Tasks]:
        """Assign, and collect what each member got."""
        self._assign_active()
        if self.replicas > 0:
            self._assign_standby()
        return {member_id: tasks_of(member.active, member.standby) for member_id, member in self.members.items()}

    # -- active tasks --------------------------------------------------------------------------------------------------

    def _assign_active(self) -> None:
        """Back to those who had them, then to those who have their state, the rest by load (STA-2, STA-3)."""
        tasks = sorted(self.active, key=lambda task: (task.partition, task.subtopology_id))
        tasks = [task for task in tasks if not self._stays_active(task, self.had_active.get(task))]
        tasks = [task for task in tasks if not self._stays_active(task, self._least_loaded_standby(task))]
        by_load = self._processes_by_load()
        for task in sorted(tasks):
            process = by_load.poll()
            self._give_to_least_loaded(process, task, is_active=True)
            by_load.add(process)

    def _stays_active(self, task: Task, member: _Member | None) -> bool:
        """Give an active task to a member that had it, if that is under its quota."""
        if member is None or member.load >= self.active_quota.size:
            return False
        self._give(member, task, is_active=True)
        return True

    # -- standby tasks -------------------------------------------------------------------------------------------------

    def _assign_standby(self) -> None:
        """On processes that have not the task: to those who have its state, the rest by load (STA-5)."""
        tasks = sorted(self.stateful, key=lambda task: (task.partition, task.subtopology_id), reverse=True)
        left = [(task, missing) for task in tasks if (missing := self._standbys_missing(task))]
        by_load = self._processes_by_load()
        for task, missing in sorted(left, reverse=True):
            for _ in range(missing):
                if not self._give_standby_by_load(by_load, task):
                    break

    def _standbys_missing(self, task: Task) -> int:
        """Give standbys of a task to members that had it; returns how many have found no such member."""
        for given in range(self.replicas):
            if not self._stays_standby(task):
                return self.replicas - given
        return 0

    def _stays_standby(self, task: Task) -> bool:
        """Give a standby to the member that was active, else to one that was standby, each if under its quota."""
        was_active = self.had_active.get(task)
        if was_active is not None and task not in was_active.process.tasks and self._is_under_total_quota(was_active):
            self._give(was_active, task, is_active=False)
            return True
        was_standby = self._least_loaded_standby(task, without_task=True)
        if was_standby is not None and self._is_under_total_quota(was_standby):
            self._give(was_standby, task, is_active=False)
            return True
        return False

    def _is_under_total_quota(self, member: _Member) -> bool:
        return member.load < self.total_quota.size

    def _give_standby_by_load(self, by_load: JavaPriorityQueue[_Process], task: Task) -> bool:
        """Give a standby to the least loaded process without the task. Returns False if there is none."""
        passed: list[_Process] = []
        found = False
        while len(by_load) and not found:
            process = by_load.poll()
            passed.append(process)
            if task not in process.tasks:
                self._give_to_least_loaded(process, task, is_active=False)
                found = True
        for process in reversed(passed):
            by_load.add(process)
        return found

    # -- giving --------------------------------------------------------------------------------------------------------

    def _processes_by_load(self) -> JavaPriorityQueue[_Process]:
        in_order = (self.processes[process_id] for process_id in self.processes.keys_in_order())
        return JavaPriorityQueue(lambda process: process.load, in_order)

    def _least_loaded_standby(self, task: Task, *, without_task: bool = False) -> _Member | None:
        """Of the members that had a standby of the task the least loaded: both its process and itself.

        With `without_task` processes that have the task do not count. As in Kafka the first of the members is where the
        search begins; if it is its process that has the task, nobody is found, however much less loaded others are.
        """
        members = self.had_standby.get(task)
        if not members:
            return None
        best = members[0]
        for member in members[1:]:
            if without_task and task in member.process.tasks:
                continue
            if member.process.load < best.process.load and member.load < best.load:
                best = member
        return None if without_task and task in members[0].process.tasks else best

    def _give(self, member: _Member, task: Task, *, is_active: bool) -> None:
        """Give a task to this very member."""
        self._put(member, task, is_active=is_active)
        member.process.by_load = None

    def _give_to_least_loaded(self, process: _Process, task: Task, *, is_active: bool) -> None:
        """Give a task to the member of the process that has the fewest."""
        member = process.take_turn()
        self._put(member, task, is_active=is_active)
        process.end_turn(member)

    def _put(self, member: _Member, task: Task, *, is_active: bool) -> None:
        (member.active if is_active else member.standby).append(task)
        member.process.tasks[task] = None
        if is_active:
            self.active_quota.count(member.load)
        self.total_quota.count(member.load)


def _tasks(subtopology: AssignorSubtopology) -> Iterable[Task]:
    return each_task(subtopology.subtopology_id, range(subtopology.tasks))
