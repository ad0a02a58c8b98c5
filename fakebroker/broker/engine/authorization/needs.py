"""What each API needs: the table of AU-6, and of what Kafka's handlers (`KafkaApis`, `ControllerApis`) ask beside.

A check looks at one request (`AuthorizedRequest`): it refuses it, takes entries out of it, or changes what is answered.
Those of an API are made in their order. APIs that are not in the table need no right.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fakebroker.broker.core.security.acls import CLUSTER_NAME, Operation, ResourceType
from fakebroker.broker.engine.authorization import (
    config_requests,
    group_requests,
    metadata_requests,
    share_requests,
    topic_requests,
    transaction_requests,
)
from fakebroker.broker.engine.authorization.authorized_request import REFUSED_TEXTS, AuthorizedRequest

Check = Callable[[AuthorizedRequest], None]
Checks = tuple[Check, ...]

ALTER, ALTER_CONFIGS, CLUSTER_ACTION = Operation.ALTER, Operation.ALTER_CONFIGS, Operation.CLUSTER_ACTION
CREATE, DELETE, DESCRIBE = Operation.CREATE, Operation.DELETE, Operation.DESCRIBE
DESCRIBE_CONFIGS, READ, WRITE = Operation.DESCRIBE_CONFIGS, Operation.READ, Operation.WRITE
TOPIC, GROUP, TRANSACTIONAL_ID = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID


@dataclass(frozen=True)
class Whole:
    """The request as a whole needs an operation on one resource, whose name stands in a field."""

    operation: Operation
    resource_type: ResourceType
    field: str | None = None  # None: the cluster
    text: str | None = None  # of the answers' messages

    def __call__(self, authorized: AuthorizedRequest, /) -> None:
        """Refuse the request if its client may not do it."""
        name = CLUSTER_NAME if self.field is None else getattr(authorized.request, self.field)
        if not authorized.access.may(self.operation, self.resource_type, name or ""):
            authorized.refuse(self.resource_type, self.text)

    def __str__(self) -> str:
        return f"{self.operation.name} {self.resource_type.name}"


@dataclass(frozen=True)
class Each:
    """Each entry of a list of the request needs an operation on the resource that it names."""

    operation: Operation
    resource_type: ResourceType
    field: str
    text: str | None = None  # of the answers' messages

    def __call__(self, authorized: AuthorizedRequest, /) -> None:
        """Take out the entries with which the client may not do it. Ids of topics that are unknown need nothing."""
        topics = authorized.call.cluster.topics

        def is_refused(entry: object) -> bool:
            name = topic_requests.name_in(entry, topics)
            return name is not None and not authorized.access.may(self.operation, self.resource_type, name)

        authorized.take_out(self.field, self.resource_type, is_refused, self.text)

    def __str__(self) -> str:
        return f"{self.operation.name} {self.resource_type.name}"


def _cluster(operation: Operation, text: str | None = None) -> tuple[Check, ...]:
    return (Whole(operation, ResourceType.CLUSTER, text=text),)


def _cluster_needing(operation: Operation) -> tuple[Check, ...]:
    """Kafka's message says what the request needs; ours leaves out how Java shows the request."""
    return _cluster(operation, f"Request needs {operation.name} permission.")


_GROUP_READ = Whole(READ, GROUP, "group_id")
_GROUP_READ_SAYING = Whole(READ, GROUP, "group_id", REFUSED_TEXTS[GROUP])
_CLUSTER_REFUSED = REFUSED_TEXTS[ResourceType.CLUSTER]
_DESCRIBE_GROUPS = (Each(DESCRIBE, GROUP, "groups"), group_requests.show_operations)
_DESCRIBE_GROUP_IDS = (
    Each(DESCRIBE, GROUP, "group_ids"), group_requests.show_operations, group_requests.hide_groups_with_topics,
)  # fmt: skip
_WRITE_TRANSACTION = Whole(WRITE, TRANSACTIONAL_ID, "transactional_id")

