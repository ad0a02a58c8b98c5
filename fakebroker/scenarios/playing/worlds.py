"""Where a scenario is played: on a broker in virtual time, or on a running one in real time.

The player asks a world for connections and for time that passes (its driver), and for the powers of a broker. Only our
own brokers have them all; a real Kafka (`kafka_world.py`) is a world without a `broker`, whose `powers` are few.
"""

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, cast

from fakebroker.broker.engine.connection_state import PARKED
from fakebroker.client.cluster.links import addresses_of
from fakebroker.client.connection import ClientConnection
from fakebroker.client.scripted.driver import Driver
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.script import Scenario, Step
from fakebroker.testing.virtual_broker import VirtualBroker

if TYPE_CHECKING:
    from fakebroker.testing.handles.broker_control import BrokerControl
    from fakebroker.testing.literals import Profile, ReleaseName

POLL_MS = 5
TAKEN_WITHIN_S = 0.1
_LOOPBACK = "localhost"  # IPv4 or IPv6: wherever a listener at every address is reached


class RunningBroker(Protocol):
    """A FakeBroker, or what stands for one in another thread."""

    @property
    def bootstrap(self) -> str:
        """Its addresses, as clients call them."""

    @property
    def errors(self) -> list[Exception]:
        """Its internal errors."""


class World(Protocol):
    """One place to play a scenario, once."""

    name: str
    driver: Driver
    poll_ms: int | None  # how often is looked for what no client sees; None in virtual time: at each thing that happens

    @property
    def broker(self) -> "BrokerControl | None":
        """The broker, where it is one of ours."""

    @property
    def powers(self) -> Any:
        """The object model, or the part of it that there is."""

    @property
    def wall_ms(self) -> int:
        """The broker's time of day."""

    @property
    def errors(self) -> list[Exception]:
        """What went wrong inside the broker: bugs of ours."""

    def why_not(self, step: Step) -> str | None:
        """Why a step cannot be taken here; None if it can."""

    def address_of(self, node_id: int) -> Address:
        """Where clients reach a node. Raises UnknownThing for one that does not exist."""

    def first_addresses(self, count: int) -> list[Address]:
        """Where clients reach the first nodes."""

    def create_topic(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Create a topic before the timeline begins."""

    def close(self) -> None:
        """Close every connection that was opened here."""


class WorldWithBroker:
    """What worlds with a broker of ours share."""

    broker: "BrokerControl"

    @property
    def powers(self) -> "BrokerControl":
        """All of them."""
        return self.broker

    def why_not(self, step: Step) -> str | None:  # noqa: ARG002 - other worlds need it
        """Everything can be done here."""
        return None

    def address_of(self, node_id: int) -> Address:
        """Where clients reach a node. Raises UnknownThing for one that does not exist."""
        return self.broker.node(node_id).address

    def first_addresses(self, count: int) -> list[Address]:
        """Where clients reach the first nodes."""
        return [node.address for node in self.broker.nodes[:count]]

    def create_topic(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Create a topic; one that is there already stays."""
        if not self.broker.topic(name).exists:
            self.broker.create_topic(name, **arguments)


class VirtualWorld(WorldWithBroker):
    """A broker of the scenario's own, in virtual time: nothing waits, and every play is the same."""

    name = "virtual time"
    poll_ms: int | None = None

    def __init__(self, scenario: Scenario) -> None:
        """Raises SettingError, UnknownRelease and InvalidArgument for a broker that cannot be."""
        self._virtual = VirtualBroker(
            nodes=scenario.nodes,
            racks=scenario.racks,
            config=scenario.config,
            users=scenario.users,
            acls=scenario.acls,
            seed=scenario.seed,
            profile=cast("Profile", scenario.profile),  # both are checked there
            as_release=cast("ReleaseName", scenario.release),
        )
        self.broker: BrokerControl = self._virtual
        self.driver: Driver = self._virtual.driver

    @property
    def wall_ms(self) -> int:
        """The broker's time of day."""
        return self.driver.wall_ms

    @property
    def errors(self) -> list[Exception]:
        """What went wrong inside the broker: bugs of ours."""
        return self._virtual.errors

    def close(self) -> None:
        """Close every connection."""
        self.driver.close_all()


class BrokerDriver(TcpDriver):
    """Over TCP to a broker of ours, which has taken each request before the next is sent.

    A scenario's steps have an order, but a broker reads each connection when it comes to it. So each request is
    followed by its answer, or until it waits at the broker, or by TAKEN_WITHIN_S where its node stands still.
    """

    def __init__(self, address: Address, broker: "BrokerControl") -> None:
        super().__init__(*address)
        self._broker = broker

    def open(self, client: ClientConnection, address: Address | None = None) -> None:
        """Connect `client` where the broker listens. Raises OSError if none of its listeners is reached at `address`.

        An answer names the address that is advertised, as far as that is from here: perhaps one of another network.
        """
        super().open(client, None if address is None else self._local(address))

    def _local(self, address: Address) -> Address:
        local = {
            each: Address(_LOOPBACK if each.is_everywhere else each.host, each.port)
            for each in self._broker._engine.listeners
        }
        for is_meant in (
            lambda listener: listener.advertised == address,
            lambda listener: local[listener] == address,
            lambda listener: listener.port == address.port,
        ):
            for listener in filter(is_meant, local):
                return local[listener]
        raise OSError(f"the broker does not listen at {address}, only at {', '.join(map(str, local.values()))}")

    def flush(self, client: ClientConnection) -> None:
        """Send what `client` has queued; answers that the broker gives at once are received before this returns."""
        port = self.local_port(client)
        super().flush(client)
        end_s = monotonic() + TAKEN_WITHIN_S
        while client.pending and not self._broker._call(lambda: self._waits(port)) and monotonic() < end_s:
            self.pass_time(1, lambda: not client.pending)

    def _waits(self, client_port: int | None) -> bool:
        """Whether a request of the connection from this port waits; called where the engine runs."""
        connections = self._broker._engine.connections.values()
        return any(each.peer.client_port == client_port and each.state is PARKED for each in connections)


class BrokerWorld(WorldWithBroker):
    """A broker that runs, over TCP and in real time, perhaps with other clients. It is not stopped at the end.

    Its internal errors are its owner's: it raises them when it is stopped.
    """

    name = "a running broker"
    poll_ms: int | None = POLL_MS

    def __init__(self, broker: "RunningBroker") -> None:
        """`broker` is a FakeBroker that runs, or the like."""
        self.broker: BrokerControl = broker  # type: ignore[assignment]
        self.driver: Driver = BrokerDriver(addresses_of(broker.bootstrap)[0], self.broker)

    @property
    def wall_ms(self) -> int:
        """The broker's time of day."""
        return self.broker.clock.now_ms

    @property
    def errors(self) -> list[Exception]:
        """None of the player's."""
        return []

    def close(self) -> None:
        """Close the connections of the actors."""
        self.driver.close_all()
