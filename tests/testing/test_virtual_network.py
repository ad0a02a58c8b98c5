"""Faults of requests and of nodes' networks: in virtual time clients meet what they meet over TCP."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.client.connection import ConnectionLost
from fakebroker.client.scripted.scripted_client import PendingStep, ScriptedClient
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.testing.virtual_broker import VirtualBroker

Broker = FakeBroker | VirtualBroker
MOMENT_MS = 60
LONG_MS = 1_000  # a busy machine is late
WAITS, LOST, REFUSED = "waits", "lost", "refused"


def heartbeat(client: ScriptedClient) -> PendingStep[Any]:
    """A Heartbeat on its way; its group does not know the member: 25."""
    request = client.steps.request("Heartbeat", group_id="billing", member_id="nobody", generation_id=1)
    return client.start(request)


def outcome(step: PendingStep[Any], ms: int = MOMENT_MS) -> object:
    """What has come of a step after a moment: its error code, or that the connection was lost, or nothing yet."""
    clients = step._client.clients
    clients.wait(step, ms / 1000)
    if not step.is_done:
        return WAITS
    try:
        return step.result().error_code
    except ConnectionLost:
        return LOST
    except FakebrokerError as error:
        return type(error).__name__


def connected(broker: Broker, name: str) -> ScriptedClient:
    """A client that has asked something: its versions are settled."""
    client = broker.client(name, node_id=node_of(broker))
    client.request("Heartbeat", group_id="billing", member_id="nobody", generation_id=1)
    return client


def node_of(broker: Broker) -> int:
    """The node that all stories are about: the group's coordinator, whoever it is later."""
    return 1 if len(broker.nodes) == 1 else broker.coordinator("billing").node_id


def connecting(broker: Broker, node_id: int) -> object:
    """What comes of a connection and its first request."""
    try:
        client = broker.client("new", {"Heartbeat": 4}, node_id)
    except ConnectionRefusedError:
        return REFUSED
    return outcome(heartbeat(client))


FAULTS: dict[str, dict[str, Any]] = {
    "error": {"error": "NOT_COORDINATOR"},
    "delay": {"delay_s": 0.5},
    "delay of the answer": {"delay_s": 0.5, "after": "applied"},
    "disconnect": {"action": "disconnect"},
    "disconnect after": {"action": "disconnect", "after": "applied"},
    "drop-answer": {"action": "drop-answer"},
    "stall-reading": {"action": "stall-reading", "for_s": 0.15},
    "stall-reading before": {"action": "stall-reading", "for_s": 0.15, "after": "received"},
    "answer-twice": {"action": "answer-twice"},
    "truncate": {"action": "truncate", "bytes": 6},
    "corrupt": {"action": "corrupt", "offset": 5},
    "slow": {"action": "slow", "bytes_per_s": 100},
    "throttle": {"throttle_ms": 100},
}


def faulted(broker: Broker, fields: dict[str, Any]) -> list[object]:
    """A request that the fault hits, at once and later, the next on that connection, and on another."""
    a, b = connected(broker, "a"), connected(broker, "b")
    fault = broker.fault(api="Heartbeat", client_id="a", times=1, **fields)
    first = heartbeat(a)
    seen = [outcome(first)]
    second = heartbeat(a)
    seen += [outcome(heartbeat(b)), outcome(first, LONG_MS), outcome(second, LONG_MS), outcome(heartbeat(a), LONG_MS)]
    return [*seen, fault.hits, len(broker.journal.requests(api="Heartbeat", client_id="a"))]


def unreachable(broker: Broker) -> list[object]:
    """Everything waits, and arrives when it is healed."""
    a, node = connected(broker, "a"), broker.node(node_of(broker))
    fault = node.unreachable()
    asked, other = heartbeat(a), broker.client("b", {"Heartbeat": 4}, node.node_id)
    waiting = heartbeat(other)
    seen = [outcome(asked), outcome(waiting), node.network, len(broker.journal.requests(client_id="b"))]
    fault.heal()
    return [*seen, outcome(asked), outcome(waiting), node.network]


def isolated(broker: Broker) -> list[object]:
    """Clients of it wait; it serves them when it is healed."""
    a, node = connected(broker, "a"), broker.node(node_of(broker))
    node.isolate()
    asked = heartbeat(a)
    seen = [outcome(asked), connecting(broker, node.node_id), node.network]
    node.heal()
    return [*seen, outcome(asked), connecting(broker, node.node_id)]


def refusing(broker: Broker) -> list[object]:
    """Who is there goes on, others are refused."""
    a, node = connected(broker, "a"), broker.node(node_of(broker))
    with node.refuse_connects():
        seen = [outcome(heartbeat(a)), connecting(broker, node.node_id), node.network]
    return [*seen, outcome(heartbeat(a)), connecting(broker, node.node_id)]