NEEDS: Final[dict[int, tuple[Check, ...]]] = {
    0: (topic_requests.write_allowed,),  # Produce
    1: (topic_requests.read_allowed,),  # Fetch
    2: (Each(DESCRIBE, TOPIC, "topics"),),  # ListOffsets
    3: (metadata_requests.show_allowed,),  # Metadata
    8: (_GROUP_READ, Each(READ, TOPIC, "topics")),  # OffsetCommit
    9: (group_requests.fetch_allowed_offsets,),  # OffsetFetch
    10: (group_requests.find_allowed,),  # FindCoordinator
    11: (_GROUP_READ,),  # JoinGroup
    12: (_GROUP_READ,),  # Heartbeat
    13: (_GROUP_READ,),  # LeaveGroup
    14: (_GROUP_READ,),  # SyncGroup
    15: _DESCRIBE_GROUPS,  # DescribeGroups
    16: (group_requests.list_allowed,),  # ListGroups
    19: (topic_requests.create_allowed,),  # CreateTopics
    20: (topic_requests.delete_allowed,),  # DeleteTopics
    21: (topic_requests.delete_records_allowed,),  # DeleteRecords
    22: (transaction_requests.check_producer,),  # InitProducerId
    23: (topic_requests.describe_epochs_allowed,),  # OffsetForLeaderEpoch
    24: (transaction_requests.add_allowed,),  # AddPartitionsToTxn
    25: (_WRITE_TRANSACTION, _GROUP_READ),  # AddOffsetsToTxn
    26: (_WRITE_TRANSACTION,),  # EndTxn
    27: (transaction_requests.check_markers,),  # WriteTxnMarkers
    28: (_WRITE_TRANSACTION, _GROUP_READ, Each(READ, TOPIC, "topics")),  # TxnOffsetCommit
    29: _cluster_needing(DESCRIBE),  # DescribeAcls
    30: _cluster_needing(ALTER),  # CreateAcls
    31: _cluster_needing(ALTER),  # DeleteAcls
    32: (config_requests.ConfigResources(DESCRIBE_CONFIGS),),  # DescribeConfigs
    33: (config_requests.ConfigResources(ALTER_CONFIGS),),  # AlterConfigs
    34: _cluster(ALTER),  # AlterReplicaLogDirs
    35: _cluster(DESCRIBE),  # DescribeLogDirs
    37: (topic_requests.create_partitions_allowed,),  # CreatePartitions
    38: (config_requests.check_token_owner,),  # CreateDelegationToken
    41: (config_requests.show_allowed_tokens,),  # DescribeDelegationToken
    42: (Each(DELETE, GROUP, "groups_names"),),  # DeleteGroups
    43: _cluster_needing(ALTER),  # ElectLeaders
    44: (config_requests.ConfigResources(ALTER_CONFIGS),),  # IncrementalAlterConfigs
    45: _cluster_needing(ALTER),  # AlterPartitionReassignments
    46: (config_requests.check_reassignments,),  # ListPartitionReassignments
    47: (Whole(DELETE, GROUP, "group_id"), Each(READ, TOPIC, "topics")),  # OffsetDelete
    48: _cluster(DESCRIBE_CONFIGS),  # DescribeClientQuotas
    49: _cluster(ALTER_CONFIGS, _CLUSTER_REFUSED),  # AlterClientQuotas
    50: (config_requests.check_scram_users,),  # DescribeUserScramCredentials
    51: _cluster_needing(ALTER),  # AlterUserScramCredentials
    55: _cluster(DESCRIBE, _CLUSTER_REFUSED),  # DescribeQuorum
    57: _cluster_needing(ALTER),  # UpdateFeatures
    60: (metadata_requests.show_cluster_operations,),  # DescribeCluster
    61: (Each(READ, TOPIC, "topics", REFUSED_TEXTS[TOPIC]),),  # DescribeProducers
    64: _cluster_needing(ALTER),  # UnregisterBroker
    # DescribeTransactions
    65: (Each(DESCRIBE, TRANSACTIONAL_ID, "transactional_ids"), transaction_requests.show_allowed_topics),
    66: (transaction_requests.list_allowed,),  # ListTransactions
    68: (_GROUP_READ, group_requests.heartbeat_allowed),  # ConsumerGroupHeartbeat
    69: _DESCRIBE_GROUP_IDS,  # ConsumerGroupDescribe
    74: _cluster(DESCRIBE_CONFIGS),  # ListConfigResources
    75: (metadata_requests.describe_allowed,),  # DescribeTopicPartitions
    76: (_GROUP_READ, group_requests.subscribe_allowed),  # ShareGroupHeartbeat
    77: _DESCRIBE_GROUP_IDS,  # ShareGroupDescribe
    78: (_GROUP_READ, share_requests.read_allowed),  # ShareFetch
    79: (_GROUP_READ, share_requests.read_allowed),  # ShareAcknowledge
    80: _cluster(ALTER, _CLUSTER_REFUSED),  # AddRaftVoter
    81: _cluster(ALTER, _CLUSTER_REFUSED),  # RemoveRaftVoter
    83: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),  # InitializeShareGroupState
    84: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),  # ReadShareGroupState
    85: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),  # WriteShareGroupState
    86: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),  # DeleteShareGroupState
    87: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),  # ReadShareGroupStateSummary
    88: (_GROUP_READ, group_requests.run_allowed_topology),  # StreamsGroupHeartbeat
    89: _DESCRIBE_GROUP_IDS,  # StreamsGroupDescribe
    90: (Each(DESCRIBE, GROUP, "groups"), share_requests.describe_allowed_offsets),  # DescribeShareGroupOffsets
    91: (_GROUP_READ_SAYING, share_requests.alter_allowed_offsets),  # AlterShareGroupOffsets
    92: (
        Whole(DELETE, GROUP, "group_id", REFUSED_TEXTS[GROUP]),
        share_requests.delete_allowed_offsets,
    ),  # DeleteShareGroupOffsets
}
