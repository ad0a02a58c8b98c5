"""Whatever goes wrong with nodes and networks, in any order: nothing is left unanswered when all is well again."""

from time import monotonic
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker import FakeBroker
from fakebroker.broker.engine.journal import Connected, Disconnected
from fakebroker.client.connection import ConnectionLost
from fakebroker.client.scripted.scripted_client import PendingStep, ScriptedClient
from fakebroker.protocol.errors import ErrorCode
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.chance import examples

NODES = 2
NODE_POWERS = (
    *("stop", "start", "kill", "restart", "freeze", "thaw"),
    *("unreachable", "isolate", "refuse_connects", "half_open", "heal"),
)
ENDS = ("connected", "disconnected")
ARRIVES_MS, ARRIVES_S = 4, 5.0
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(NODE_POWERS), st.integers(1, NODES)),
        st.tuples(st.just("connect"), st.integers(1, NODES)),
        st.tuples(st.sampled_from(["ask", "leave"]), st.integers(0, 5)),
        st.tuples(st.just("pass"), st.integers(0, 20_000)),
        st.tuples(st.sampled_from(["reset", "restore", "broker stop", "broker start"]), st.just(0)),
    ),
    max_size=25,
)


class World:
    """A broker in virtual time, some clients, and what they have asked."""

    def __init__(self, broker: VirtualBroker | FakeBroker | None = None) -> None:
        self.broker = broker or VirtualBroker(nodes=NODES, seed=2)
        self.snapshot = self.broker.snapshot()
        self.clients: list[ScriptedClient] = []
        self.asked: list[PendingStep[Any]] = []

    def do(self, what: str, number: int) -> None:
        """One step."""
        if what == "connect":
            self.connect(number)
        elif what == "pass":
            self.pass_ms(number)
        elif what in ("ask", "leave"):
            self.with_client(what, number)
        elif what == "restore":
            self.broker.restore(self.snapshot)
        elif what == "reset":
            self.broker.reset()
        elif what == "broker stop":
            self.broker.stop()
            self.clients.clear()
        elif what == "broker start":
            self.broker.start()
        else:
            getattr(self.broker.node(number), what)()

    def connect(self, node_id: int) -> None:
        """A new client, unless it is refused."""
        node = self.broker.node(node_id)
        is_refused = node.state in ("stopped", "killed") or "refuses connects" in node.network
        try:
            client = self.broker.client("a", {"Heartbeat": 4}, node_id)
        except ConnectionRefusedError:
            assert is_refused or not self.broker.is_running
        else:
            assert self.broker.is_running
            assert not is_refused
            self.clients.append(client)

    def with_client(self, what: str, number: int) -> None:
        """A client asks something, or goes away."""
        if not self.clients:
            return
        client = self.clients[number % len(self.clients)]
        if what == "leave":
            client.close()
            self.clients.remove(client)
        else:
            request = client.steps.request("Heartbeat", group_id="g", member_id="m", generation_id=1)
            self.asked.append(client.start(request))

    def mend(self) -> None:
        """All is well again."""
        self.broker.start()
        for node in self.broker.nodes:
            node.heal()
            node.thaw()
            node.start()
        self.pass_ms(20_000)

    def pass_ms(self, ms: int) -> None:
        """Time passes; in real time not much is needed for what was sent to arrive."""
        if isinstance(self.broker, VirtualBroker):
            self.broker.pass_time(ms=ms)
        elif (clients := self.broker._scripted_clients) is not None:
            clients.driver.pass_time(ARRIVES_MS)
            clients.advance()

    def seen(self) -> list[object]:
        """What clients know, and what the broker does."""
        return [
            [outcome(each) for each in self.asked],
            [(node.state, node.network) for node in self.broker.nodes],
            [connection_ids(self.broker, kind) for kind in ENDS],
            len(self.broker.journal.requests()),
        ]


def connection_ids(broker: VirtualBroker | FakeBroker, kind: str) -> list[int]:
    """Of which connections the journal says that, in order of their ids."""
    events = [each.event for each in broker.journal.events(kind)]
    return sorted(event.peer.connection_id for event in events if isinstance(event, Connected | Disconnected))


def outcome(step: PendingStep[Any]) -> object:
    """What has come of a request."""
    if not step.is_done:
        return "waits"
    try:
        return step.result().error_code
    except ConnectionLost:
        return "lost"


@examples(150)
@given(STEPS)
def test_every_request_comes_to_an_end(steps: list[tuple[str, int]]) -> None:
    """It is answered, or its client knows that the connection is gone. The journal has each connection's end once."""
    world = World()
    for step in steps:
        world.do(*step)
    world.mend()

    assert [each for each in world.asked if not each.is_done] == []
    world.connect(1)
    world.with_client("ask", len(world.clients) - 1)
    assert world.asked[-1].result().error_code in (0, ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_MEMBER_ID)
    begun, ended = (connection_ids(world.broker, kind) for kind in ENDS)
    assert len(set(ended)) == len(ended)
    assert set(begun) - set(ended) == world.broker._engine.connections.keys()
    world.broker.stop()


@examples(30)
@given(STEPS)
def test_the_same_steps_are_the_same_story(steps: list[tuple[str, int]]) -> None:
    """Every line of the journal is the same in a second run."""
    rows = []
    for _ in range(2):
        world = World()
        for step in steps:
            world.do(*step)
        rows.append(list(world.broker.journal.rows()))
    assert rows[0] == rows[1]


@examples(15)
@given(STEPS)
def test_the_same_steps_over_tcp(steps: list[tuple[str, int]]) -> None:
    """After each step clients know the same, and the broker does the same."""
    steps = [(what, number) for what, number in steps if what != "pass"]  # real time is not to be waited for
    virtual = World()
    with FakeBroker(nodes=NODES, seed=2) as broker:
        real = World(broker)
        for step in steps:
            virtual.do(*step)
            real.do(*step)
            until_s = monotonic() + ARRIVES_S
            while (seen := real.seen()) != virtual.seen() and monotonic() < until_s:
                real.pass_ms(ARRIVES_MS)
            assert seen == virtual.seen(), step
