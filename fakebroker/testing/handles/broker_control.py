"""What a test can do to a broker, by name: the root of the object model for Python, HTTP, the shell and pytest.

`FakeBroker`, `AsyncFakeBroker` and `VirtualBroker` inherit it; they add how a broker is started, stopped and reached.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Unpack

from fakebroker.broker.engine.faults.fields import FaultFields
from fakebroker.protocol.arguments.kinds import Whole
from fakebroker.protocol.arguments.types import Count, Name, TimeoutS
from fakebroker.protocol.short_errors import ShortErrors
from fakebroker.testing.literals import GroupKind, GroupState

if TYPE_CHECKING:
    from fakebroker.broker.engine.clock import BrokerClock
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.broker.engine.server import EngineServer
    from fakebroker.testing.handles.acls import AclsHandle
    from fakebroker.testing.handles.clock import ClockHandle
    from fakebroker.testing.handles.coordinator import CoordinatorHandle, TransactionCoordinatorHandle
    from fakebroker.testing.handles.fault import FaultHandle
    from fakebroker.testing.handles.group import GroupHandle
    from fakebroker.testing.handles.group_rows import GroupRows
    from fakebroker.testing.handles.journal import JournalHandle
    from fakebroker.testing.handles.node import NodeHandle
    from fakebroker.testing.handles.quotas import QuotasHandle
    from fakebroker.testing.handles.telemetry import TelemetryHandle
    from fakebroker.testing.handles.topic import TopicHandle
    from fakebroker.testing.handles.topic_view import TopicRow
    from fakebroker.testing.handles.transaction import TransactionHandle
    from fakebroker.testing.handles.users import UsersHandle
    from fakebroker.testing.snapshot.snapshot import Snapshot

T = TypeVar("T")
MAX_ROWS = 1000  # of groups, in one answer


class BrokerControl(ShortErrors, ABC):
    """The controls of a broker. Handles are imported on first use, so that a broker starts fast."""

    _has_powers = True
    _special_powers = ("__init__",)

    # How handles reach the engine (`testing/handles/access.py`)

    if TYPE_CHECKING:

        @property
        def _engine(self) -> Engine: ...

        @property
        def _server(self) -> EngineServer: ...

    @property
    @abstractmethod
    def _broker_clock(self) -> "BrokerClock":
        """The clock itself; to be used inside `_call`."""

    @abstractmethod
    def _call(self, function: Callable[[], T]) -> T:
        """Run `function` on the engine's thread; returns what it returns and raises what it raises."""

    @abstractmethod
    def wait(self, probe: Callable[[], T | None], timeout_s: TimeoutS, failure: Callable[[], str]) -> Any:
        """The value of `probe` as soon as it returns one, or an awaitable of it.

        Raises WaitTimeout, and BrokerStopped as soon as the broker stops, or if it is not running and `probe` returns
        None.
        """

    # Time

    @property
    def clock(self) -> "ClockHandle":
        """The broker's clock."""
        from fakebroker.testing.handles.clock import ClockHandle

        return ClockHandle(self)

    # Topics, groups, transactions, nodes

    def topic(self, name: str) -> "TopicHandle":
        """A topic by name; it need not exist yet."""
        from fakebroker.testing.handles.topic import TopicHandle

        return TopicHandle(self, name)

    @property
    def topics(self) -> "list[TopicHandle]":
        """Every topic, by name, without internal ones, as in `AdminClient.listTopics`."""
        names = self._call(lambda: [topic.name for topic in self._engine.cluster.topics if not topic.is_internal])
        return [self.topic(name) for name in sorted(names)]

    @property
    def topic_rows(self) -> "list[TopicRow]":
        """A row for each topic, by name, internal ones last: its number of partitions and records, and its size."""
        from fakebroker.testing.handles.topic_view import topic_rows

        return self._call(lambda: topic_rows(self._engine.cluster.topics))

    @property
    def groups(self) -> "list[GroupHandle]":
        """Every group of any node's coordinator, by id, except those of a partition that is being loaded."""
        return [
            self.group(group_id) for group_id in self._call(lambda: self._engine.cluster.group_ids(self._engine.now))
        ]

    def group_rows(
        self, *, since: Count = 0, after: str = "", limit: Annotated[int, Whole(1, MAX_ROWS)] = 1000,
        search: str | None = None,
        state: GroupState | None = None, kind: GroupKind | None = None,
    ) -> "GroupRows":  # fmt: skip
        """A row for each group, by id, at most `limit` of those after the id `after`.

        `since` is the version of an earlier answer: only groups that changed later are listed. `search` is a part of
        the group id. Raises InvalidArgument for negative numbers, a `limit` outside of 1 to 1000, and a wrong state or
        kind.
        """
        from fakebroker.testing.handles.group_rows import GroupRowFilter, group_rows

        wanted = GroupRowFilter(search, state, kind)
        return self._call(lambda: group_rows(self, since, wanted, after, limit))

    def group(self, group_id: str) -> "GroupHandle":
        """A group by id; it need not exist yet."""
        from fakebroker.testing.handles.group import GroupHandle

        return GroupHandle(self, group_id)

    def coordinator(self, group_id: str) -> "CoordinatorHandle":
        """The coordinator of a group."""
        from fakebroker.testing.handles.coordinator import CoordinatorHandle

        return CoordinatorHandle(self, group_id)

    def transaction(self, transactional_id: str) -> "TransactionHandle":
        """A transactional id with its transaction; it need not exist yet."""
        from fakebroker.testing.handles.transaction import TransactionHandle

        return TransactionHandle(self, transactional_id)

    def transaction_coordinator(self, transactional_id: str) -> "TransactionCoordinatorHandle":
        """The coordinator of a transactional id."""
        from fakebroker.testing.handles.coordinator import TransactionCoordinatorHandle

        return TransactionCoordinatorHandle(self, transactional_id)

    @property
    def transactions(self) -> "list[TransactionHandle]":
        """Every transactional id of any node's coordinator, except those of partitions being loaded."""
        found = self._call(lambda: self._engine.cluster.transactions(self._engine.now))
        return [self.transaction(each.transactional_id) for each in found]

    def node(self, node_id: int) -> "NodeHandle":
        """A broker of the cluster by id, by default from 1. Raises UnknownThing if it does not exist."""
        from fakebroker.testing.handles.node import NodeHandle

        return NodeHandle(self, node_id)

    @property
    def nodes(self) -> "list[NodeHandle]":
        """The brokers of the cluster, in the order of their ids."""
        return [self.node(node_id) for node_id in self._call(lambda: list(self._engine.cluster.nodes))]

    def add_node(self, rack: Name | None = None) -> "NodeHandle":
        """Add a broker on a free port; it has no replicas until a topic is created or partitions are reassigned.

        It gets the next id. `reset` removes it. Raises InvalidArgument for a rack that is not a string, OSError without
        a free port.
        """
        from fakebroker.serve.listener_options import next_listeners
        from fakebroker.testing.handles.node import NodeHandle

        def add() -> int:
            listeners = next_listeners(self._engine.listeners, self._engine.cluster.next_node_id)
            self._server.extend_ports(self._server.ports.more(listeners))
            for listener in listeners:
                self._engine.add_listener(listener)
            node_id = self._engine.cluster.add_node(rack)
            self._engine.drain()
            return node_id

        return NodeHandle(self, self._call(add))

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        config: Mapping[str, object] | None = None,
    ) -> "TopicHandle":
        """Create a topic. Raises KafkaError for a bad name, one that exists, impossible numbers and bad settings."""
        values = {key: str(value) for key, value in (config or {}).items()}
        self._call(lambda: self._engine.cluster.topics.create(name, partitions, replication_factor, values))
        return self.topic(name)

    @property
    def acls(self) -> "AclsHandle":
        """The ACLs of a broker with an authorizer."""
        from fakebroker.testing.handles.acls import AclsHandle

        return AclsHandle(self)

    @property
    def users(self) -> "UsersHandle":
        """The users that can log in."""
        from fakebroker.testing.handles.users import UsersHandle

        return UsersHandle(self)

    @property
    def quotas(self) -> "QuotasHandle":
        """The client quotas."""
        from fakebroker.testing.handles.quotas import QuotasHandle

        return QuotasHandle(self)

    @property
    def telemetry(self) -> "TelemetryHandle":
        """The metrics that clients push."""
        from fakebroker.testing.handles.telemetry import TelemetryHandle

        return TelemetryHandle(self)

    # Snapshots

    def snapshot(self) -> "Snapshot":
        """The durable state of the broker now: topics, records, committed offsets, settings, nodes, time.

        Taking one costs milliseconds. It shares the stored records with the broker and never changes.
        """
        return self._call(self._take_snapshot)

    def restore(self, snapshot: "Snapshot | str | PathLike[str]") -> None:
        """Restore the state of a snapshot, including options and time of day.

        `snapshot` may be the path of a file. Clients are disconnected; groups are loaded from their logs, as after a
        start: members of the last stable generation have new session timers. The history starts again, as with `reset`;
        ports and pending waits stay. Works on a running or stopped broker.

        Raises InvalidArgument if the snapshot has other nodes than the broker (`Snapshot.fork` starts a suitable
        broker), and for a file as `Snapshot.load` does; OSError as `reset` does. Then nothing is changed.
        """
        from fakebroker.testing.snapshot.snapshot import Snapshot

        if not isinstance(snapshot, Snapshot):
            snapshot = Snapshot.load(snapshot)
        wanted = snapshot
        self._call(lambda: self._restore(wanted))

    @abstractmethod
    def _take_snapshot(self) -> "Snapshot":
        """A snapshot; called where the engine runs."""

    @abstractmethod
    def _restore(self, snapshot: "Snapshot") -> None:
        """Go on from a snapshot; called where the engine runs."""

    # Faults

    def fault(self, **fields: Unpack[FaultFields]) -> "FaultHandle":
        """Set a fault: from now on, the requests that match fail, wait or lose their answers.

        The fields and actions are in docs/how-to/faults.md. Several faults are evaluated in the order in which they
        were set. Raises InvalidArgument for an unknown field, an invalid value or combination, an unsupported API or
        version.
        """
        from fakebroker.testing.handles.fault import FaultHandle, FaultSpec

        spec = FaultSpec(**fields)
        return FaultHandle(self, self._call(lambda: self._engine.faults.add(spec)))

    @property
    def faults(self) -> "list[FaultHandle]":
        """The active faults, in the order of evaluation."""
        from fakebroker.testing.handles.fault import FaultHandle

        return [FaultHandle(self, fault) for fault in self._call(lambda: list(self._engine.faults))]

    def fault_by_id(self, fault_id: int) -> "FaultHandle":
        """The fault of that number. Raises UnknownThing if none is set."""
        from fakebroker.protocol.errors import UnknownThing

        there = {fault.fault_id: fault for fault in self.faults}
        if fault_id not in there:
            known = f"those set are {', '.join(map(str, there))}" if there else "none is set"
            raise UnknownThing("fault_id", fault_id, f"there is no fault {fault_id}: {known}")
        return there[fault_id]

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._call(lambda: self._engine.faults.clear())

    # What happened

    @property
    def journal(self) -> "JournalHandle":
        """The journal: requests and events, as far as it reaches back."""
        from fakebroker.testing.handles.journal import JournalHandle

        return JournalHandle(self)

    def story(self) -> str:
        """Recent history as text: the last requests of each client, group transitions, unanswered requests."""
        from fakebroker.testing.explanations.failure_story import story

        return self._call(lambda: story(self._engine))
