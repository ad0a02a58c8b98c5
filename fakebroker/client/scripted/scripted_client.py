"""Scripted clients: a Kafka client whose every step is taken by the test.

    a, b = fakebroker.client("a"), fakebroker.client("b")
    a.join("billing", ["orders"])                          # blocks until the coordinator has answered
    a.sync({a.member_id: {"orders": [0, 1]}})
    joining = b.start(b.steps.join("billing", ["orders"])) # parked at the coordinator: do not wait yet
    a.heartbeat().error_code                               # REBALANCE_IN_PROGRESS
    a.rejoin()
    joining.result()

The same over TCP and in the simulator: what differs is the driver.
"""

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from fakebroker.client.connection import Pending
from fakebroker.client.login import Credentials
from fakebroker.client.requesting import Flow
from fakebroker.client.scripted.driver import Driver
from fakebroker.client.steps import ClientSteps
from fakebroker.protocol.arguments.checks import check_text, check_whole
from fakebroker.protocol.errors import InvalidArgument, WaitTimeout
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.short_errors import ShortErrors, short_errors
from fakebroker.protocol.wire.registry import APIS, no_api

P = ParamSpec("P")
T = TypeVar("T")
ANSWER_S = 30.0


class ScriptedClients:
    """The scripted clients of one broker, with the driver that all share, and their unfinished steps."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._steps: list[PendingStep[Any]] = []
        self._of_client_id: Counter[str | None] = Counter()

    def client(
        self,
        client_id: str | None,
        versions: Mapping[str, int] | None = None,
        address: Address | None = None,
        credentials: Credentials | None = None,
    ) -> "ScriptedClient":
        """A new client with a connection of its own, to `address` if there are several brokers.

        `versions` pins APIs, e.g. {"JoinGroup": 4}. With `credentials` each of its connections logs in before its first
        request. Raises InvalidArgument for an unknown API.
        """
        if client_id is not None:
            check_text("client_id", client_id)
        for name, version in (versions or {}).items():
            if name not in {api.name for api in APIS.values()}:
                raise InvalidArgument("versions", versions, f"versions: {no_api(name)}")
            check_whole("versions", version, 0)
        client = ScriptedClient(self, client_id, versions, address)
        client.steps.credentials = credentials
        return client

    def number_of(self, client_id: str | None) -> int:
        """A number for one more client of this client id, so that each makes member ids of its own."""
        self._of_client_id[client_id] += 1
        return self._of_client_id[client_id] - 1

    def close(self) -> None:
        """Close every client's connection."""
        self.driver.close_all()
        self.advance()

    def begin(self, step: "PendingStep[Any]") -> None:
        """Keep a step, and advance it when its answers come, until it is finished."""
        self._steps.append(step)
        self.advance()

    def advance(self) -> None:
        """Resume every unfinished step whose answer has come, until it waits for the next one."""
        for step in tuple(self._steps):
            step.advance()
            if step.is_done:
                self._steps.remove(step)

    def wait(self, step: "PendingStep[Any]", timeout_s: float) -> bool:
        """Let time pass until the step is finished, for `timeout_s` at most; whether it is finished."""

        def is_done() -> bool:
            self.advance()
            return step.is_done

        return self.driver.pass_time(round(timeout_s * 1000), is_done)


