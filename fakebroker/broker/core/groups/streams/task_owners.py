"""Which processes have a task, so that no task is active twice and no process has a task twice (STR-3).

A task counts as had from the moment it is assigned until the member has given it up. Kafka: `StreamsGroup`'s maps of
tasks to process ids.
"""

from fakebroker.broker.core.groups.streams.member import StreamsMember
from fakebroker.broker.core.groups.streams.tasks import Task, Tasks


class TaskOwners:
    """The process with each active task, and those with standbys and warm-ups; `replace` keeps it up to date."""

    def __init__(self) -> None:
        self._active: dict[Task, str] = {}
        self._copies: dict[Task, dict[str, None]] = {}  # standby and warm-up tasks alike -> process ids

    def replace(self, before: StreamsMember | None, after: StreamsMember | None) -> None:
        """A member is `after` instead of `before`; None: it is no member."""
        if before is not None:
            self._give_up(before.current.assigned, before.process_id)
            self._give_up(before.current.pending, before.process_id)
        if after is not None:
            self._take(after.current.assigned, after.process_id)
            self._take(after.current.pending, after.process_id)

    def is_active_taken(self, task: Task, process_id: str) -> bool:
        """Whether a member of that process has to wait before it may process the task."""
        return task in self._active or process_id in self._copies.get(task, ())

    def is_copy_taken(self, task: Task, process_id: str) -> bool:
        """Whether a member of that process has to wait before it may keep a copy of the task's state."""
        return self._active.get(task) == process_id or process_id in self._copies.get(task, ())

    def _take(self, tasks: Tasks, process_id: str) -> None:
        for task in tasks.active:
            self._active[task] = process_id
        for task in (*tasks.standby, *tasks.warmup):
            self._copies.setdefault(task, {})[process_id] = None

    def _give_up(self, tasks: Tasks, process_id: str) -> None:
        for task in tasks.active:
            if self._active.get(task) == process_id:
                del self._active[task]
        for task in (*tasks.standby, *tasks.warmup):
            processes = self._copies.get(task, {})
            processes.pop(process_id, None)
            if not processes:
                self._copies.pop(task, None)
        for each in (self._active, self._copies):
            if not each:
                each.clear()  # it would keep the room that it once needed as long as the group lives
