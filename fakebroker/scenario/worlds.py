"""Where a scenario is played: on a broker in virtual time, or on a running one in real time.

The player asks a world for connections and for time that passes (its driver), and for the powers of a broker, which
only our own has. A real Kafka is a world without powers (`kafka_world.py`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from fakebroker.listeners import Address
from fakebroker.scenario.script import Scenario, Step
from fakebroker.testclient.driver import Driver

if TYPE_CHECKING:
    from fakebroker.broker import FakeBroker
    from fakebroker.handles.powers import Powers

POLL_MS = 5


class World(Protocol):
    """One place to play a scenario."""

    name: str
    driver: Driver
    broker: "Powers | None"
    poll_ms: int | None  # how often in real time is looked for what no client is told; None: whenever something happens

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

    def create_topic(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Create a topic before the timeline begins; one that is there already stays."""

    def ask(self, subject: str, identity: Mapping[str, Any], names: list[str]) -> Mapping[str, Any] | None:
        """Where `broker` is None: the properties of what an expectation is about; None if they cannot be asked for."""

    def close(self) -> None:
        """Close every connection that was opened here."""


class _WithBroker:
    """What worlds with a broker of ours share."""

    poll_ms: int | None
    broker: "Powers"

    def why_not(self, step: Step) -> str | None:  # noqa: ARG002 - other worlds need it
        """Everything can be done here."""
        return None

    def address_of(self, node_id: int) -> Address:
        """Where clients reach a node. Raises UnknownThing for one that does not exist."""
        return self.broker.node(node_id).address

    def create_topic(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Create a topic; one that is there already stays."""
        if not self.broker.topic(name).exists:
            self.broker.create_topic(name, **arguments)

    def ask(self, subject: str, identity: Mapping[str, Any], names: list[str]) -> Mapping[str, Any] | None:  # noqa: ARG002
        """The handles of the broker tell."""
        return None


class VirtualWorld(_WithBroker):
    """A broker of the scenario's own, in virtual time: nothing waits, and every play is the same."""

    name = "virtual time"
    poll_ms = None

    def __init__(self, scenario: Scenario) -> None:
        try:
            from fakebroker.scenario.virtual_broker import VirtualBroker
        except ImportError:
            from fakebroker.scenario.engine_broker import VirtualBroker  # until there is the other

        self._virtual = VirtualBroker(
            nodes=scenario.nodes,
            racks=scenario.racks,
            config=scenario.config,
            seed=scenario.seed,
            profile=scenario.profile,
            as_release=scenario.release,
        )
        self.broker = self._virtual
        self.driver: Driver = self._virtual.driver

    @property
    def wall_ms(self) -> int:
        """The broker's time of day."""
        return self.driver.wall_ms

    @property
    def errors(self) -> list[Exception]:
        """What went wrong inside the broker: bugs of ours."""
        errors: list[Exception] = self._virtual.errors
        return errors

    def close(self) -> None:
        """Close every connection."""
        self.driver.close_all()


class BrokerWorld(_WithBroker):
    """A broker that runs, over TCP and in real time, perhaps with other clients. It is not stopped at the end."""

    name = "a running broker"
    poll_ms = POLL_MS

    def __init__(self, broker: "FakeBroker") -> None:
        from fakebroker.testclient.tcp_driver import TcpDriver

        host, _, port = broker.bootstrap.partition(",")[0].rpartition(":")
        self._running = broker
        self.broker = broker
        self.driver: Driver = TcpDriver(host.strip("[]"), int(port))

    @property
    def wall_ms(self) -> int:
        """The broker's time of day."""
        return self.broker.clock.now_ms

    @property
    def errors(self) -> list[Exception]:
        """What went wrong inside the broker: bugs of ours; it raises them again when it is stopped."""
        return self._running.errors

    def close(self) -> None:
        """Close the connections of the actors."""
        self.driver.close_all()