class PendingStep(ShortErrors, Generic[T]):
    """A step that was started: it may send several requests, each after the answer to the one before."""

    def __init__(self, client: "ScriptedClient", flow: Flow[T]) -> None:
        self._client = client
        self._flow = flow
        self.value: T | None = None  # what it returned, when it is done
        self.error: Exception | None = None  # what it raised, when it is done
        self.last: Pending | None = None  # the request that was sent last
        self.is_done = False
        self._resume(lambda: next(flow))

    def advance(self) -> None:
        """Resume the flow with its answer, or with the error that ended the request, for as long as one is there."""
        while not self.is_done and self.last is not None and self.last.is_done:
            error = self.last.error
            if error is not None:
                self._resume(functools.partial(self._flow.throw, error))
            else:
                self._resume(functools.partial(self._flow.send, self.last.result()))

    def result(self, timeout_s: float = ANSWER_S) -> T:
        """Wait for the end of the step. Raises WaitTimeout, ConnectionLost, or what the step raised."""
        if not self._client.clients.wait(self, timeout_s):
            raise WaitTimeout(f"{self._client!r}: no answer to {self.last!r} within {timeout_s:g} s")
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]

    def _resume(self, resume: Callable[[], Any]) -> None:
        """Run the flow up to its next request, and send that."""
        try:
            self.last = resume()
        except StopIteration as end:
            self.value, self.is_done = end.value, True
        except Exception as error:
            self.error, self.is_done = error, True
        self._client.clients.driver.flush(self._client.steps.connection)


