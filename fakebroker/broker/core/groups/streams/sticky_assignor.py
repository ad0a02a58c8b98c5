"""The assignor `sticky`: tasks stay where they are as far as loads allow, standbys go to other processes (STA).

Members share processes: a process has the tasks of its members, and its load is tasks per member. Members and processes
are walked in the order of Java's hash maps, processes and members with equal loads in that of its priority queue.
Kafka: `StickyTaskAssignor`, `ProcessState`.
"""

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Task, Tasks, each_task, tasks_of
from fakebroker.broker.core.java_hash_map import JavaHashMap
from fakebroker.broker.core.java_priority_queue import JavaPriorityQueue
from fakebroker.protocol.pace import in_parts, kept

if TYPE_CHECKING:
    from fakebroker.protocol.pace import Pace

_SUBTOPOLOGY: Final = itemgetter(0)  # of a task: sorts by one after the other take less time than one by both
_PARTITION: Final = itemgetter(1)
_LOAD: Final = attrgetter("load")

Steps = Generator[None, None, None]


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
    members: Mapping[str, AssignorMember],
    subtopologies: Sequence[AssignorSubtopology],
    num_standby_replicas: int,
    pace: "Pace",
) -> Generator[None, None, dict[str, Tasks]]:
    """Give every member its target, in steps.

    `members` are in the order of Java's hash map (CGA-10); each stateful task gets up to `num_standby_replicas`
    standbys, fewer if there are not enough processes. A unit of the pace is a task of a member, or one of the topology.
    """
    work = _Assignment(len(members), num_standby_replicas, pace)
    try:
        yield from work.prepare(members, subtopologies)
        yield from work.assign_active()
        if num_standby_replicas > 0:
            yield from work.assign_standby()
        return (yield from work.result())
    finally:
        work.let_go()


class _Member:
    """A member with what it has got so far."""

    def __init__(self, member_id: str, process: "_Process") -> None:
        self.member_id = member_id
        self.process = process
        self.active: list[Task] = []
        self.standby: list[Task] = []
        self.load = 0  # how many both are


