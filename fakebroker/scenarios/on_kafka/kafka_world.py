"""A Kafka that runs somewhere, as a place to play scenarios: real time, no powers but those of the protocol."""

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.connection import ClientConnection
from fakebroker.client.scripted.driver import Driver
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import UnknownThing
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.on_kafka.kafka_powers import CLIENT_ID, RETRIES, RETRY_MS, KafkaPowers
from fakebroker.scenarios.on_kafka.kafka_steps import LONGEST_PASS_MS, Versions, why_not
from fakebroker.scenarios.script import ClientStep, Scenario, Step, steps_in
from fakebroker.testing.releases import RELEASES, Settings, release

if TYPE_CHECKING:
    from fakebroker.testing.handles.broker_control import BrokerControl

# A request that has no answer after this time waits at the coordinator; the next step may rely on it.
PARKED_MS = 250
POLL_MS = 100
_JOINS = frozenset({"join", "rejoin", "consume"})
_INITIAL_DELAY = "group.initial.rebalance.delay.ms"
_MIN_SESSION = "group.min.session.timeout.ms"
_SESSION_MS = 45_000  # of a scripted client's join, unless a step says otherwise


class KafkaDriver(TcpDriver):
    """A driver that gives the broker the time to take one request before the next is sent.

    A scenario's steps have an order, but Kafka reads each connection when it comes to it. So each request is followed
    by its answer, or by PARKED_MS in which none came.
    """

    def flush(self, client: ClientConnection) -> None:
        """Send what `client` has queued, and let time pass until it is answered or surely waits."""
        super().flush(client)
        self.pass_time(PARKED_MS, lambda: not client.pending)


