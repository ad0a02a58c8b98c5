"""Every power of the object model does on a broker in virtual time what it does on one with sockets.

The table has a call for each row of `cli/http/operations.py`. Each is made on a FakeBroker and on a VirtualBroker that
were brought into the same state; what it gives or raises, and what both brokers are afterwards, must be the same.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.cli.http.answers import to_json
from fakebroker.cli.http.operations import OPERATIONS, separate_properties
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.testing.handles.expectation import RequestPattern
from fakebroker.testing.handles.hold import HoldHandle
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support import pushed_metrics

Broker = FakeBroker | VirtualBroker

START = datetime(2040, 1, 1, tzinfo=UTC)
LATER = datetime(2040, 1, 3, tzinfo=UTC)
NODES = 3
POLLS, POLL_MS = 500, 10
RIGHTS: dict[str, Any] = {"acls": [], "config": {"super.users": "User:ANONYMOUS"}}


class Stage:
    """A broker with a topic and a group of one member, at a frozen time of day."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        broker.clock.freeze()
        broker.clock.set(START)
        broker.journal.clear()
        broker.create_topic("orders", partitions=2, replication_factor=2)
        broker.topic("orders").produce("a", "b", key="k", partition=0)
        self.coordinator = broker.coordinator("billing").node_id
        self.member = self.client("a")
        self.member.join("billing", ["orders"])
        self.member.sync({self.member.member_id: {"orders": [0, 1]}})
        self.member.commit({("orders", 0): 1})

    @property
    def other(self) -> int:
        """A node that does not coordinate the group."""
        return self.coordinator % NODES + 1

    def client(self, name: str) -> ScriptedClient:
        """A client of the group's coordinator."""
        return self.broker.client(name, node_id=self.coordinator)

    def parked(self) -> None:
        """A second member is on its way into the group: its JoinGroup waits."""
        second = self.client("b")
        second.start(second.steps.join("billing", ["orders"]))

        for _ in range(POLLS):
            second.clients.driver.pass_time(POLL_MS)
            second.clients.advance()
            if len(self.broker.group("billing").members) == 2:
                return
        raise AssertionError("the JoinGroup of b did not come")

    def seen(self) -> Any:
        """What the broker is now."""
        shown = [
            self.broker.topics,
            self.broker.groups,
            self.broker.transactions,
            self.broker.nodes,
            self.broker.faults,
            self.broker.clock,
        ]
        return plain(self.broker, shown), plain(self.broker, list(self.broker.journal.requests()))


def plain(broker: Broker, value: Any) -> Any:
    """A result as JSON, without what only sockets have: ports and the passing of real time."""
    ports = [re.escape(str(listener.port)) for listener in broker.listeners]
    shown = repr(to_json(value, separate_properties()))
    shown = re.sub(rf"\b({'|'.join(ports)})\b", "PORT", shown)
    shown = re.sub(r"[+]\d+[.]\d+s", "+0s", shown)
    times = r"\w*mono_ms|waited_ms|waits_ms|\w*left_ms|\w*ago_ms|client_port"
    return re.sub(rf"'({times})': [0-9]+", r"'\1': 0", shown)


def done(action: Callable[..., object], *args: Any, **kwargs: Any) -> None:
    """A call for what it does; it gives nothing to compare, e.g. a fault of a network."""
    action(*args, **kwargs)


def producing(stage: Stage) -> ScriptedClient:
    """A producer of the transactional id "tx-1", at its coordinator; with protocol 1, whose transaction has begun."""
    node_id = stage.broker.transaction_coordinator("tx-1").node_id
    client = stage.broker.client("producer", node_id=node_id)
    client.find_coordinator("tx-1", key_type="transaction")
    client.init_producer_id("tx-1", transaction_protocol=1)
    client.add_partitions_to_txn([("orders", 1)])
    return client


def with_fault(stage: Stage) -> Any:
    """A fault that has hit a heartbeat."""
    fault = stage.broker.fault(api="Heartbeat", error="NOT_COORDINATOR", times=2)
    stage.member.heartbeat()
    return fault


def held(broker: Broker) -> HoldHandle:
    """A hold of joins that waits for more members than there are."""
    return broker.group("billing").hold_joins(until_members=3)


def allowed(broker: Broker) -> None:
    """A right of somebody."""
    broker.acls.allow("User:alice", "READ", topic="orders")


def pushed(broker: Broker) -> None:
    """A client has pushed a metric."""
    broker.telemetry.subscribe("all")
    pusher = broker.client("pusher")
    got = pusher.request("GetTelemetrySubscriptions", 0, client_instance_id=bytes(15) + b"\1")
    payload = pushed_metrics.pushed(pushed_metrics.gauge("org.n", pushed_metrics.point(1)))
    asked = {"client_instance_id": got.client_instance_id, "subscription_id": got.subscription_id}
    pusher.request("PushTelemetry", 0, metrics=payload, **asked)


