"""What a scripted client asks as an administrator: topics, groups, settings, the cluster."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fakebroker.client.requesting import Flow, Requesting, by_topic
from fakebroker.protocol.arguments.checks import check_one_of, check_partitions, check_settings
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from fakebroker.protocol.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from fakebroker.protocol.wire.messages.delete_groups import DeleteGroupsRequest
from fakebroker.protocol.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from fakebroker.protocol.wire.messages.describe_cluster import DescribeClusterRequest
from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from fakebroker.protocol.wire.messages.describe_groups import DescribeGroupsRequest
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorRequest
from fakebroker.protocol.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from fakebroker.protocol.wire.messages.list_groups import ListGroupsRequest
from fakebroker.protocol.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from fakebroker.protocol.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from fakebroker.protocol.wire.registry import first_without_creation, newest_by_name, newest_for_one

Kind = Literal["topic", "broker", "group"]
KeyType = Literal["group", "transaction", "share"]

RESOURCE_TYPES = {"topic": 2, "broker": 4, "group": 32}
KEY_TYPES = {"group": 0, "transaction": 1, "share": 2}
SET, DELETE = 0, 1  # operations of IncrementalAlterConfigs
TIMEOUT_MS = 30_000


class AdminSteps(Requesting):
    """Steps that name their subject first: a topic, a group. They return the answers as they are."""

    # Topics and the cluster

    def metadata(self, *, topics: Sequence[str] | None = None, allow_auto_topic_creation: bool = False) -> Flow[Any]:
        """The Metadata answer for these topics, all if None: brokers, controller, partitions with their leaders."""
        request = MetadataRequest()
        version = yield from self.version_of(request)
        must_create = version < first_without_creation(ApiKey.METADATA)
        request.allow_auto_topic_creation = allow_auto_topic_creation or must_create
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request.topics = [] if wanted is None and version == 0 else wanted  # v0 has an empty list for all
        return (yield from self.ask(request, version))

    def describe_topic(self, topic: str) -> Flow[Any]:
        """The Metadata answer for one topic."""
        return self.metadata(topics=[topic])

    def describe_cluster(self) -> Flow[Any]:
        """The DescribeCluster answer: the brokers and the controller."""
        return self.ask(DescribeClusterRequest())

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        replication_factor: int = -1,
        *,
        config: Mapping[str, object] | None = None,
        replicas: Mapping[int, Sequence[int]] | None = None,
        validate_only: bool = False,
    ) -> Flow[Any]:
        """Create a topic. `replicas` is a manual assignment, partition -> nodes, instead of the two numbers."""
        check_settings("config", config or {})
        configs = [CreatableTopicConfig(name=name, value=_text_of(value)) for name, value in (config or {}).items()]
        assignments = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(nodes))
            for index, nodes in (replicas or {}).items()
        ]
        created = CreatableTopic(
            name=topic,
            num_partitions=-1 if assignments else partitions,
            replication_factor=-1 if assignments else replication_factor,
            assignments=assignments,
            configs=configs,
        )
        return self.ask(CreateTopicsRequest(topics=[created], timeout_ms=TIMEOUT_MS, validate_only=validate_only))

    def create_partitions(self, topic: str, count: int) -> Flow[Any]:
        """Increase the number of partitions of a topic to `count`."""
        added = CreatePartitionsTopic(name=topic, count=count, assignments=None)
        return self.ask(CreatePartitionsRequest(topics=[added], timeout_ms=TIMEOUT_MS))

    def delete_topic(self, topic: str) -> Flow[Any]:
        """Delete a topic with its records."""
        request = DeleteTopicsRequest(timeout_ms=TIMEOUT_MS)
        version = yield from self.version_of(request)
        if version <= newest_by_name(ApiKey.DELETE_TOPICS):
            request.topic_names = [topic]
        else:
            request.topics = [DeleteTopicState(name=topic)]
        return (yield from self.ask(request, version))

    def delete_records(self, topic: str, partition: int, offset: int) -> Flow[Any]:
        """Delete the records of a partition before `offset`, -1 for all."""
        row = DeleteRecordsPartition(partition_index=partition, offset=offset)
        named = DeleteRecordsTopic(name=topic, partitions=[row])
        return self.ask(DeleteRecordsRequest(topics=[named], timeout_ms=TIMEOUT_MS))

    # Groups

    def find_coordinator(self, key: str, *, key_type: KeyType = "group") -> Flow[Any]:
        """Find the coordinator of a group or of a transactional id."""
        number = _number_of("key_type", key_type, KEY_TYPES)
        request = FindCoordinatorRequest(key_type=number)
        version = yield from self.version_of(request)
        if version <= newest_for_one(ApiKey.FIND_COORDINATOR):
            request.key = key
        else:
            request.coordinator_keys = [key]
        return (yield from self.ask(request, version))

    def describe_group(self, group_id: str) -> Flow[Any]:
        """The DescribeGroups answer for one group: its state and members."""
        return self.ask(DescribeGroupsRequest(groups=[group_id]))

    def list_groups(self, *, states: Sequence[str] = (), types: Sequence[str] = ()) -> Flow[Any]:
        """The ListGroups answer of this broker: the groups that it coordinates, of these states and types only."""
        return self.ask(ListGroupsRequest(states_filter=list(states), types_filter=list(types)))

    def delete_group(self, group_id: str) -> Flow[Any]:
        """Delete a group with its offsets."""
        return self.ask(DeleteGroupsRequest(groups_names=[group_id]))

    def delete_offsets(self, group_id: str, partitions: Sequence[tuple[str, int]]) -> Flow[Any]:
        """Delete committed offsets of a group (OffsetDelete). Raises InvalidArgument for invalid partitions."""
        check_partitions("partitions", partitions)
        topics = [
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index, _ in rows]
            )
            for topic, rows in by_topic(dict.fromkeys(partitions, 0)).items()
        ]
        return self.ask(OffsetDeleteRequest(group_id=group_id, topics=topics))

    # Settings

    def describe_configs(self, name: str, *, kind: Kind = "topic", keys: Sequence[str] | None = None) -> Flow[Any]:
        """The DescribeConfigs answer for a topic, a broker (id as a string) or a group; only `keys` if given."""
        wanted = DescribeConfigsResource(
            resource_type=_number_of("kind", kind, RESOURCE_TYPES),
            resource_name=name,
            configuration_keys=None if keys is None else list(keys),
        )
        return self.ask(DescribeConfigsRequest(resources=[wanted]))

    def alter_configs(self, name: str, config: Mapping[str, object], *, kind: Kind = "topic") -> Flow[Any]:
        """Change settings of a topic, a broker or a group (IncrementalAlterConfigs); None restores the default."""
        check_settings("config", config)
        changes = [
            AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=_text_of(value))
            for key, value in config.items()
        ]
        number = _number_of("kind", kind, RESOURCE_TYPES)
        changed = AlterConfigsResource(resource_type=number, resource_name=name, configs=changes)
        return self.ask(IncrementalAlterConfigsRequest(resources=[changed]))


def _number_of(field: str, name: str, numbers: Mapping[str, int]) -> int:
    check_one_of(field, name, numbers)
    return numbers[name]


def _text_of(value: object) -> str | None:
    """A setting as requests have it; true and false as Kafka writes them."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
