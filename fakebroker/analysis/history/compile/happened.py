"""What happened to one group, in the order of its log or journal: the facts that a scenario is made of."""

from typing import NamedTuple

from fakebroker.analysis.pipeline.contract import Row

Position = tuple[int, int]  # (log offset, 0), or (seq, part) of a journal
TopicPartition = tuple[str, int]  # topic and partition


class Member(NamedTuple):
    """A member in a generation. What nobody has recorded is None."""

    member_id: str
    instance_id: str | None
    client_id: str | None
    rebalance_timeout_ms: int | None
    session_timeout_ms: int | None
    topics: tuple[str, ...] | None
    assignment: dict[str, list[int]]
    pattern: str | None = None  # the expression that it subscribes with (KIP-848)

    @property
    def identity(self) -> str:
        """What stays the same when a static member is restarted: its instance id; else its member id."""
        return self.member_id if self.instance_id is None else f"instance {self.instance_id}"


class Settled(NamedTuple):
    """The group between two rebalances: Stable with members, Empty, or Dead.

    `since_ms` is when it became so, by its own account; the retention of an Empty group counts from it. `is_deletion`
    is true for a Dead group that somebody deleted, false for one that the cleanup removed, None if nobody knows.
    `expired` has the member ids of members whose session ended, rather than that they left, as far as that is known.
    """

    position: Position
    at_ms: int
    state: str
    generation: int | None
    since_ms: int
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: tuple[Member, ...] = ()
    causes: tuple[str, ...] = ()
    expired: frozenset[str] = frozenset()
    is_deletion: bool | None = None
    group_type: str = "classic"
    read_topics: frozenset[str] | None = None  # what the group's members subscribe to; None if unknown


class Commit(NamedTuple):
    """An offset that was committed. `expires_ms` is set for one with a retention of its own."""

    position: Position
    at_ms: int
    topic: str
    partition: int
    offset: int
    metadata: str
    expires_ms: int | None
    member_id: str | None

    @property
    def place(self) -> TopicPartition:
        """Its topic and partition."""
        return self.topic, self.partition


class Gone(NamedTuple):
    """An offset that is gone: `how` is "expired", "deleted", "topic deleted", or "" where nobody has recorded it."""

    position: Position
    at_ms: int
    topic: str
    partition: int
    how: str = ""

    @property
    def place(self) -> TopicPartition:
        """Its topic and partition."""
        return self.topic, self.partition


class Pending(NamedTuple):
    """An offset that was committed in a transaction, and waits for its end."""

    position: Position
    at_ms: int
    transactional_id: str
    commit: Commit


class Ended(NamedTuple):
    """The end of a transaction: `commits` take effect with it, none if it was aborted. `by` is None if unknown."""

    position: Position
    at_ms: int
    transactional_id: str
    is_commit: bool
    by: str | None
    commits: tuple[Commit, ...] = ()


Event = Settled | Commit | Gone | Pending | Ended


class Window(NamedTuple):
    """What a scenario has to tell: the group as it was at `start_ms`, and what happened until `end_ms`.

    `settled` is the group's state at the start, None for one without members ever; `commits` are its offsets then, in
    their order. `partitions` are the topics with as many partitions as are known. `retentions_ms` are those that the
    expiries show.
    """

    group_id: str
    source: str
    start_ms: int
    end_ms: int
    settled: Settled | None
    commits: list[Commit]
    events: list[Event]
    partitions: dict[str, int]
    retentions_ms: tuple[int, ...] = ()
    transactional: int = 0  # how many commits of transactions are among the events
    is_from_log: bool = False  # else it is from a journal

    @property
    def changes(self) -> "list[Settled | Commit | Gone]":
        """The events, and in the place of transactions what takes effect with them."""
        found: list[Settled | Commit | Gone] = []
        for event in self.events:
            if isinstance(event, Ended):
                found += event.commits
            elif not isinstance(event, Pending):
                found.append(event)
        return found

    @property
    def is_of_consumer_group(self) -> bool:
        """Whether the group is one of KIP-848, as long as it is there."""
        states = [each for each in (self.settled, *self.events) if isinstance(each, Settled) and each.state != "Dead"]
        return any(each.group_type == "consumer" for each in states)


def position_of(row: Row) -> Position:
    """Where a row stands in its log or journal."""
    return (row["log_offset"], 0) if row.get("log_offset") is not None else (row["seq"], row["part"])


def apply(event: Event, offsets: dict[TopicPartition, Commit]) -> None:
    """What an event makes of the committed offsets."""
    if isinstance(event, Commit):
        offsets[event.place] = event
    elif isinstance(event, Gone):
        offsets.pop(event.place, None)
    elif isinstance(event, Settled) and event.state == "Dead":
        offsets.clear()
