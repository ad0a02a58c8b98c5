"""What happened inside the core, for the journal.

Core code appends events to `Cluster.outbox`; the engine takes them after each request and each timer and writes them
to the journal with a sequence number and both times. Core never calls the journal.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fakebroker.broker.core.offsets.expirations import OffsetExpired, OffsetsExpired
from fakebroker.protocol.records.offsets_topic import TopicPartition

__all__ = [
    "MOVED",
    "STORED",
    "AccessDenied",
    "AclChanged",
    "AssignmentComputed",
    "ClientLogin",
    "ClientThrottled",
    "ClockMoved",
    "CoordinatorMoved",
    "CoordinatorRecord",
    "CoordinatorRecords",
    "CoreEvent",
    "FaultHit",
    "GroupEpochBumped",
    "GroupStored",
    "GroupsLoaded",
    "MemberTransition",
    "MetricsPushed",
    "NodeChanged",
    "OffsetDeleted",
    "OffsetExpired",
    "OffsetsDeleted",
    "OffsetsExpired",
    "TransactionTransition",
    "Transition",
]


MOVED = "its coordinator moved away"
"""The reason of a group's last transition on a broker that coordinates it no more."""


class Transition(NamedTuple):
    """A state change of a group (ST): `reason` is one English clause, e.g. "member a left"."""

    group_id: str
    group_type: str
    before: str
    after: str
    generation: int
    reason: str


class GroupEpochBumped(NamedTuple):
    """A consumer, share or streams group needs a new assignment: its new group epoch, and the reason."""

    group_id: str
    epoch: int
    reason: str


class AssignmentComputed(NamedTuple):
    """A target assignment was computed for group epoch `epoch`, with its assignor and number of members."""

    group_id: str
    epoch: int
    assignor: str
    members: int


class MemberTransition(NamedTuple):
    """A change of a member's reconciliation state or epoch in a consumer or streams group, with its reason.

    States are spelled as Kafka's sources spell them, e.g. "UnrevokedPartitions"; `epoch` is the member epoch.
    """

    group_id: str
    member_id: str
    before: str
    after: str
    epoch: int
    reason: str


class GroupStored(NamedTuple):
    """A group was written to `__consumer_offsets`, or is what a load found there: a simple one, too, then with empty
    `protocol_type`.

    `how` is "written" or "loaded". `state_ms` is when it entered its state, as the record has it, -1 unknown.
    `subscribed_topics` are those that its members subscribe to; null if unknown.
    """

    group_id: str
    how: str
    generation: int
    protocol_type: str
    protocol: str | None
    leader: str | None
    members: int
    subscribed_topics: tuple[str, ...] | None
    state_ms: int


class GroupsLoaded(NamedTuple):
    """The groups that a load found."""

    groups: Sequence[GroupStored]

    @property
    def parts(self) -> int:
        """How many there are."""
        return len(self.groups)

    def each(self) -> Iterator[GroupStored]:
        """One by one."""
        return iter(self.groups)


class CoordinatorRecord(NamedTuple):
    """One record of a consumer, share or streams group, which was written to `__consumer_offsets`, or is what a load
    found there.

    `how` is "written" or "loaded", `record` the type by Kafka's name, e.g. "ConsumerGroupMemberMetadata". `key` and
    `value` have the fields by Kafka's names; a null value is a tombstone.
    """

    group_id: str
    how: str
    record: str
    key: dict[str, Any]
    value: dict[str, Any] | None


class CoordinatorRecords(NamedTuple):
    """The records of one step of a group, or all those of a group that a load found: each a GroupRecord."""

    how: str
    records: Sequence[Any]  # most brokers have no such groups, so the types of their records are not imported here

    @property
    def parts(self) -> int:
        """How many there are."""
        return len(self.records)

    def each(self) -> Iterator[CoordinatorRecord]:
        """One by one; they become data only now."""
        from fakebroker.protocol.records.record_types import RECORD_TYPES
        from fakebroker.protocol.schema.jsonable import to_json

        for record in self.records:
            value = None if record.value is None else to_json(record.value, 0)
            name = RECORD_TYPES[record.type].name
            yield CoordinatorRecord(record.group_id, self.how, name, to_json(record.key, 0), value)


