"""The table of the HTTP API: for each power of the object model a method and a path.

`power` names it from the broker on: "group.wait" is `broker.group(group_id).wait(...)`. The placeholders of the path
are arguments of the calls on the way; the arguments of the last one come in the query (GET, DELETE) or in a JSON body.
A row that ends at a handle shows its properties. A row that sets a property takes it under its own name.

`PYTHON_ONLY` lists what has no row, and why; tests/cli/http/test_operations.py fails for a power that is in neither.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.cli.http import broker_steps, group_steps, journal_steps, telemetry_steps, topic_steps
from fakebroker.protocol.annotations import type_hints
from fakebroker.serve.listener_options import bootstrap
from fakebroker.testing.reflection.members import Member, find, handles_in

if TYPE_CHECKING:
    from fakebroker.testing.broker import AsyncFakeBroker
    from fakebroker.testing.handles.topic import TopicHandle


class ProducedRecords(NamedTuple):
    """Records that were appended: their partition, the offset of the first, how many, and the time of the first."""

    partition: int
    offset: int
    records: int
    timestamp_ms: int


def produced(
    topic: "TopicHandle", first_offset: int, values: tuple[Any, ...], given: dict[str, Any]
) -> ProducedRecords:
    """The answer for what `produce(*values, **given)` has appended."""
    partition = given.get("partition", 0)
    (first,) = topic.browse(partition, first_offset, 1).records
    return ProducedRecords(partition, first_offset, len(values), first.timestamp_ms)


def advertised(broker: "AsyncFakeBroker", _local: str, _values: tuple[Any, ...], given: dict[str, Any]) -> str:
    """What clients elsewhere call bootstrap.servers: a caller of HTTP may be in another container."""
    return bootstrap(broker.listeners, given.get("listener", ""), is_advertised=True)


class Operation(NamedTuple):
    """One row: what `verb` on `path` does."""

    verb: str
    path: str
    power: str
    example: Mapping[str, Any] | None = None  # of its arguments
    gives: str = ""  # the power whose type it returns, where the annotation is only Any
    word: str = ""  # of `fakebroker ctl`, where the path does not end in one
    form: Callable[..., Any] | None = None  # makes the answer of the handle, the result and the arguments
    reads_entries: bool = False  # all that the journal keeps, perhaps: another thread does it
    in_steps: Callable[[Any, Mapping[str, Any]], Awaitable[Any]] | None = None  # the same with a handle and arguments

    @property
    def members(self) -> list[Member]:
        """The members that lead to the power, itself last."""
        return find(self.power)

    @property
    def returns(self) -> Any:
        """The type of what it gives; None for a property that is set."""
        if self.is_setting:
            return type(None)
        if self.form is not None:
            return type_hints(self.form)["return"]
        power = self.gives or self.power
        returns = find(power)[-1].returns
        return next(handles_in(returns)) if power.endswith("[]") else returns

    @property
    def is_setting(self) -> bool:
        """Whether it sets a property."""
        return self.verb == "PUT" and self.members[-1].is_property

    @property
    def in_path(self) -> list[str]:
        """The names of the path's placeholders."""
        return [part[1:-1] for part in self.path.split("/") if part[:1] == "{"]

    @property
    def has_body(self) -> bool:
        """Whether its arguments come in a body."""
        return self.verb in ("POST", "PUT")


_REQUESTS = {"requests": [{"api": "JoinGroup", "error": "MEMBER_ID_REQUIRED"}, {"api": "JoinGroup", "error": "NONE"}]}

_ACL = {"principal": "User:alice", "operation": "READ", "topic": "orders"}

_PARTITION = "/topics/{name}/partitions/{index}"

