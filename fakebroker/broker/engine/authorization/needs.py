"""What each API needs: the table of AU-6, and of what Kafka's handlers (`KafkaApis`, `ControllerApis`) ask beside.

A check looks at one request (`AuthorizedRequest`): it refuses it, takes entries out of it, or changes what is answered.
Those of an API are made in their order. APIs that are not in the table need no right.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Final

from fakebroker.broker.core.security.acls import CLUSTER_NAME, Operation, ResourceType
from fakebroker.broker.engine.authorization import (
    config_requests,
    group_requests,
    metadata_requests,
    share_requests,
    topic_requests,
    transaction_requests,
)
from fakebroker.broker.engine.authorization.authorized_request import REFUSED_TEXTS, AuthorizedRequest, Refusing
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.api_keys import ApiKey

Check = Callable[[AuthorizedRequest[Any, Any]], Generator[None, None, Any] | None]
"""Checks a request, at once or in the steps that it returns."""

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

    def __call__(self, authorized: "AuthorizedRequest[Message, Message]", /) -> Generator[None, None, Any] | None:
        """Refuse the request if its client may not do it."""
        name = CLUSTER_NAME if self.field is None else getattr(authorized.request, self.field)
        if authorized.access.may(self.operation, self.resource_type, name or ""):
            return None
        return authorized.refuse(self.resource_type, self.text)

    def __str__(self) -> str:
        return f"{self.operation.name} {self.resource_type.name}"


@dataclass(frozen=True)
class Each:
    """Each entry of a list of the request needs an operation on the resource that it names."""

    operation: Operation
    resource_type: ResourceType
    field: str
    text: str | None = None  # of the answers' messages

    def __call__(self, authorized: "AuthorizedRequest[Message, Message]", /) -> Refusing:
        """Take out the entries with which the client may not do it. Ids of topics that are unknown need nothing."""
        return authorized.take_out_denied(self.field, self.operation, self.resource_type, self.text)

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
_DESCRIBE_GROUPS = (
    Each(DESCRIBE, GROUP, "groups"), group_requests.show_operations, group_requests.show_allowed_offsets,
)  # fmt: skip
_DESCRIBE_GROUP_IDS = (
    Each(DESCRIBE, GROUP, "group_ids"), group_requests.show_operations, group_requests.hide_groups_with_topics,
)  # fmt: skip
_WRITE_TRANSACTION = Whole(WRITE, TRANSACTIONAL_ID, "transactional_id")

NEEDS: Final[dict[int, tuple[Check, ...]]] = {
    ApiKey.PRODUCE: (topic_requests.write_allowed,),
    ApiKey.FETCH: (topic_requests.read_allowed,),
    ApiKey.LIST_OFFSETS: (Each(DESCRIBE, TOPIC, "topics"),),
    ApiKey.METADATA: (metadata_requests.show_allowed,),
    ApiKey.OFFSET_COMMIT: (_GROUP_READ, Each(READ, TOPIC, "topics")),
    ApiKey.OFFSET_FETCH: (group_requests.fetch_allowed_offsets,),
    ApiKey.FIND_COORDINATOR: (group_requests.find_allowed,),
    ApiKey.JOIN_GROUP: (_GROUP_READ,),
    ApiKey.HEARTBEAT: (_GROUP_READ,),
    ApiKey.LEAVE_GROUP: (_GROUP_READ,),
    ApiKey.SYNC_GROUP: (group_requests.check_protocol, _GROUP_READ),
    ApiKey.DESCRIBE_GROUPS: _DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS: (group_requests.list_allowed,),
    ApiKey.CREATE_TOPICS: (topic_requests.create_allowed,),
    ApiKey.DELETE_TOPICS: (topic_requests.delete_allowed,),
    ApiKey.DELETE_RECORDS: (topic_requests.delete_records_allowed,),
    ApiKey.INIT_PRODUCER_ID: (transaction_requests.check_producer,),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (topic_requests.describe_epochs_allowed,),
    ApiKey.ADD_PARTITIONS_TO_TXN: (transaction_requests.add_allowed,),
    ApiKey.ADD_OFFSETS_TO_TXN: (_WRITE_TRANSACTION, _GROUP_READ),
    ApiKey.END_TXN: (_WRITE_TRANSACTION,),
    ApiKey.WRITE_TXN_MARKERS: (transaction_requests.check_markers,),
    ApiKey.TXN_OFFSET_COMMIT: (_WRITE_TRANSACTION, _GROUP_READ, Each(READ, TOPIC, "topics")),
    ApiKey.DESCRIBE_ACLS: _cluster_needing(DESCRIBE),
    ApiKey.CREATE_ACLS: _cluster_needing(ALTER),
    ApiKey.DELETE_ACLS: _cluster_needing(ALTER),
    ApiKey.DESCRIBE_CONFIGS: (config_requests.ConfigResources(DESCRIBE_CONFIGS),),
    ApiKey.ALTER_CONFIGS: (config_requests.ConfigResources(ALTER_CONFIGS),),
    ApiKey.ALTER_REPLICA_LOG_DIRS: _cluster(ALTER),
    ApiKey.DESCRIBE_LOG_DIRS: _cluster(DESCRIBE),
    ApiKey.CREATE_PARTITIONS: (topic_requests.create_partitions_allowed,),
    ApiKey.CREATE_DELEGATION_TOKEN: (config_requests.check_token_owner,),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (config_requests.show_allowed_tokens,),
    ApiKey.DELETE_GROUPS: (Each(DELETE, GROUP, "groups_names"),),
    ApiKey.ELECT_LEADERS: _cluster_needing(ALTER),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (config_requests.ConfigResources(ALTER_CONFIGS),),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _cluster_needing(ALTER),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (config_requests.check_reassignments,),
    ApiKey.OFFSET_DELETE: (
        Whole(DELETE, GROUP, "group_id"),
        group_requests.delete_offsets_of_group,
        Each(READ, TOPIC, "topics"),
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _cluster(DESCRIBE_CONFIGS),
    ApiKey.ALTER_CLIENT_QUOTAS: _cluster(ALTER_CONFIGS, _CLUSTER_REFUSED),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (config_requests.check_scram_users,),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _cluster_needing(ALTER),
    ApiKey.DESCRIBE_QUORUM: _cluster(DESCRIBE, _CLUSTER_REFUSED),
    ApiKey.UPDATE_FEATURES: _cluster_needing(ALTER),
    ApiKey.DESCRIBE_CLUSTER: (metadata_requests.show_cluster_operations,),
    ApiKey.DESCRIBE_PRODUCERS: (topic_requests.describe_producers_allowed,),
    ApiKey.UNREGISTER_BROKER: _cluster_needing(ALTER),
    ApiKey.DESCRIBE_TRANSACTIONS: (
        Each(DESCRIBE, TRANSACTIONAL_ID, "transactional_ids"),
        transaction_requests.show_allowed_topics,
    ),
    ApiKey.LIST_TRANSACTIONS: (transaction_requests.list_allowed,),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (_GROUP_READ, group_requests.heartbeat_allowed),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _DESCRIBE_GROUP_IDS,
    ApiKey.LIST_CONFIG_RESOURCES: _cluster(DESCRIBE_CONFIGS),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (metadata_requests.describe_allowed,),
    ApiKey.SHARE_GROUP_HEARTBEAT: (_GROUP_READ, group_requests.subscribe_allowed),
    ApiKey.SHARE_GROUP_DESCRIBE: _DESCRIBE_GROUP_IDS,
    ApiKey.SHARE_FETCH: (share_requests.check_group_id, _GROUP_READ, share_requests.read_allowed),
    ApiKey.SHARE_ACKNOWLEDGE: (share_requests.check_group_id, _GROUP_READ, share_requests.read_allowed),
    ApiKey.ADD_RAFT_VOTER: _cluster(ALTER, _CLUSTER_REFUSED),
    ApiKey.REMOVE_RAFT_VOTER: _cluster(ALTER, _CLUSTER_REFUSED),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),
    ApiKey.READ_SHARE_GROUP_STATE: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),
    ApiKey.WRITE_SHARE_GROUP_STATE: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),
    ApiKey.DELETE_SHARE_GROUP_STATE: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _cluster(CLUSTER_ACTION, _CLUSTER_REFUSED),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (_GROUP_READ, group_requests.run_allowed_topology),
    ApiKey.STREAMS_GROUP_DESCRIBE: _DESCRIBE_GROUP_IDS,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (Each(DESCRIBE, GROUP, "groups"), share_requests.describe_allowed_offsets),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (_GROUP_READ_SAYING, share_requests.alter_allowed_offsets),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (
        Whole(DELETE, GROUP, "group_id", REFUSED_TEXTS[GROUP]),
        share_requests.delete_allowed_offsets,
    ),
}
