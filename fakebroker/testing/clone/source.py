"""What a clone asks a running Kafka for: cluster, settings, topics with their offsets, groups. It is only read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from fakebroker.broker.release import nearest_release
from fakebroker.client.cluster.cluster_client import EARLIEST, LATEST, ClusterClient
from fakebroker.client.cluster.topics import Topic, metadata_request
from fakebroker.protocol.errors import ErrorCode, error_name
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from fakebroker.protocol.wire.messages.list_groups import ListGroupsRequest
from fakebroker.testing.clone.options import CloneOptions
from fakebroker.testing.imported.settings import usable_settings

T = TypeVar("T")

_TOPIC, _BROKER, _GROUP = 2, 4, 32  # types of resources with settings
_TOPIC_SETTING, _BROKER_SETTING, _CLUSTER_SETTING, _STATIC_SETTING, _GROUP_SETTING = 1, 2, 3, 4, 8  # their sources
_AT_ONCE: Final = 500
DENIED: Final = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)


class ClusterFacts(NamedTuple):
    """What a clone takes over of the cluster; settings are those that differ from Kafka's defaults, as texts."""

    cluster_id: str
    release: str
    racks: dict[int, str | None]  # of each broker by its node id
    static: dict[str, str]  # settings that all brokers have in their files
    own: dict[int, dict[str, str]]  # those that not all brokers have, of the file or set at run time
    dynamic: dict[str, str]  # set at run time for the cluster

    @classmethod
    def from_json(cls, json: Any) -> "ClusterFacts":
        """The facts from a list of the fields' values, in which node ids are texts."""
        cluster_id, release, racks, static, own, dynamic = json
        return cls(cluster_id, release, _by_number(racks), static, _by_number(own), dynamic)


class ListedGroup(NamedTuple):
    """A group as ListGroups names it. `kind` is "classic" where the broker's versions know no kinds."""

    group_id: str
    protocol_type: str
    kind: str


class Source:
    """The Kafka that is cloned. `note` gets a sentence about what cannot be read."""

    def __init__(self, cluster: ClusterClient, options: CloneOptions, note: Callable[[str], None]) -> None:
        self.cluster = cluster
        self.options = options
        self.note = note

    def facts(self) -> ClusterFacts:
        """The cluster and its settings. Raises ClusterError."""
        metadata = self.cluster.ask(metadata_request(()))
        racks = {each.node_id: each.rack for each in sorted(metadata.brokers, key=lambda each: each.node_id)}
        found = {node_id: self._broker_settings(node_id) for node_id in racks}
        files = [settings.get(_STATIC_SETTING, {}) for settings in found.values()]
        shared = {name: value for name, value in files[0].items() if all(each.get(name) == value for each in files)}
        own = {
            node_id: {name: value for name, value in settings.get(_STATIC_SETTING, {}).items() if name not in shared}
            | settings.get(_BROKER_SETTING, {})
            for node_id, settings in found.items()
        }
        dynamic = next(iter(found.values())).get(_CLUSTER_SETTING, {})
        release = nearest_release(self.cluster.versions())
        return ClusterFacts(metadata.cluster_id or "", release, racks, shared, own, dynamic)

    def topics(self) -> list[Topic]:
        """The topics that are cloned, and internal ones. Raises ClusterError."""
        found = self.cluster.topics().values()
        for topic in found:
            if topic.topic_id == ZERO_UUID:  # of a release that knows no ids
                topic.topic_id = sha256(topic.name.encode()).digest()[:16]
        return sorted(
            (each for each in found if each.is_internal or self.options.wants_topic(each.name)),
            key=lambda each: each.name,
        )

    def topic_settings(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """The settings that topics have of their own, by topic."""
        found: dict[str, dict[str, str]] = {}
        for some in _slices(names):
            for result in self._configs([(_TOPIC, name) for name in some], "any"):
                if result.error_code:
                    text = error_name(result.error_code)
                    self.note(f"the settings of topic {result.resource_name!r} are left out: {text}")
                else:
                    found[result.resource_name] = _of_source(result, _TOPIC_SETTING)
        return found

    def group_settings(self, group_ids: Iterable[str]) -> dict[str, dict[str, str]]:
        """The settings that groups have of their own, by group."""
        found: dict[str, dict[str, str]] = {}
        for some in _slices(group_ids):
            for result in self._configs([(_GROUP, name) for name in some], "any"):
                settings = {} if result.error_code else _of_source(result, _GROUP_SETTING)
                if settings:
                    found[result.resource_name] = settings
        return found

    def ranges(self, topics: Sequence[Topic]) -> Iterator[dict[TopicPartition, tuple[int, int]]]:
        """Start and end offsets of all partitions with a leader, in pieces. Raises ClusterError."""
        led = [each for topic in topics for each in topic.partitions if topic.leaders[each.partition] is not None]
        for some in _slices(led):
            starts = self.cluster.offsets(dict.fromkeys(some, EARLIEST))
            ends = self.cluster.offsets(dict.fromkeys(some, LATEST))
            yield {each: (starts[each].offset, max(starts[each].offset, ends[each].offset)) for each in some}

    def groups(self) -> list[ListedGroup]:
        """The groups that are cloned, of all coordinators. Raises ClusterError."""
        found = {}
        for node_id in self.cluster.brokers():
            answer = self.cluster.ask(ListGroupsRequest(), node_id)
            if answer.error_code:
                text = error_name(answer.error_code)
                self.note(f"the groups of broker {node_id} are left out: {text}")
                continue
            for each in answer.groups:
                if self.options.wants_group(each.group_id):
                    kind = (each.group_type or "classic").lower()
                    found[each.group_id] = ListedGroup(each.group_id, each.protocol_type, kind)
        return [found[group_id] for group_id in sorted(found)]

    # -- settings ------------------------------------------------------------------------------------------------

    def _broker_settings(self, node_id: int) -> dict[int, dict[str, str]]:
        """The settings of a broker that differ from Kafka's defaults, by their source."""
        (result,) = self._configs([(_BROKER, str(node_id))], node_id)
        if result.error_code:
            text = error_name(result.error_code)
            self.note(f"the settings of broker {node_id} are left out: {text}")
            return {}
        sources = (_BROKER_SETTING, _CLUSTER_SETTING, _STATIC_SETTING)
        return {source: usable_settings(_of_source(result, source)) for source in sources}

    def _configs(self, resources: Sequence[tuple[int, str]], role: Any) -> Sequence[Any]:
        request = DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
                for kind, name in resources
            ]
        )
        results: Sequence[Any] = self.cluster.ask(request, role).results
        return results


def _of_source(result: Any, source: int) -> dict[str, str]:
    """The settings of a resource that come from a source; v0 tells only whether one is the default."""
    found = {}
    for each in result.configs:
        own = source if each.config_source == -1 and not each.is_default and not each.read_only else each.config_source
        if own == source and each.value is not None and not each.is_sensitive:
            found[each.name] = each.value
    return found


def _by_number(values: Mapping[str, T]) -> dict[int, T]:
    return {int(number): value for number, value in values.items()}


def _slices(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while some := list(islice(rest, _AT_ONCE)):
        yield some