OPERATIONS = (
    # Time
    Operation("GET", "/clock", "clock"),
    Operation("GET", "/clock/due", "clock.due", {"limit": 3}),
    Operation("POST", "/clock/advance", "clock.advance", {"days": 8}),
    Operation("POST", "/clock/step_back", "clock.step_back", {"hours": 1}),
    Operation("POST", "/clock/set", "clock.set", {"when": "2036-03-01T09:00:00Z"}),
    Operation("POST", "/clock/run_until", "clock.run_until", {"when": "2036-03-01T09:00:00Z"}),
    Operation("POST", "/clock/freeze", "clock.freeze"),
    Operation("POST", "/clock/resume", "clock.resume"),
    Operation("PUT", "/clock/rate", "clock.rate", {"rate": 60.0}),
    # Topics
    Operation("GET", "/topics", "topics"),
    Operation("GET", "/topic_rows", "topic_rows"),
    Operation("PUT", "/topics/{name}", "create_topic", {"partitions": 3, "config": {"cleanup.policy": "compact"}}),
    Operation("GET", "/topics/{name}", "topic"),
    Operation("DELETE", "/topics/{name}", "topic.delete"),
    Operation("GET", "/topics/{name}/view", "topic.view", in_steps=topic_steps.view),
    Operation(
        "GET",
        "/topics/{name}/browse",
        "topic.browse",
        {"partition": 0, "offset": -20},
        in_steps=topic_steps.browse,
    ),
    Operation(
        "GET",
        "/topics/{name}/find_time",
        "topic.find_time",
        {"when": "2036-03-01T09:00:00Z"},
        in_steps=topic_steps.find_time,
    ),
    Operation("GET", "/topics/{name}/records", "topic.records", {"partition": 0}, in_steps=topic_steps.records),
    Operation(
        "POST",
        "/topics/{name}/records",
        "topic.produce",
        {"values": ["a", "b"], "key": "k"},
        word="produce",
        form=produced,
    ),
    Operation("POST", "/topics/{name}/truncate", "topic.truncate", {"offset": 1}),
    Operation("POST", "/topics/{name}/advance_log_start", "topic.advance_log_start", {"offset": 1}),
    Operation("POST", "/topics/{name}/corrupt", "topic.corrupt", {"offset": 0}),
    Operation("GET", "/topics/{name}/partitions/{index}", "topic.partition"),
    Operation("POST", f"{_PARTITION}/move_leader", "topic.partition.move_leader", {"to": 2}),
    Operation("POST", f"{_PARTITION}/reassign", "topic.partition.reassign", {"replicas": [2, 3]}),
    Operation("POST", f"{_PARTITION}/set_in_sync", "topic.partition.set_in_sync", {"nodes": [1]}),
    Operation(
        "POST",
        "/topics/{name}/wait",
        "topic.wait",
        {"records": 1, "timeout_s": 5.0},
        gives="topic.records",
        in_steps=topic_steps.awaited,
    ),
    # Users
    Operation("GET", "/users", "users"),
    Operation("PUT", "/users/{name}", "users.add", {"password": "secret"}),
    Operation("DELETE", "/users/{name}", "users.remove"),
    # Quotas
    Operation("GET", "/quotas", "quotas.entries"),
    Operation("PUT", "/quotas", "quotas.set", {"user": "alice", "producer_byte_rate": 1000}, word="set"),
    Operation("DELETE", "/quotas", "quotas.remove", {"user": "alice"}),
    Operation("GET", "/quotas/of_client", "quotas.of_client", {"client_id": "svc-1"}),
    Operation("POST", "/quotas/clear", "quotas.clear"),
    Operation("GET", "/delegation_tokens", "users.tokens"),
    Operation("GET", "/delegation_tokens/{token_id}", "users.token"),
    Operation("DELETE", "/delegation_tokens/{token_id}", "users.token.expire"),
    # Rights
    Operation("GET", "/acls", "acls"),
    Operation("POST", "/acls/allow", "acls.allow", _ACL),
    Operation("POST", "/acls/deny", "acls.deny", _ACL),
    Operation("POST", "/acls/remove", "acls.remove", _ACL),
    Operation("GET", "/acls/explain", "acls.explain", _ACL),
    Operation("DELETE", "/acls", "acls.clear"),
    # Client telemetry
    Operation("GET", "/telemetry/subscriptions", "telemetry.subscriptions"),
    Operation("PUT", "/telemetry/subscriptions/{name}", "telemetry.subscribe", {"interval_ms": 1000}),
    Operation("DELETE", "/telemetry/subscriptions/{name}", "telemetry.unsubscribe"),
    Operation("GET", "/telemetry/pushes", "telemetry.pushes", {"client_id": "svc-1"}, in_steps=telemetry_steps.pushes),
    Operation(
        "GET",
        "/telemetry/metrics",
        "telemetry.metrics",
        {"name": "org.apache.kafka.producer."},
        in_steps=telemetry_steps.metrics,
    ),
    Operation("POST", "/telemetry/wait", "telemetry.wait", {"client_id": "svc-1"}, gives="telemetry.metrics"),
    Operation("DELETE", "/telemetry/pushes", "telemetry.clear", word="clear"),
    # Groups and their coordinators
    Operation("GET", "/groups", "groups"),
    Operation("GET", "/group_rows", "group_rows", {"limit": 100}),
    Operation("GET", "/groups/{group_id}", "group"),
    Operation("GET", "/groups/{group_id}/view", "group.view"),
    Operation("GET", "/groups/{group_id}/committed", "group.committed"),
    Operation("GET", "/groups/{group_id}/transitions", "group.transitions"),
    Operation("GET", "/groups/{group_id}/member_transitions", "group.member_transitions"),
    Operation("GET", "/groups/{group_id}/explain", "group.explain", {"policy": "4.3"}),
    Operation(
        "GET",
        "/groups/{group_id}/explain_policies",
        "group.explain_policies",
        in_steps=group_steps.explain_policies,
    ),
    Operation("POST", "/groups/{group_id}/wait", "group.wait", {"state": "Stable", "members": 2}, gives="group"),
    Operation("POST", "/groups/{group_id}/commit", "group.commit", {"offsets": {"orders": {"0": 42}}}),
    Operation("DELETE", "/groups/{group_id}", "group.delete"),
    Operation("POST", "/groups/{group_id}/rebalance", "group.rebalance", {"reason": "requested by a test"}),
    Operation("POST", "/groups/{group_id}/evict", "group.evict", {"member": "svc-1"}),
    Operation("POST", "/groups/{group_id}/hold_joins", "group.hold_joins", {"until_members": 3, "leader": "svc-2"}),
    Operation("POST", "/groups/{group_id}/hold_syncs", "group.hold_syncs", {"order": ["svc-2", "svc-1"]}),
    Operation("GET", "/groups/{group_id}/holds", "group.holds"),
    Operation("GET", "/groups/{group_id}/holds/{hold_id}", "group.holds[]"),
    Operation(
        "POST", "/groups/{group_id}/holds/{hold_id}/wait", "group.holds[].wait", {"members": 2}, gives="group.holds[]"
    ),
    Operation("POST", "/groups/{group_id}/holds/{hold_id}/release", "group.holds[].release", {"leader": "svc-2"}),
    Operation("DELETE", "/groups/{group_id}/holds/{hold_id}", "group.holds[].remove"),
    Operation("GET", "/coordinators/{group_id}", "coordinator"),
    Operation("POST", "/coordinators/{group_id}/move", "coordinator.move", {"to": 2}),
    Operation("POST", "/coordinators/{group_id}/zombie", "coordinator.zombie", {"for_s": 3.0}),
    Operation("POST", "/coordinators/{group_id}/load", "coordinator.load", {"for_s": 5.0}),
    # Transactions and their coordinators
    Operation("GET", "/transactions", "transactions"),
    Operation("GET", "/transactions/{transactional_id}", "transaction"),
    Operation("GET", "/transactions/{transactional_id}/transitions", "transaction.transitions"),
    Operation("GET", "/transactions/{transactional_id}/explain", "transaction.explain"),
    Operation("POST", "/transactions/{transactional_id}/abort", "transaction.abort", {"reason": "requested by a test"}),
    Operation(
        "POST",
        "/transactions/{transactional_id}/wait",
        "transaction.wait",
        {"state": "CompleteCommit"},
        gives="transaction",
    ),
    Operation("GET", "/transaction_coordinators/{transactional_id}", "transaction_coordinator"),
    Operation("POST", "/transaction_coordinators/{transactional_id}/move", "transaction_coordinator.move", {"to": 2}),
    Operation(
        "POST", "/transaction_coordinators/{transactional_id}/zombie", "transaction_coordinator.zombie", {"for_s": 3.0}
    ),
    Operation(
        "POST", "/transaction_coordinators/{transactional_id}/load", "transaction_coordinator.load", {"for_s": 5.0}
    ),
    # Nodes
    Operation("GET", "/nodes", "nodes"),
    Operation("POST", "/nodes", "add_node", {"rack": "a"}),
    Operation("DELETE", "/nodes/{node_id}", "node.remove"),
    Operation("GET", "/nodes/{node_id}", "node"),
    Operation("POST", "/nodes/{node_id}/stop", "node.stop"),
    Operation("POST", "/nodes/{node_id}/start", "node.start"),
    Operation("POST", "/nodes/{node_id}/kill", "node.kill"),
    Operation("POST", "/nodes/{node_id}/restart", "node.restart"),
    Operation("POST", "/nodes/{node_id}/freeze", "node.freeze"),
    Operation("POST", "/nodes/{node_id}/thaw", "node.thaw"),
    Operation("POST", "/nodes/{node_id}/unreachable", "node.unreachable"),
    Operation("POST", "/nodes/{node_id}/isolate", "node.isolate"),
    Operation("POST", "/nodes/{node_id}/refuse_connects", "node.refuse_connects"),
    Operation("POST", "/nodes/{node_id}/half_open", "node.half_open"),
    Operation("POST", "/nodes/{node_id}/heal", "node.heal"),
    Operation("PUT", "/nodes/{node_id}/rack", "node.rack", {"rack": "a"}),
    Operation("GET", "/nodes/{node_id}/log_directories", "node.log_directories"),
    Operation("POST", "/nodes/{node_id}/fill_disk", "node.fill_disk", {"after_bytes": 1_000_000}),
    Operation("POST", "/nodes/{node_id}/fail_disk", "node.fail_disk"),
    Operation("POST", "/nodes/{node_id}/slow_disk", "node.slow_disk", {"flush_s": 2}),
    Operation("POST", "/nodes/{node_id}/heal_disk", "node.heal_disk"),
    # Faults
    Operation("GET", "/faults", "faults"),
    Operation("POST", "/faults", "fault", {"api": "OffsetCommit", "group": "billing", "error": "NOT_COORDINATOR"}),
    Operation("DELETE", "/faults", "clear_faults"),
    Operation("GET", "/faults/{fault_id}", "fault_by_id"),
    Operation("DELETE", "/faults/{fault_id}", "fault_by_id.remove"),
    Operation("POST", "/faults/{fault_id}/wait", "fault_by_id.wait", {"hits": 1}, gives="fault_by_id.hits"),
    # What happened
    Operation("GET", "/journal", "journal.requests", {"api": "JoinGroup"}, reads_entries=True),
    Operation("DELETE", "/journal", "journal.clear"),
    Operation("GET", "/journal/events", "journal.events", {"kind": "transition"}, reads_entries=True),
    Operation("GET", "/journal/lines", "journal.rows", reads_entries=True),
    Operation("GET", "/journal/brief", "journal.brief", {"limit": 100}, in_steps=journal_steps.brief),
    Operation("GET", "/journal/entries/{seq}", "journal.entry"),
    Operation("GET", "/journal/waiting", "journal.waiting", in_steps=journal_steps.waiting),
    Operation("GET", "/journal/next_seq", "journal.next_seq"),
    Operation("GET", "/journal/forgotten", "journal.forgotten"),
    Operation(
        "POST", "/journal/wait", "journal.wait", _REQUESTS, gives="journal.requests", in_steps=journal_steps.wait
    ),
    # The whole broker
    Operation("POST", "/reset", "reset"),
    Operation("GET", "/story", "story", in_steps=broker_steps.story),
    Operation("GET", "/bootstrap", "bootstrap", form=advertised),
    Operation("GET", "/bootstrap/{listener}", "bootstrap_of", form=advertised),
    Operation("GET", "/is_running", "is_running"),
)

