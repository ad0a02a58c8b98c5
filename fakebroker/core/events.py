"""What happened inside the core, for the journal.

Core code appends events to `Cluster.outbox`; the engine takes them after each request and each timer and writes them
to the journal with a sequence number and both times. Core never calls the journal.
"""

from typing import NamedTuple

from fakebroker.core.offsets.expirations import OffsetExpired, OffsetsExpired

__all__ = [
    "ClockMoved",
    "CoordinatorMoved",
    "CoreEvent",
    "FaultHit",
    "NodeChanged",
    "OffsetExpired",
    "OffsetsExpired",
    "Transition",
]


class Transition(NamedTuple):
    """A group changed state (ST), and why: `reason` is one English clause, e.g. "member a left"."""

    group_id: str
    before: str
    after: str
    generation: int
    reason: str


class CoordinatorMoved(NamedTuple):
    """A node and a partition of `__consumer_offsets` (LD).

    `what` is "loading", "loaded", "unloaded" or "failed"; only the last has a `reason`.
    """

    partition: int
    node_id: int
    what: str
    reason: str = ""


class NodeChanged(NamedTuple):
    """What became of one broker.

    `what` is "stopped", "killed", "started", "frozen", "thawed", "cut off", "reached again", "fenced", "added" or
    "removed".
    """

    node_id: int
    what: str


class ClockMoved(NamedTuple):
    """A test moved the time of day from `from_ms` to `to_ms` (milliseconds since the epoch).

    `how` is "advanced", "advanced with timers" (then monotonic time moved by as much) or "stepped back". In the journal
    it comes before what fell due by it.
    """

    from_ms: int
    to_ms: int
    how: str


class FaultHit(NamedTuple):
    """A fault hit a request. `description` is the fault as it was declared, on one line."""

    fault_id: int
    description: str
    node_id: int
    connection_id: int
    client_id: str | None
    api: str
    version: int
    correlation_id: int


CoreEvent = Transition | OffsetsExpired | CoordinatorMoved | NodeChanged | ClockMoved | FaultHit