class KafkaWorld:
    """One Kafka, for one play: a world without a broker of ours. `powers` are those that there are.

    Raises ClusterError if there is no Kafka that lets us in.
    """

    def __init__(self, kafka: ClientConfig, longest_pass_ms: int = LONGEST_PASS_MS) -> None:
        self.name = f"Kafka at {kafka.bootstrap}"
        with ClusterClient(kafka.bootstrap, security=kafka.security, client_id=CLIENT_ID) as cluster:
            self.driver: Driver = KafkaDriver.secured(cluster.reached(), kafka.security)
        self.broker: BrokerControl | None = None
        self.powers = KafkaPowers(
            ClusterClient(driver=self.driver, client_id=CLIENT_ID, retries=RETRIES, retry_pause_ms=RETRY_MS)
        )
        self.poll_ms: int | None = POLL_MS
        self.errors: list[Exception] = []  # bugs of ours; there are none in a Kafka
        self._longest_pass_ms = longest_pass_ms
        self.versions: Versions = self.powers.versions()

    @property
    def wall_ms(self) -> int:
        """The time of day here; the Kafka's is the same if it runs on this machine."""
        return self.driver.wall_ms

    def address_of(self, node_id: int) -> Address:
        """Where the broker is that stands at this place in the cluster, counted from 1. Raises UnknownThing."""
        addresses = self.powers.addresses()
        if not 1 <= node_id <= len(addresses):
            raise UnknownThing("node_id", node_id, f"there is no node {node_id}: this Kafka has {len(addresses)}")
        return addresses[node_id - 1]

    def first_addresses(self, count: int) -> list[Address]:
        """Where the first brokers are."""
        return self.powers.addresses()[:count]

    def create_topic(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Create a topic and wait until it can be used. Raises KafkaError for one that is rejected, or there."""
        self.powers.create_topic(name, **arguments)

    def why_not(self, step: Step) -> str | None:
        """Why the step cannot be taken here; None if it can."""
        return why_not(step, self.versions, self._longest_pass_ms)

    @property
    def release(self) -> str:
        """The release of Kafka that advertises these versions, or as many of them as any."""
        return release_with(self.versions)

    def why_not_at_all(self, scenario: Scenario) -> str | None:
        """Why the scenario is none for this Kafka: its release, its brokers, its users, its settings. None if it is."""
        return (
            self._other_users(scenario)
            or self._other_rights(scenario)
            or self._other_release(scenario)
            or self._other_cluster(scenario)
            or self._other_settings(scenario)
            or self._pinned(scenario)
        )

    def prepare(self, scenario: Scenario) -> None:
        """Wait for coordinators, those of transactions only if there are any, and producer ids. Raises ClusterError."""
        has_transactions = _has_transactions(scenario) and ApiKey.DESCRIBE_TRANSACTIONS in self.versions
        self.powers.prepare(scenario.name, transactions=has_transactions)

    def close(self) -> None:
        """Close every connection."""
        self.driver.close_all()

    def _other_users(self, scenario: Scenario) -> str | None:
        if not scenario.users and all(actor.credentials is None for actor in scenario.actors.values()):
            return None
        return "its actors log in, and a real Kafka has its own users"

    def _other_rights(self, scenario: Scenario) -> str | None:
        return None if scenario.acls is None else "it declares ACLs, and a real Kafka has its own"

    def _other_release(self, scenario: Scenario) -> str | None:
        wanted = release(scenario.release).name
        if wanted in (self.release, RELEASES[-1]):
            return None
        return f"it needs Kafka {wanted}; this one is {self.release}"

    def _other_cluster(self, scenario: Scenario) -> str | None:
        """An actor talks to the node that the scenario names; of many nodes it may neither lead nor coordinate."""
        nodes = len(self.powers.node_ids())
        if nodes == scenario.nodes:
            return None
        return f"it needs {scenario.nodes} broker{'s' if scenario.nodes > 1 else ''}; this Kafka has {nodes}"

    def _other_settings(self, scenario: Scenario) -> str | None:
        wanted = settings_of(scenario)
        there = self.powers.settings(list(wanted))
        other = {name: value for name, value in wanted.items() if name in there and there[name] != value}
        if not other:
            return None
        texts = [f"{name}={value} (it has {there[name]})" for name, value in other.items()]
        return f"the Kafka must be started with {', '.join(texts)}"

    def _pinned(self, scenario: Scenario) -> str | None:
        for actor in scenario.actors.values():
            for name, version in actor.versions.items():
                lowest, highest = self.versions.get(api(name).key, (0, -1))
                if not lowest <= version <= highest:
                    return f"{actor.name} speaks {name} v{version}; this Kafka serves v{lowest}-{highest}"
        return None


def settings_of(scenario: Scenario) -> dict[str, str]:
    """The broker settings that a scenario depends on, as Kafka writes them: its own, and its profile's if they count.

    The initial rebalance delay counts where somebody joins, the least session timeout where one is shorter.
    """
    settings = Settings(scenario.config, profile=scenario.profile)
    names = dict.fromkeys(scenario.config)
    joins = [step for step in steps_in(scenario.timeline) if isinstance(step, ClientStep) and step.verb in _JOINS]
    if joins:
        names[_INITIAL_DELAY] = None
    min_session_ms = Settings().get_int(_MIN_SESSION)
    if any(_session_ms(step.arguments) < min_session_ms for step in joins):
        names[_MIN_SESSION] = None
    return {name: _text(settings.value(name)) for name in names}


def release_with(versions: Versions) -> str:
    """The release whose versions are most like these; the newest of several."""
    known: Mapping[str, Mapping[int, tuple[int, int]]] = {name: release(name).versions for name in RELEASES}

    def likeness(name: str) -> int:
        return sum(versions.get(key) == served for key, served in known[name].items())

    return max(reversed(RELEASES), key=likeness)


def fresh_suffix() -> str:
    """What makes the names of one play its own: no earlier one on the same Kafka had it."""
    return f".{uuid.uuid4().hex[:8]}"


def _has_transactions(scenario: Scenario) -> bool:
    """Whether an actor becomes a transactional producer."""
    steps = [step for step in steps_in(scenario.timeline) if isinstance(step, ClientStep)]
    return any(step.verb == "init_producer_id" and step.arguments.get("transactional_id") for step in steps)


def _session_ms(arguments: Mapping[str, Any]) -> int:
    value = arguments.get("session_timeout_ms", _SESSION_MS)
    return value if isinstance(value, int) else _SESSION_MS


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