class _Process:
    """A process with its members; `by_load` is made anew once a task was given to a member out of turn.

    `load` is how many tasks each member has on average.
    """

    def __init__(self) -> None:
        self.members: JavaHashMap[str, _Member] = JavaHashMap()
        self.tasks: dict[Task, None] = {}
        self.load = 0.0
        self.by_load: JavaPriorityQueue[_Member] | None = None


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

    def __init__(self, members: int, num_standby_replicas: int, pace: "Pace") -> None:
        self.pace = pace
        self.replicas = num_standby_replicas
        self.active: list[Task] = []  # both in ascending order
        self.stateful: list[Task] = []
        self.active_quota = self.total_quota = _Quota(0, members)
        self.members: dict[str, _Member] = {}
        self.processes: JavaHashMap[str, _Process] = JavaHashMap(expected=members)
        self.had_active: dict[Task, _Member] = {}
        self.had_standby: defaultdict[Task, list[_Member]] = defaultdict(list)

    def prepare(self, members: Mapping[str, AssignorMember], subtopologies: Sequence[AssignorSubtopology]) -> Steps:
        """Find the tasks that there are, and those that the members had."""
        for each in sorted(subtopologies, key=_SUBTOPOLOGY):
            for part in in_parts(range(each.tasks)):
                tasks = list(each_task(each.subtopology_id, part))
                self.active += tasks
                if each.is_stateful:
                    self.stateful += tasks
                if self.pace.is_over(len(part)):
                    yield
            if self.pace.is_over():
                yield
        self.active_quota = _Quota(len(self.active), len(members))
        self.total_quota = _Quota(len(self.active) + len(self.stateful) * self.replicas, len(members))
        for member_id, spec in members.items():
            yield from self._add(member_id, spec)

    def _add(self, member_id: str, spec: AssignorMember) -> Steps:
        if spec.process_id not in self.processes:
            self.processes[spec.process_id] = _Process()
        process = self.processes[spec.process_id]
        member = self.members[member_id] = process.members[member_id] = _Member(member_id, process)
        for part in in_parts(spec.previous.active):
            self.had_active.update(dict.fromkeys(part, member))
            if self.pace.is_over(len(part)):
                yield
        for part in in_parts(spec.previous.standby):
            for task in part:
                self.had_standby[task].append(member)
            if self.pace.is_over(len(part)):
                yield
        if self.pace.is_over():
            yield

    def result(self) -> Generator[None, None, dict[str, Tasks]]:
        """What each member got. Members and processes know each other until then, see `let_go`."""
        targets: dict[str, Tasks] = {}
        for member_id, member in self.members.items():
            member.active.sort(key=_SUBTOPOLOGY)  # tasks that stayed are in order of their partitions
            targets[member_id] = tasks_of(member.active, member.standby)
            member.process.by_load = None
            del member.process.members[member_id]
            if self.pace.is_over(1 + member.load):
                yield
        return targets

    def let_go(self) -> None:
        """If it was not finished: members and processes would keep all tasks until the collector comes by."""
        for process in self.processes.values():
            if process.members:
                process.members.clear()
                process.by_load = None

    # -- active tasks --------------------------------------------------------------------------------------------------

    def assign_active(self) -> Steps:
        """Back to those who had them, then to those who have their state, the rest by load (STA-2, STA-3)."""
        pace = self.pace
        in_order = sorted(self.active, key=_PARTITION)
        tasks = yield from kept(in_order, lambda task: not self._stays_active(task, self.had_active.get(task)), pace)
        if self.had_standby:
            tasks = yield from kept(tasks, lambda task: not self._returns_active(task), pace)
        by_load = yield from self._processes_by_load()
        for task in sorted(tasks, key=_SUBTOPOLOGY):
            process = by_load.poll()
            yield from self._give_to_least_loaded(process, task, is_active=True)
            by_load.add(process)
            if pace.is_over():
                yield

    def _returns_active(self, task: Task) -> bool:
        """Give an active task to a member that has its state, if one may have it."""
        return self._stays_active(task, self._least_loaded_standby(task))

    def _stays_active(self, task: Task, member: _Member | None) -> bool:
        """Give an active task to a member that had it, if that is under its quota."""
        if member is None or member.load >= self.active_quota.size:
            return False
        self._give(member, task, is_active=True)
        return True

    # -- standby tasks -------------------------------------------------------------------------------------------------

    def assign_standby(self) -> Steps:
        """On processes that have not the task: to those who have its state, the rest by load (STA-5)."""
        left: dict[Task, int] = {}
        in_order = sorted(self.stateful, key=_PARTITION)
        for task in reversed(in_order):
            missing = self._standbys_missing(task)
            if missing:
                left[task] = missing
            if self.pace.is_over():
                yield
        by_load = yield from self._processes_by_load()
        for task in reversed([each for each in self.stateful if each in left]):
            for _ in range(left[task]):
                if not (yield from self._give_standby_by_load(by_load, task)):
                    break
                if self.pace.is_over():
                    yield
            if self.pace.is_over():
                yield

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

    def _give_standby_by_load(self, by_load: JavaPriorityQueue[_Process], task: Task) -> Generator[None, None, bool]:
        """Give a standby to the least loaded process without the task. Returns False if there is none."""
        passed: list[_Process] = []
        found = False
        while len(by_load) and not found:
            process = by_load.poll()
            passed.append(process)
            if task not in process.tasks:
                yield from self._give_to_least_loaded(process, task, is_active=False)
                found = True
        for process in reversed(passed):
            by_load.add(process)
        return found

    # -- giving --------------------------------------------------------------------------------------------------------

    def _processes_by_load(self) -> Generator[None, None, JavaPriorityQueue[_Process]]:
        by_load: JavaPriorityQueue[_Process] = JavaPriorityQueue(_LOAD)
        for process_id in self.processes.keys_in_order():
            by_load.add(self.processes[process_id])
            if self.pace.is_over():
                yield
        return by_load

    def _members_by_load(self, process: _Process) -> Generator[None, None, JavaPriorityQueue[_Member]]:
        by_load: JavaPriorityQueue[_Member] = JavaPriorityQueue(_LOAD)
        for member_id in process.members.keys_in_order():
            by_load.add(process.members[member_id])
            if self.pace.is_over():
                yield
        return by_load

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

    def _give_to_least_loaded(self, process: _Process, task: Task, *, is_active: bool) -> Steps:
        """Give a task to the member of the process that has the fewest."""
        if process.by_load is None:
            process.by_load = yield from self._members_by_load(process)
        member = process.by_load.poll()
        self._put(member, task, is_active=is_active)
        process.by_load.add(member)

    def _put(self, member: _Member, task: Task, *, is_active: bool) -> None:
        (member.active if is_active else member.standby).append(task)
        member.load += 1
        process = member.process
        process.tasks[task] = None
        process.load = len(process.tasks) / len(process.members)
        if is_active:
            self.active_quota.count(member.load)
        self.total_quota.count(member.load)