PYTHON_ONLY: dict[str, str] = {
    "AsyncFakeBroker.client": "a scripted client is an object of the test's own process",
    "AsyncFakeBroker.listeners": "objects of the broker; use `GET /bootstrap` and `GET /brokers`",
    "AsyncFakeBroker.on_data_failure": "takes a Python function; `serve` ends with status 3",
    "AsyncFakeBroker.start": "the control server lives as long as the broker; use `POST /brokers`",
    "AsyncFakeBroker.stop": "as start; `DELETE /brokers/{broker_id}` stops others",
    "DelegationTokenHandle.secret": "a secret, which HTTP does not reveal",
    "Expectation.never": "as Expectation.then, with `is_never`",
    "Expectation.then": "chained calls are Python's form of `POST /journal/wait`",
    "Expectation.within": "as Expectation.then",
    "DiskFault.heal": "use `POST /nodes/{node_id}/heal_disk`",
    "NetworkFault.heal": "use `POST /nodes/{node_id}/heal`",
    "UsersHandle.create_token": "its result is a secret; clients use CreateDelegationToken",
    "JournalHandle.entries": "Python's form of `GET /journal/lines`",
    "JournalHandle.expect": "as Expectation.then",
    "AsyncFakeBroker.wait": "takes Python functions; groups and topics have their own waits",
}

# Arguments that are Python's own: functions and objects. Over HTTP they keep their default.
PYTHON_ONLY_ARGUMENTS: dict[str, str] = {
    "AsyncFakeBroker.fault(run)": "a function",
    "AsyncFakeBroker.fault(when)": "a function",
}


def separate_properties() -> frozenset[str]:
    """The properties with a path of their own, which the view of their handle leaves out."""
    members = [row.members[-1] for row in OPERATIONS if row.verb == "GET"]
    return frozenset(str(member) for member in members if member.is_property)
