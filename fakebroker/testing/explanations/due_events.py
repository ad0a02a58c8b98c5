"""What falls due next in a broker, in words: by its clock (expiry, retention), or by timers that follow real time."""

from collections.abc import Iterator
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from fakebroker.broker.core.coordinator.cleanup import Cleanup
from fakebroker.broker.core.deadlines import Deadline, DeadlineQueue
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
from fakebroker.broker.core.logs.jobs import Job
from fakebroker.broker.core.node import Node
from fakebroker.broker.engine.printable import printable

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.protocol.instant import Instant

MAX_GROUPS: Final = 3  # whose offsets a cleanup may expire, by their names


class DueEvent(NamedTuple):
    """Something that happens at a time unless it is moved or called off before.

    `by` says which time: "clock" is the broker's time of day, which a test moves, "timers" is monotonic time, which
    goes on with the machine's. `due_ms` is when, as a time of day; `left_ms` how long that is from now, in the time
    that `by` names. `what` is a clause.
    """

    by: Literal["clock", "timers"]
    due_ms: int
    left_ms: int
    what: str


class ClockAndDue(NamedTuple):
    """Both readings of the clock, how it goes, and what falls due next.

    `now_ms` is the time of day, `mono_ms` monotonic time, which timers of clients follow.
    """

    now_ms: int
    mono_ms: int
    rate: float
    is_frozen: bool
    due: list[DueEvent]


def due_events(cluster: "Cluster", now: "Instant", limit: int) -> list[DueEvent]:
    """The next events of either time, at most `limit` of each, by `left_ms`.

    What only a waiting request waits for is left out. Call it on the thread that owns the engine.
    """
    found = [
        DueEvent("clock", due_ms, due_ms - now.wall_ms, what)
        for due_ms, what in _next_of(cluster.timers.wall, cluster, limit)
    ]
    found += [
        DueEvent("timers", now.wall_ms + due_ms - now.mono_ms, due_ms - now.mono_ms, what)
        for due_ms, what in _next_of(cluster.timers.mono, cluster, limit)
    ]
    return sorted(found, key=lambda event: event.left_ms)


def _next_of(queue: DeadlineQueue, cluster: "Cluster", limit: int) -> Iterator[tuple[int, str]]:
    """The first events of a queue. As many again as are wanted are looked at, because some have no words."""
    shown = 0
    for deadline in nsmallest(limit * 4, queue.armed(), key=lambda each: each.due_ms or 0):
        what = due_text(deadline, cluster)
        if what is not None and deadline.due_ms is not None:
            yield deadline.due_ms, what
            shown += 1
            if shown == limit:
                return


def due_text(deadline: Deadline, cluster: "Cluster") -> str | None:
    """What happens when a deadline is due; None for what concerns one request only."""
    owner, done_by = deadline.owner, _done_by(deadline.action)
    match owner:
        case Member():
            return f"the session of member {printable(owner.member_id)} of group {_group_id(done_by)} ends"
        case ClassicGroup():
            return _of_classic_group(deadline, owner)
        case ModernGroup():
            return _of_modern_group(deadline.due_ms, owner)
        case Job():
            return _of_job(owner, cluster)
        case Node():
            is_session = deadline is owner.session
            return f"node {owner.id} is fenced" if is_session else f"node {owner.id} learns the current leaders"
    if isinstance(done_by, Cleanup):
        return _of_cleanup(done_by, deadline.due_ms or 0)
    return _OF_OTHERS.get(type(done_by).__name__)


# Others are named after the class whose method they run.
_OF_OTHERS = {
    "Timeouts": "transactions past their timeout are aborted",
    "Expiry": "idle transactional ids expire",
    "AcquisitionLock": "record locks of a share group member time out",
}


def _done_by(action: Any) -> object:
    """The object whose method a deadline runs, perhaps with further arguments."""
    return getattr(getattr(action, "func", action), "__self__", None)


def _group_id(group: object) -> str:
    return printable(getattr(group, "group_id", "?"))


def _of_classic_group(deadline: Deadline, group: ClassicGroup) -> str:
    name = _group_id(group)
    if deadline is group.join_timer:
        what = "initial delay" if group.in_initial_delay else "time to rejoin"
        return f"the {what} of group {name} ends"
    if deadline is group.sync_timer:
        return f"group {name} stops waiting for SyncGroup"
    return f"a member id assigned by group {name} expires unused"


def _of_modern_group(due_ms: int | None, group: ModernGroup) -> str | None:
    name = _group_id(group)
    timers = getattr(group, "rebalance_timers", None)
    for member_id in group.members:
        if group.session_ends_ms(member_id) == due_ms:
            return f"the session of member {printable(member_id)} of group {name} ends"
        if timers is not None and timers.due_ms(member_id) == due_ms:
            return f"member {printable(member_id)} of group {name} is removed unless it gives up its revoked partitions"
    return f"group {name} computes its assignment"


def _of_job(job: Job, cluster: "Cluster") -> str:
    jobs = cluster.log_jobs
    if job is jobs.retention:
        return "retention checks for old segments"
    return "the log cleaner compacts" if job is jobs.cleaner else "idle producer ids expire"


def _of_cleanup(cleanup: Cleanup, pass_ms: int) -> str:
    names = [printable(group_id) for group_id in cleanup.due_groups(pass_ms)]
    more = f" and {len(names) - MAX_GROUPS} more" if len(names) > MAX_GROUPS else ""
    of = f" of {', '.join(names[:MAX_GROUPS])}{more}" if names else ""
    return f"expired offsets{of} are cleaned up"