class OffsetDeleted(NamedTuple):
    """One committed offset that was deleted before it expired; `reason` says with what."""

    group_id: str
    topic: str
    partition: int
    reason: str


class OffsetsDeleted(NamedTuple):
    """Committed offsets of one group were deleted."""

    group_id: str
    partitions: Sequence[TopicPartition]
    reason: str

    @property
    def parts(self) -> int:
        """How many there are."""
        return len(self.partitions)

    def each(self) -> Iterator[OffsetDeleted]:
        """One by one."""
        for topic, partition in self.partitions:
            yield OffsetDeleted(self.group_id, topic, partition, self.reason)


class CoordinatorMoved(NamedTuple):
    """A node and a partition of an internal topic, whose groups or transactions it coordinates (LD).

    `what` is "loading", "loaded", "unloaded" or "failed"; only the last has a `reason`. `topic` is
    "__consumer_offsets" or "__transaction_state".
    """

    partition: int
    node_id: int
    what: str
    reason: str = ""
    topic: str = "__consumer_offsets"


class TransactionTransition(NamedTuple):
    """A change of a transactional id's state or producer (TX): `reason` is one English clause.

    States are spelled as Kafka spells them, e.g. "PrepareCommit". `producer_id`, `producer_epoch` and the number of
    `partitions` are those after the change.
    """

    transactional_id: str
    before: str
    after: str
    producer_id: int
    producer_epoch: int
    partitions: int
    reason: str


class NodeChanged(NamedTuple):
    """A change of a broker's state.

    `what` is "stopped", "killed", "started", "frozen", "thawed", "cut off", "reached again", "lost a log directory",
    "fenced", "added" or "removed".
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


class ClientLogin(NamedTuple):
    """A client logged in by SASL, or was refused, or its session ended. No secret is here.

    `what` is "logged in", "logged in again", "refused" or "session expired". `principal` is who the client is or says
    it is ("User:alice"), "" if it has not said so. `mechanism` is "" before one was chosen. `reason` is for people, ""
    for a success.
    """

    node_id: int
    connection_id: int
    client_id: str | None
    mechanism: str
    principal: str
    what: str
    reason: str


class ClientThrottled(NamedTuple):
    """A client exceeded a quota (QU-7): its connection is not read for `throttle_ms`, and then closed if its address
    opens too many connections.

    `api`, `version` and `correlation_id` are those of the request, "" and -1 for a connection. `quota` is the key, e.g.
    "producer_byte_rate", and `entity` the entity of the quota. `limit` and `measured` are per second; for
    controller_mutation_rate, `measured` is the number of tokens left, negative when overdrawn.
    """

    node_id: int
    connection_id: int
    client_id: str | None
    principal: str
    api: str
    version: int
    correlation_id: int
    quota: str
    entity: str
    limit: float
    measured: float
    throttle_ms: int


class AccessDenied(NamedTuple):
    """An authorizer refused something that a request asked for (AU-2).

    `principal` ("User:bob") at `host` may not do `operation` ("READ") with the resource of type `resource_type`
    ("TOPIC") named `resource_name`. `reason` is the ACL that denies it, in words, or says that none allows it.
    """

    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    reason: str
    api: str
    node_id: int
    connection_id: int
    client_id: str | None


class AclChanged(NamedTuple):
    """An ACL was added or removed: `what` is "added" or "removed", `acl` the entry in words."""

    what: str
    acl: str


class MetricsPushed(NamedTuple):
    """A client pushed metrics (KIP-714): `size_bytes` without compression. `is_terminating`: it closes."""

    node_id: int
    connection_id: int
    client_id: str | None
    client_instance_id: str
    is_terminating: bool
    size_bytes: int


STORED = (CoordinatorRecords, GroupStored, GroupsLoaded, OffsetsDeleted)
"""Events of what was written to `__consumer_offsets`, deleted there or found."""

CoreEvent = (
    Transition
    | GroupEpochBumped
    | AssignmentComputed
    | MemberTransition
    | GroupStored
    | GroupsLoaded
    | CoordinatorRecords
    | OffsetsExpired
    | OffsetsDeleted
    | CoordinatorMoved
    | TransactionTransition
    | NodeChanged
    | ClockMoved
    | FaultHit
    | ClientThrottled
    | MetricsPushed
    | ClientLogin
    | AccessDenied
    | AclChanged
)