def half_open(broker: Broker) -> list[object]:
    """Bytes of those who were there vanish; healed, their connections are reset."""
    a, node = connected(broker, "a"), broker.node(node_of(broker))
    node.half_open()
    asked = heartbeat(a)
    seen = [outcome(asked), connecting(broker, node.node_id)]
    node.heal()
    return [*seen, outcome(asked), outcome(heartbeat(a)), connecting(broker, node.node_id)]


def half_open_and_left(broker: Broker) -> list[object]:
    """A client that closes is not noticed before it is healed."""
    a, node = connected(broker, "a"), broker.node(node_of(broker))
    node.half_open()
    a.close()
    seen: list[object] = [outcome(heartbeat(connected(broker, "b"))), ends(broker)]
    node.heal()
    return [*seen, outcome(heartbeat(connected(broker, "c"))), ends(broker)]


def left_without_a_word(broker: Broker) -> list[object]:
    """A client that has said nothing is not heard to leave, either."""
    node = broker.node(node_of(broker))
    silent = broker.client("silent", node_id=node.node_id)
    seen: list[object] = [outcome(heartbeat(connected(broker, "a")))]
    node.unreachable()
    silent.close()
    seen += [outcome(heartbeat(broker.client("b", node_id=node.node_id))), ends(broker)]
    node.heal()
    return [*seen, outcome(heartbeat(connected(broker, "c"))), ends(broker)]


def ends(broker: Broker) -> int:
    """How many connections have ended."""
    return len(broker.journal.events("disconnected"))


def frozen(broker: Broker) -> list[object]:
    """Requests of connections old and new wait for the thaw, also of a client that has gone meanwhile."""
    a, node = connected(broker, "a"), broker.node(node_of(broker))
    b = connected(broker, "b")
    node.freeze()
    asked, gone = heartbeat(a), heartbeat(b)
    b.close()
    seen = [outcome(asked), outcome(gone), connecting(broker, node.node_id), node.state]
    seen.append(len(broker.journal.requests(client_id="b")))
    node.thaw()
    return [*seen, outcome(asked), len(broker.journal.requests(client_id="b")), connecting(broker, node.node_id)]


def killed(broker: Broker) -> list[object]:
    """Connections end, others are refused until it is started; who waited to be accepted is lost, too."""
    a, node = connected(broker, "a"), broker.node(node_of(broker))
    node.unreachable()
    waiting = heartbeat(broker.client("b", {"Heartbeat": 4}, node.node_id))
    seen = [outcome(waiting)]
    node.kill()
    seen += [outcome(waiting), outcome(heartbeat(a)), connecting(broker, node.node_id)]
    node.heal()
    node.start()
    return [*seen, connecting(broker, node.node_id), node.state, node.network]


def stopped(broker: Broker) -> list[object]:
    """As it is killed, but that parked requests are answered first."""
    a, node = connected(broker, "a"), broker.node(node_of(broker))
    b = connected(broker, "b")
    broker.group("billing").hold_joins(until_members=2)
    join = b.start(b.steps.join("billing", ["orders"]))
    seen = [outcome(join)]
    node.stop()
    seen += [outcome(join), outcome(heartbeat(a)), connecting(broker, node.node_id)]
    node.restart()
    return [*seen, connecting(broker, node.node_id)]


def begun_anew(broker: Broker) -> list[object]:
    """A reset and a restore end every connection, and everything that is wrong; a node that was added goes with it."""
    a, node = connected(broker, "a"), broker.node(1)
    snapshot = broker.snapshot()
    node.unreachable()
    added = broker.add_node()
    seen = [outcome(heartbeat(connected(broker, "b"))) if node_of(broker) != 1 else 25]
    broker.reset()
    seen += [outcome(heartbeat(a)), connecting(broker, 1), len(broker.nodes), node.network]
    broker.restore(snapshot)
    return [*seen, connecting(broker, 1), len(broker.nodes), added.node_id]


STORIES: list[Callable[[Broker], list[object]]] = [
    unreachable,
    isolated,
    refusing,
    half_open,
    half_open_and_left,
    left_without_a_word,
    frozen,
    killed,
    stopped,
    begun_anew,
]


def on_both(play: Callable[[Broker], list[object]], nodes: int) -> tuple[list[object], list[object]]:
    """What comes of a story in virtual time, and over TCP."""
    with VirtualBroker(nodes=nodes, seed=5) as virtual:
        found = play(virtual)
    with FakeBroker(nodes=nodes, seed=5) as broker:
        return found, play(broker)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_requests_is_as_over_tcp(name: str) -> None:
    """Its client gets the same, and so do others."""
    virtual, real = on_both(lambda broker: faulted(broker, FAULTS[name]), 1)
    assert virtual == real


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_fault_of_the_network_is_as_over_tcp(story: Callable[[Broker], list[object]]) -> None:
    """Bytes wait, vanish or are refused alike."""
    virtual, real = on_both(story, 2)
    assert virtual == real
    assert len(set(map(str, virtual))) > 1
