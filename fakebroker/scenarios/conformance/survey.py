"""What a broker has and says of itself, asked once before it is judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fakebroker.client.cluster.errors import ClusterError
from fakebroker.protocol.errors import Unavailable
from fakebroker.scenarios.conformance.access import Access, BrokerClient

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


def survey_before_login(access: Access) -> Survey:
    """What a broker tells clients that have not logged in: the versions that it serves. Raises ClusterError."""
    with BrokerClient(access) as client:
        return Survey(client.served(), nodes=(1,))


def survey(access: Access) -> Survey:
    """Ask a broker what it has. Raises Unavailable if none answers there, or it wants TLS or a login."""
    with BrokerClient(access) as client:
        versions = client.served()
        metadata = client.get("Metadata", 1, topics=None)
        nodes = tuple(sorted(broker.node_id for broker in metadata.brokers))
        if not nodes:
            raise Unavailable(f"{access.address} lists no brokers in Metadata")
        internal = {topic.name for topic in metadata.topics if topic.is_internal or topic.name.startswith("__")}
        names = {topic.name for topic in metadata.topics}
        return Survey(
            versions,
            nodes,
            _settings(client, nodes) if "DescribeConfigs" in versions else {},
            frozenset(names - internal),
            frozenset(internal),
            groups_of(client) if "ListGroups" in versions else frozenset(),
        )


def groups_of(client: BrokerClient) -> frozenset[str]:
    """The groups that the broker lists."""
    return frozenset(group.group_id for group in client.get("ListGroups").groups)


def _settings(client: BrokerClient, nodes: tuple[int, ...]) -> dict[str, str]:
    """The settings of the first broker; none where it may not be asked."""
    try:
        resource = {"resource_type": _BROKER_RESOURCE, "resource_name": str(nodes[0]), "configuration_keys": None}
        answer = client.get("DescribeConfigs", resources=[resource])
    except ClusterError:
        return {}
    return {each.name: each.value for result in answer.results for each in result.configs if each.value is not None}