def node_stopped(stage: Stage) -> Any:
    """A node that does not run."""
    node = stage.broker.add_node("z")
    node.stop()
    return node


Call = Callable[[Broker, Stage], object]

CALLS: dict[str, Call] = {
    "clock": lambda b, _: b.clock,
    "clock.due": lambda b, _: [e.what for e in b.clock.due().due if e.by == "clock"],
    "clock.advance": lambda b, _: (b.clock.advance(days=8), b.clock.now),
    "clock.step_back": lambda b, _: (b.clock.step_back(hours=1), b.clock.now),
    "clock.set": lambda b, _: (b.clock.set(LATER), b.clock.now),
    "clock.run_until": lambda b, _: (b.clock.run_until(LATER), b.clock.now),
    "clock.freeze": lambda b, _: (b.clock.freeze(), b.clock.is_frozen),
    "clock.resume": lambda b, _: (b.clock.resume(), b.clock.is_frozen, b.clock.freeze(), b.clock.set(START)),
    "clock.rate": lambda b, _: (setattr(b.clock, "rate", 60), b.clock.rate),
    "topics": lambda b, _: b.topics,
    "create_topic": lambda b, _: b.create_topic("more", partitions=3, config={"cleanup.policy": "compact"}),
    "topic": lambda b, _: b.topic("orders"),
    "topic.delete": lambda b, _: b.topic("orders").delete(),
    "topic_rows": lambda b, _: b.topic_rows,
    "topic.view": lambda b, _: b.topic("orders").view()._replace(topic_id=""),
    "topic.browse": lambda b, _: b.topic("orders").browse(0),
    "topic.find_time": lambda b, _: b.topic("orders").find_time(START),
    "topic.records": lambda b, _: b.topic("orders").records(0),
    "topic.produce": lambda b, _: b.topic("orders").produce("c", partition=1),
    "topic.truncate": lambda b, _: b.topic("orders").truncate(1),
    "topic.advance_log_start": lambda b, _: b.topic("orders").advance_log_start(1),
    "topic.corrupt": lambda b, _: b.topic("orders").corrupt(0),
    "topic.partition": lambda b, _: b.topic("orders").partition(1),
    "topic.partition.move_leader": lambda b, _: (
        b.topic("orders")
        .partition(0)
        .move_leader(
            next(n for n in b.topic("orders").partition(0).replicas if n != b.topic("orders").partition(0).leader)
        )
    ),
    "topic.partition.reassign": lambda b, _: b.topic("orders").partition(0).reassign([3, 1]),
    "topic.partition.set_in_sync": lambda b, _: (
        b.topic("orders").partition(0).set_in_sync([b.topic("orders").partition(0).leader])
    ),
    "topic.wait": lambda b, _: b.topic("orders").wait(records=2, timeout_s=5),
    "groups": lambda b, _: b.groups,
    "group_rows": lambda b, _: b.group_rows(),
    "group": lambda b, _: b.group("billing"),
    "group.view": lambda b, _: b.group("billing").view(),
    "group.committed": lambda b, _: b.group("billing").committed,
    "group.transitions": lambda b, _: b.group("billing").transitions,
    "group.member_transitions": lambda b, s: (
        s.member.another().join_consumer_group("modern", ["orders"]).error_code,
        b.group("modern").member_transitions,
        b.group("modern"),
    ),
    "group.explain": lambda b, _: b.group("billing").explain("2.0"),
    "group.explain_policies": lambda b, _: b.group("billing").explain_policies(),
    "group.wait": lambda b, _: b.group("billing").wait(state="Stable", members=1, timeout_s=5),
    "group.commit": lambda b, _: b.group("other").commit({("orders", 0): 2}),
    "group.delete": lambda b, _: (b.group("other").commit({("orders", 0): 2}), b.group("other").delete()),
    "group.rebalance": lambda b, s: (b.group("billing").rebalance("the test"), s.member.heartbeat().error_code),
    "group.evict": lambda b, s: (b.group("billing").evict("a"), s.member.heartbeat().error_code),
    "group.hold_joins": lambda b, s: (held(b), s.parked()),
    "group.hold_syncs": lambda b, _: b.group("billing").hold_syncs(order=["b", "a"]),
    "group.holds": lambda b, _: (held(b), b.group("billing").holds),
    "group.holds[]": lambda b, _: held(b),
    "group.holds[].wait": lambda b, s: (
        h := held(b),
        s.parked(),
        h.wait(1, timeout_s=5),
    ),
    "group.holds[].release": lambda b, s: (
        h := held(b),
        s.parked(),
        h.release(),
    ),
    "group.holds[].remove": lambda b, _: held(b).remove(),
    "coordinator": lambda b, _: b.coordinator("billing"),
    "coordinator.move": lambda b, s: (b.coordinator("billing").move(s.other), s.member.heartbeat().error_code),
    "coordinator.zombie": lambda b, s: (b.coordinator("billing").zombie(60), s.member.heartbeat().error_code),
    "coordinator.load": lambda b, s: (b.coordinator("billing").load(60), s.member.heartbeat().error_code),
    "transactions": lambda b, s: (producing(s), b.transactions)[1],
    "transaction": lambda b, s: (producing(s), b.transaction("tx-1"))[1],
    "transaction.transitions": lambda b, s: (producing(s), b.transaction("tx-1").transitions)[1],
    "transaction.explain": lambda b, s: (producing(s), b.transaction("tx-1").explain())[1],
    "transaction.abort": lambda b, s: (producing(s), b.transaction("tx-1").abort("the test"))[1],
    "transaction.wait": lambda b, s: (
        producing(s).commit_transaction().error_code,
        b.transaction("tx-1").wait("CompleteCommit", timeout_s=5),
    )[1],
    "transaction_coordinator": lambda b, _: b.transaction_coordinator("tx-1"),
    "transaction_coordinator.move": lambda b, s: (
        p := producing(s),
        b.transaction_coordinator("tx-1").move(b.transaction_coordinator("tx-1").node_id % NODES + 1),
        p.commit_transaction().error_code,
    )[2],
    "transaction_coordinator.zombie": lambda b, s: (
        p := producing(s),
        b.transaction_coordinator("tx-1").zombie(60),
        p.find_coordinator("tx-1", key_type="transaction").coordinators[0].node_id,
    )[2],
    "transaction_coordinator.load": lambda b, s: (
        p := producing(s),
        b.transaction_coordinator("tx-1").load(60),
        p.commit_transaction().error_code,
    )[2],
    "nodes": lambda b, _: b.nodes,
    "add_node": lambda b, _: b.add_node("z"),
    "node": lambda b, s: b.node(s.other),
    "node.remove": lambda _, s: node_stopped(s).remove(),
    "node.stop": lambda b, s: b.node(s.other).stop(),
    "node.start": lambda _, s: (n := node_stopped(s), n.start(), n.is_alive),
    "node.kill": lambda b, s: b.node(s.other).kill(),
    "node.restart": lambda b, s: b.node(s.other).restart(),
    "node.freeze": lambda b, s: b.node(s.other).freeze(),
    "node.thaw": lambda b, s: (b.node(s.other).freeze(), b.node(s.other).thaw()),
    "node.unreachable": lambda b, s: done(b.node(s.other).unreachable),
    "node.isolate": lambda b, s: done(b.node(s.other).isolate),
    "node.refuse_connects": lambda b, s: done(b.node(s.other).refuse_connects),
    "node.half_open": lambda b, s: done(b.node(s.other).half_open),
    "node.heal": lambda b, s: (done(b.node(s.other).unreachable), b.node(s.other).heal()),
    "node.log_directories": lambda b, s: b.node(s.other).log_directories,
    "node.fill_disk": lambda b, s: (b.node(s.other).fill_disk(), b.node(s.other).log_directories[0].free_bytes),
    "node.fail_disk": lambda b, s: (b.node(s.other).fail_disk(), b.node(s.other).state),
    "node.slow_disk": lambda b, s: (b.node(s.other).slow_disk(2), b.node(s.other).log_directories[0].flush_s),
    "node.heal_disk": lambda b, s: (b.node(s.other).fail_disk(), b.node(s.other).heal_disk()),
    "node.rack": lambda b, s: (setattr(b.node(s.other), "rack", "q"), b.node(s.other).rack),
    "faults": lambda b, s: (with_fault(s), b.faults),
    "fault": lambda b, _: b.fault(api="OffsetCommit", group="billing", error="NOT_COORDINATOR"),
    "clear_faults": lambda b, s: (with_fault(s), b.clear_faults()),
    "fault_by_id": lambda b, s: b.fault_by_id(with_fault(s).fault_id),
    "fault_by_id.remove": lambda _, s: with_fault(s).remove(),
    "fault_by_id.wait": lambda _, s: with_fault(s).wait(1, timeout_s=5),
    "journal.requests": lambda b, _: b.journal.requests(api="JoinGroup"),
    "journal.clear": lambda b, _: b.journal.clear(),
    "journal.events": lambda b, _: b.journal.events("transition"),
    "journal.rows": lambda b, _: [row["kind"] for row in b.journal.rows()],
    "journal.brief": lambda b, _: [line["kind"] for line in b.journal.brief().lines],
    "journal.entry": lambda b, _: b.journal.entry(b.journal.requests(api="SyncGroup")[0].seq).text,
    "journal.waiting": lambda b, s: (held(b), s.parked(), b.journal.waiting),
    "journal.next_seq": lambda b, _: b.journal.next_seq,
    "journal.forgotten": lambda b, _: b.journal.forgotten,
    "journal.wait": lambda b, _: b.journal.wait([RequestPattern("JoinGroup")], timeout_s=5),
    "users": lambda b, _: b.users.names,
    "users.add": lambda b, _: (b.users.add("alice", "secret"), b.users.names),
    "users.remove": lambda b, _: (b.users.add("alice", "secret"), b.users.remove("alice"), b.users.names),
    "quotas.entries": lambda b, _: (b.quotas.set(user="alice", producer_byte_rate=1000), b.quotas.entries),
    "quotas.set": lambda b, _: (b.quotas.set(client_id="<default>", request_percentage=0.5), b.quotas.entries),
    "quotas.remove": lambda b, _: (
        b.quotas.set(ip="127.0.0.1", connection_creation_rate=5),
        b.quotas.remove(ip="127.0.0.1", key="connection_creation_rate"),
        b.quotas.entries,
    ),
    "quotas.of_client": lambda b, _: (
        b.quotas.set(user="alice", client_id="app", consumer_byte_rate=7),
        b.quotas.of_client("alice", "app"),
    ),
    "quotas.clear": lambda b, _: (b.quotas.set(user="bob", controller_mutation_rate=2), b.quotas.clear()),
    "users.tokens": lambda b, _: b.users.tokens,
    "users.token": lambda b, _: b.users.token("none").exists,
    "users.token.expire": lambda b, _: b.users.token("none").expire(),
    "acls": lambda b, _: (allowed(b), b.acls),
    "acls.allow": lambda b, _: (allowed(b), b.acls.entries),
    "acls.deny": lambda b, _: (b.acls.deny("User:*", "ALL", group="x", prefix=True, host="10.0.0.1"), b.acls.entries),
    "acls.remove": lambda b, _: (allowed(b), b.acls.remove("User:alice"), b.acls.entries),
    "acls.clear": lambda b, _: (allowed(b), b.acls.clear(), b.acls.entries),
    "acls.explain": lambda b, _: (allowed(b), b.acls.explain("User:alice", "READ", topic="orders")),
    "telemetry.subscriptions": lambda b, _: (b.telemetry.subscribe("all"), b.telemetry.subscriptions),
    "telemetry.subscribe": lambda b, _: b.telemetry.subscribe("some", ["org."], 500, ["client_id=a.*"]),
    "telemetry.unsubscribe": lambda b, _: (b.telemetry.subscribe("all"), b.telemetry.unsubscribe("all")),
    "telemetry.pushes": lambda b, _: (pushed(b), b.telemetry.pushes()),
    "telemetry.metrics": lambda b, _: (pushed(b), b.telemetry.metrics("org.", "pusher")),
    "telemetry.wait": lambda b, _: (pushed(b), b.telemetry.wait(timeout_s=5)),
    "telemetry.clear": lambda b, _: (pushed(b), b.telemetry.clear(), b.telemetry.pushes()),
    "reset": lambda b, _: (b.reset(), b.clock.freeze(), b.clock.set(START), b.journal.clear()),
    "story": lambda b, _: b.story(),
    "bootstrap": lambda b, _: b.bootstrap,
    "bootstrap_of": lambda b, _: b.bootstrap_of("PLAINTEXT"),
    "is_running": lambda b, _: b.is_running,
    # What is no row
    "snapshot": lambda b, _: b.snapshot().topics,
    "restore": lambda b, _: (s := b.snapshot(), b.topic("orders").delete(), b.restore(s), b.topics)[1:],
    "errors": lambda b, _: b.group("none").delete(),
    "late": lambda b, _: b.group("billing").wait(state="Empty", timeout_s=0.01),
}


def outcome(broker: Broker, power: str) -> Any:
    """What the call gives or raises, and what the broker is then."""
    stage = Stage(broker)
    try:
        result = CALLS[power](broker, stage)
    except FakebrokerError as error:
        result = [type(error).__name__, str(error)]
    return plain(broker, result), *stage.seen()


@pytest.mark.parametrize("power", CALLS)
def test_a_power_is_the_same_in_virtual_time(power: str) -> None:
    """The same calls give the same results, and lead to the same state."""
    rights = RIGHTS if power.startswith("acls") else {}
    with FakeBroker(nodes=NODES, racks=["a", "b", "c"], seed=3, **rights) as broker:
        expected = outcome(broker, power)
    with VirtualBroker(nodes=NODES, racks=["a", "b", "c"], seed=3, **rights) as virtual:
        assert outcome(virtual, power) == expected


def test_every_power_is_called() -> None:
    """No row of the table is left out."""
    assert sorted({row.power for row in OPERATIONS} - CALLS.keys()) == []
