"""ListConfigResources, key 74, v0-v1: what has configs (KIP-1142, LC).

v0 knows client metrics only; v1 five types, chosen by the request.
"""

from collections.abc import Iterable

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.config_resources import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    LOGGER_RESOURCE,
    METRICS_RESOURCE,
    RESOURCE_TYPES,
    TOPIC_RESOURCE,
)
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_ORDER = (GROUP_RESOURCE, METRICS_RESOURCE, LOGGER_RESOURCE, BROKER_RESOURCE, TOPIC_RESOURCE)


def handle(call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """The resources of the types asked for; no type means all, UNSUPPORTED_VERSION for an unknown one (LC-3)."""
    wanted = [METRICS_RESOURCE] if call.version == 0 else request.resource_types or list(RESOURCE_TYPES)
    if not set(wanted) <= set(RESOURCE_TYPES):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in _ORDER
            if kind in wanted
            for name in _names(call, kind)
        ]
    )


def _names(call: Call, resource_type: int) -> Iterable[str]:
    cluster = call.cluster
    if resource_type == GROUP_RESOURCE:
        return cluster.group_configs
    if resource_type == METRICS_RESOURCE:
        return cluster.client_metrics
    if resource_type == TOPIC_RESOURCE:
        return [topic.name for topic in cluster.topics]
    return [str(node.id) for node in cluster.nodes.values() if not node.is_fenced]
