"""Checks of requests about configs and delegation tokens."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol, cast

from fakebroker.broker.apis import create_delegation_token, describe_delegation_token
from fakebroker.broker.core.config_changes import (
    OPERATIONS,
    NamedValue,
    changes_of,
    fault_of_any_type,
    unknown_operation,
)
from fakebroker.broker.core.config_resources import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    LOGGER_RESOURCE,
    METRICS_RESOURCE,
    TOPIC_RESOURCE,
    check_broker_id,
)
from fakebroker.broker.core.security.acls import Operation, ResourceType
from fakebroker.broker.engine.authorization.authorized_request import REFUSED_TEXTS, AuthorizedRequest
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.wire.messages.list_partition_reassignments import (
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.security.delegation_tokens import Token
    from fakebroker.protocol.wire.messages.alter_configs import (
        AlterConfigsRequest,
        AlterConfigsResourceResponse,
        AlterConfigsResponse,
    )
    from fakebroker.protocol.wire.messages.create_delegation_token import (
        CreateDelegationTokenRequest,
        CreateDelegationTokenResponse,
    )
    from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
    from fakebroker.protocol.wire.messages.describe_delegation_token import (
        DescribeDelegationTokenRequest,
        DescribeDelegationTokenResponse,
    )
    from fakebroker.protocol.wire.messages.describe_user_scram_credentials import (
        DescribeUserScramCredentialsRequest,
        DescribeUserScramCredentialsResponse,
    )
    from fakebroker.protocol.wire.messages.incremental_alter_configs import (
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )
    from fakebroker.protocol.wire.messages.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
    )

    CreateDelegationToken = AuthorizedRequest[CreateDelegationTokenRequest, CreateDelegationTokenResponse]
    DescribeDelegationToken = AuthorizedRequest[DescribeDelegationTokenRequest, DescribeDelegationTokenResponse]
    DescribeUserScramCredentials = AuthorizedRequest[
        DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse
    ]
    ListPartitionReassignments = AuthorizedRequest[
        ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse
    ]

REPEATED_RESOURCE = "Each resource must appear at most once."
_TYPES: Final = {  # what a resource with configs is for the authorizer
    TOPIC_RESOURCE: ResourceType.TOPIC,
    GROUP_RESOURCE: ResourceType.GROUP,
    BROKER_RESOURCE: ResourceType.CLUSTER,
    LOGGER_RESOURCE: ResourceType.CLUSTER,
    METRICS_RESOURCE: ResourceType.CLUSTER,
}


if TYPE_CHECKING:
    AboutConfigs = AuthorizedRequest[
        DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest,
        DescribeConfigsResponse | AlterConfigsResponse | IncrementalAlterConfigsResponse,
    ]


class Resource(Protocol):
    """A resource in a request about configs."""

    resource_type: int
    resource_name: str


class AlteredResource(Resource, Protocol):
    """The same with its configs."""

    configs: Sequence[NamedValue]


def _is_unknown(resource: Resource) -> bool:
    return resource.resource_type not in _TYPES


def _fault(authorized: "AboutConfigs", resource: "AlteredResource") -> Generator[None, None, str | None]:
    """What Kafka finds wrong with a resource before it looks at rights: a config that comes twice or has no value, its
    type, another broker's id (CLU-16). In steps, as a client without rights may send very many configs.

    MOCK: Kafka also looks at what values a broker's configs have.
    """
    call, pace = authorized.call, authorized.access.pace
    if not call.cluster.behaviours.altered_configs_may_repeat:
        fault = yield from fault_of_any_type(changes_of(resource.configs), pace)
        if fault is not None:
            return fault
    if _is_unknown(resource) or (resource.resource_type == LOGGER_RESOURCE and authorized.route.name == "AlterConfigs"):
        return f"Unknown resource type {resource.resource_type}"
    if resource.resource_type != BROKER_RESOURCE:
        return None
    if resource.resource_name:
        try:
            check_broker_id(call.node, resource.resource_name)
        except KafkaError as error:
            return error.message
    for change in changes_of(resource.configs):
        if change.operation not in OPERATIONS:
            return unknown_operation(change)
        if pace.is_over():
            yield
    return None


@dataclass(frozen=True)
class ConfigResources:
    """Each resource of a request about configs needs the operation on itself, or on the cluster."""

    operation: Operation

    def __call__(self, authorized: "AboutConfigs") -> Generator[None, None, None]:
        """Take out the resources that are refused. One of an unknown type is invalid whatever the client's rights are.

        DescribeConfigs refuses all resources if the type of one is unknown (DC-5), so its handler shows none of them.
        """
        if self.operation is Operation.ALTER_CONFIGS:
            yield from self._take_out_invalid(authorized)
        elif any(map(_is_unknown, authorized.request.resources)):
            return
        if authorized.answer is not None:
            return
        for resource_type in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER):
            is_refused = partial(self._is_refused, authorized, resource_type)
            text = REFUSED_TEXTS[resource_type]
            errors = yield from authorized.take_out("resources", resource_type, is_refused, text)
            if authorized.route.name == "IncrementalAlterConfigs":
                for error in cast("list[AlterConfigsResourceResponse]", errors):
                    if error.resource_type == LOGGER_RESOURCE:  # which the broker itself refuses, not the controller
                        error.error_message = None
            if authorized.answer is not None:
                return

    def _take_out_invalid(self, authorized: "AboutConfigs") -> Generator[None, None, None]:
        named = attrgetter("resource_type", "resource_name")
        yield from authorized.take_out_repeated("resources", named, REPEATED_RESOURCE, once=False)
        if authorized.answer is None:
            faults = dict[tuple[int, str], str]()  # each resource is there once
            for resource in cast("Sequence[AlteredResource]", authorized.request.resources):
                fault = yield from _fault(authorized, resource)
                if fault is not None:
                    faults[named(resource)] = fault
                if authorized.access.pace.is_over():
                    yield
            errors = yield from authorized.take_out_invalid("resources", lambda each: named(each) in faults, "")
            for error in cast("list[AlterConfigsResourceResponse]", errors):
                error.error_message = faults[named(error)]
                if authorized.access.pace.is_over():
                    yield

    def _is_refused(self, authorized: "AboutConfigs", resource_type: ResourceType, resource: Resource) -> bool:
        if _TYPES[resource.resource_type] is not resource_type:
            return False
        if resource_type is ResourceType.CLUSTER:
            return not authorized.access.may_cluster(self.operation)
        return not authorized.access.may(self.operation, resource_type, resource.resource_name)

    def __str__(self) -> str:
        return f"{self.operation.name} TOPIC, GROUP or CLUSTER"


def check_token_owner(
    authorized: "CreateDelegationToken",
) -> None:
    """CreateDelegationToken: CREATE_TOKENS on the owner, if that is another than the client (KIP-373)."""
    request, requester = authorized.request, authorized.call.principal
    if authorized.route.version < 3 or not request.owner_principal_name or request.owner_principal_type is None:
        return
    owner = f"{request.owner_principal_type}:{request.owner_principal_name}"
    if owner == str(requester) or authorized.access.may(Operation.CREATE_TOKENS, ResourceType.USER, owner):
        return

    authorized.handle = partial(create_delegation_token.handle, may_own=False)


def show_allowed_tokens(authorized: "DescribeDelegationToken") -> None:
    """DescribeDelegationToken shows the client's own tokens; others with DESCRIBE on them or DESCRIBE_TOKENS on the
    owner (TK-4).
    """
    access = authorized.access

    def may_see(token: "Token") -> bool:
        owner = f"{token.owner[0]}:{token.owner[1]}"
        may_describe = access.may(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
        return may_describe or access.may(Operation.DESCRIBE_TOKENS, ResourceType.USER, owner)

    authorized.handle = partial(describe_delegation_token.handle, may_see=may_see)


def check_reassignments(
    authorized: "ListPartitionReassignments",
) -> Generator[None, None, None]:
    """ListPartitionReassignments: DESCRIBE on the cluster; a refusal repeats the partitions of the request."""
    if authorized.access.may_cluster(Operation.DESCRIBE):
        return
    answer = yield from authorized.refuse(ResourceType.CLUSTER, "Request needs DESCRIBE permission.")
    pace = authorized.access.pace
    for topic in authorized.request.topics or ():
        partitions = []
        for index in topic.partition_indexes:
            partitions.append(OngoingPartitionReassignment(partition_index=index))
            if pace.is_over():
                yield
        answer.topics.append(OngoingTopicReassignment(name=topic.name, partitions=partitions))
        if pace.is_over():
            yield


def check_scram_users(
    authorized: "DescribeUserScramCredentials",
) -> Generator[None, None, None]:
    """DescribeUserScramCredentials: DESCRIBE on the cluster; a refusal has an entry for each user, without its name."""
    if authorized.access.may_cluster(Operation.DESCRIBE):
        return
    answer = yield from authorized.refuse(ResourceType.CLUSTER)
    answer.error_message = None
    for result in answer.results:
        result.user, result.error_message = "", None
        if authorized.access.pace.is_over():
            yield
