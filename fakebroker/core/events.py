"""What happened inside the core, for the journal.

Core code appends events to `Cluster.outbox`; the engine takes them after each request and each timer and writes them
to the journal with a sequence number and both times. Core never calls the journal.
"""

from typing import NamedTuple


class Transition(NamedTuple):
    """A group changed state (ST), and why: `cause` is one English clause, e.g. "member a left"."""

    group_id: str
    before: str
    after: str
    generation: int
    cause: str


class OffsetExpired(NamedTuple):
    """A committed offset was dropped by the cleanup (EX-8). `rule` names the rule that decided."""

    group_id: str
    topic: str
    partition: int
    offset: int
    committed_ms: int
    due_ms: int
    rule: str


class CoordinatorMoved(NamedTuple):
    """A partition of `__consumer_offsets` was loaded or unloaded by a node (LD). `what`: "loading", "loaded", "unloaded", "failed"."""

    partition: int
    node_id: int
    what: str


Event = Transition | OffsetExpired | CoordinatorMoved