def _blocking(
    flow: Callable[Concatenate[ClientSteps, P], Flow[T]],
) -> Callable[Concatenate["ScriptedClient", P], T]:
    """Make of a step a method that waits for its result."""

    checked = short_errors(flow)

    @functools.wraps(flow)
    def step(self: "ScriptedClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.start(checked(self.steps, *args, **kwargs)).result()

    return step


class ScriptedClient(ShortErrors):
    """One client. Its methods block until the broker has answered; `start` takes a step of `steps` without waiting."""

    def __init__(
        self,
        clients: ScriptedClients,
        client_id: str | None,
        versions: Mapping[str, int] | None,
        address: Address | None = None,
    ) -> None:
        self.clients = clients
        self.steps = ClientSteps(client_id, versions, clients.number_of(client_id))
        clients.driver.open(self.steps.connection, address)

    join = _blocking(ClientSteps.join)
    rejoin = _blocking(ClientSteps.rejoin)
    sync = _blocking(ClientSteps.sync)
    heartbeat = _blocking(ClientSteps.heartbeat)
    leave = _blocking(ClientSteps.leave)
    join_consumer_group = _blocking(ClientSteps.join_consumer_group)
    consumer_group_heartbeat = _blocking(ClientSteps.consumer_group_heartbeat)
    reconcile = _blocking(ClientSteps.reconcile)
    leave_consumer_group = _blocking(ClientSteps.leave_consumer_group)
    join_share_group = _blocking(ClientSteps.join_share_group)
    share_group_heartbeat = _blocking(ClientSteps.share_group_heartbeat)
    leave_share_group = _blocking(ClientSteps.leave_share_group)
    share_fetch = _blocking(ClientSteps.share_fetch)
    share_acknowledge = _blocking(ClientSteps.share_acknowledge)
    close_share_session = _blocking(ClientSteps.close_share_session)
    join_streams_group = _blocking(ClientSteps.join_streams_group)
    streams_group_heartbeat = _blocking(ClientSteps.streams_group_heartbeat)
    reconcile_tasks = _blocking(ClientSteps.reconcile_tasks)
    leave_streams_group = _blocking(ClientSteps.leave_streams_group)
    commit = _blocking(ClientSteps.commit)
    committed = _blocking(ClientSteps.committed)
    produce = _blocking(ClientSteps.produce)
    fetch = _blocking(ClientSteps.fetch)
    list_offsets = _blocking(ClientSteps.list_offsets)
    offset_for_leader_epoch = _blocking(ClientSteps.offset_for_leader_epoch)
    init_producer_id = _blocking(ClientSteps.init_producer_id)
    add_partitions_to_txn = _blocking(ClientSteps.add_partitions_to_txn)
    add_offsets_to_txn = _blocking(ClientSteps.add_offsets_to_txn)
    txn_offset_commit = _blocking(ClientSteps.txn_offset_commit)
    commit_transaction = _blocking(ClientSteps.commit_transaction)
    abort_transaction = _blocking(ClientSteps.abort_transaction)
    metadata = _blocking(ClientSteps.metadata)
    describe_topic = _blocking(ClientSteps.describe_topic)
    describe_cluster = _blocking(ClientSteps.describe_cluster)
    create_topic = _blocking(ClientSteps.create_topic)
    create_partitions = _blocking(ClientSteps.create_partitions)
    delete_topic = _blocking(ClientSteps.delete_topic)
    delete_records = _blocking(ClientSteps.delete_records)
    find_coordinator = _blocking(ClientSteps.find_coordinator)
    describe_group = _blocking(ClientSteps.describe_group)
    describe_consumer_group = _blocking(ClientSteps.describe_consumer_group)
    describe_share_group = _blocking(ClientSteps.describe_share_group)
    describe_streams_group = _blocking(ClientSteps.describe_streams_group)
    share_group_offsets = _blocking(ClientSteps.share_group_offsets)
    alter_share_group_offsets = _blocking(ClientSteps.alter_share_group_offsets)
    delete_share_group_offsets = _blocking(ClientSteps.delete_share_group_offsets)
    list_groups = _blocking(ClientSteps.list_groups)
    delete_group = _blocking(ClientSteps.delete_group)
    delete_offsets = _blocking(ClientSteps.delete_offsets)
    describe_configs = _blocking(ClientSteps.describe_configs)
    alter_configs = _blocking(ClientSteps.alter_configs)
    request = _blocking(ClientSteps.request)
    login = _blocking(ClientSteps.login)

    def start(self, flow: Flow[T]) -> PendingStep[T]:
        """Begin a step, e.g. `a.start(a.steps.rejoin())`; call its `result()` later."""
        step = PendingStep(self, flow)
        self.clients.begin(step)
        return step

    def another(self, address: Address | None = None) -> "ScriptedClient":
        """A second connection of the same client, to `address`, with the same login.

        Raises OSError when the broker does not accept.
        """
        found = ScriptedClient(self.clients, self.steps.connection.client_id, self.steps.pinned, address)
        found.steps.connection.watch = self.steps.connection.watch
        found.steps.credentials = self.steps.credentials
        return found

    def reconnect(self, address: Address | None = None) -> None:
        """Reconnect, to `address` if there are several brokers; the client keeps its membership.

        Raises OSError when the broker does not accept.
        """
        self.close()
        self.steps.begin_connection()
        self.clients.driver.open(self.steps.connection, address)

    def close(self) -> None:
        """Close the connection, as a crash does: without LeaveGroup."""
        self.clients.driver.close(self.steps.connection)
        self.clients.advance()

    @property
    def member_id(self) -> str:
        """The member id, "" while it has none."""
        member = self.steps.membership or self.steps.group_membership
        return member.member_id if member else ""

    @property
    def generation_id(self) -> int:
        """The generation of a classic group that it is in, -1 while it is in none."""
        return self.steps.membership.generation_id if self.steps.membership else -1

    @property
    def member_epoch(self) -> int:
        """Its epoch in a consumer, share or streams group, -1 while it is in none."""
        return self.steps.group_membership.member_epoch if self.steps.group_membership else -1

    @property
    def assignment(self) -> dict[str, list[int]]:
        """The partitions it was assigned, by topic."""
        member = self.steps.membership or self.steps.group_membership
        return member.assignment if member else {}

    @property
    def active_tasks(self) -> dict[str, list[int]]:
        """The active tasks it was assigned in a streams group: partitions by subtopology."""
        return self.steps.group_membership.active_tasks if self.steps.group_membership else {}

    @property
    def standby_tasks(self) -> dict[str, list[int]]:
        """The standby tasks it was assigned in a streams group: partitions by subtopology."""
        return self.steps.group_membership.standby_tasks if self.steps.group_membership else {}

    @property
    def is_leader(self) -> bool:
        """Whether the coordinator chose it to assign partitions."""
        return bool(self.steps.membership and self.steps.membership.is_leader)

    def __repr__(self) -> str:
        return f"<client {self.steps.connection.client_id}>"
