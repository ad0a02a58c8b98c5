"""What a broker has and says of itself, asked once before it is judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fakebroker.client.requesting import Flow, Requesting
from fakebroker.protocol.errors import FakebrokerError, Unavailable
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.conformance.access import Access, LimitedDriver, check_login, served_versions

_SURVEY_S = 30
_BROKER_RESOURCE = 4


@dataclass(frozen=True)
class Survey:
    """What a broker serves and has.

    Attributes:
        versions: API name -> (lowest, highest), as ApiVersions says.
        nodes: The ids of the brokers that Metadata lists.
        settings: What DescribeConfigs shows of the first one, by name; empty if it is not served.
        topics: The topics that are there, but for internal ones.
        internal_topics: Those that brokers keep for themselves.
        groups: The groups that are there, of all kinds.
    """

    versions: Mapping[str, tuple[int, int]]
    nodes: tuple[int, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()
    internal_topics: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether no client has left anything there."""
        return not self.topics and not self.groups

    def serves(self, api_name: str, version: int) -> bool:
        """Whether ApiVersions lists this version."""
        lowest, highest = self.versions.get(api_name, (0, -1))
        return lowest <= version <= highest


class Asking(Requesting):
    """A client that asks one broker, each request in the newest version that both speak."""

    def __init__(self, access: Access, limit_s: float = _SURVEY_S) -> None:
        super().__init__("fakebroker-conformance")
        self._driver = LimitedDriver(access, limit_s)
        self._is_open = False

    def get(self, api_name: str, version: int | None = None, /, **fields: Any) -> Any:
        """Ask, and wait for the answer. Raises FakebrokerError, OSError."""
        return self.run(self.request(api_name, version, **fields))

    def run(self, flow: Flow[Any]) -> Any:
        """Take a step. Raises FakebrokerError, OSError."""
        if not self._is_open or self.connection.closed_reason is not None:
            self.begin_connection()
            self._driver.open(self.connection)
            self._is_open = True
        return self._driver.run(self.connection, flow)

    def close(self) -> None:
        """Close its connection."""
        self._driver.close_all()


def survey_before_login(access: Access) -> Survey:
    """What a broker tells clients that have not logged in: the versions that it serves. Raises Unavailable."""
    served = served_versions(access)
    return Survey({APIS[key].name: between for key, between in served.items() if key in APIS}, nodes=(1,))


def survey(access: Access) -> Survey:
    """Ask a broker what it has. Raises Unavailable if none answers there, or what it needs is not given."""
    served = served_versions(access)
    versions = {APIS[key].name: between for key, between in served.items() if key in APIS}
    check_login(access)
    asking = Asking(access)
    try:
        metadata = asking.get("Metadata", 1, topics=None)
        nodes = tuple(sorted(broker.node_id for broker in metadata.brokers))
        if not nodes:
            raise Unavailable(f"{access} lists no brokers in Metadata")
        internal = {topic.name for topic in metadata.topics if topic.is_internal or topic.name.startswith("__")}
        names = {topic.name for topic in metadata.topics}
        return Survey(
            versions,
            nodes,
            _settings(asking, nodes) if ApiKey.DESCRIBE_CONFIGS in served else {},
            frozenset(names - internal),
            frozenset(internal),
            groups_of(asking) if ApiKey.LIST_GROUPS in served else frozenset(),
        )
    finally:
        asking.close()


def groups_of(asking: Asking) -> frozenset[str]:
    """The groups that the broker lists."""
    return frozenset(group.group_id for group in asking.get("ListGroups").groups)


def _settings(asking: Asking, nodes: tuple[int, ...]) -> dict[str, str]:
    """The settings of the first broker; none where it may not be asked."""
    try:
        resource = {"resource_type": _BROKER_RESOURCE, "resource_name": str(nodes[0]), "configuration_keys": None}
        answer = asking.get("DescribeConfigs", resources=[resource])
    except (FakebrokerError, OSError):
        return {}
    return {each.name: each.value for result in answer.results for each in result.configs if each.value is not None}
