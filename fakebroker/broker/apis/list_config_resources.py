"""ListConfigResources, key 74, v0-v1: what has configs (KIP-1142, LC).

v0 knows client metrics only; v1 five types, chosen by the request.
"""

from collections.abc import Iterable

from fakebroker.broker.apis.call import Call, Steps
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

RESOURCES_PER_STEP = 5_000
_ORDER = (GROUP_RESOURCE, METRICS_RESOURCE, LOGGER_RESOURCE, BROKER_RESOURCE, TOPIC_RESOURCE)


def handle(call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse | None:
    """The resources of the types asked for; no type means all, UNSUPPORTED_VERSION for an unknown one (LC-3)."""
    wanted = {METRICS_RESOURCE} if call.version == 0 else set(request.resource_types or RESOURCE_TYPES)
    if not wanted <= set(RESOURCE_TYPES):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return call.work(_in_steps(call, wanted))


def _in_steps(call: Call, wanted: set[int]) -> Steps[ListConfigResourcesResponse]:
    """The resources that there are at the beginning."""
    found = [(kind, list(_names(call, kind))) for kind in _ORDER if kind in wanted]
    resources, pace = [], call.pace(RESOURCES_PER_STEP)
    for kind, names in found:
        for name in names:
            resources.append(ConfigResource(resource_name=name, resource_type=kind))
            if pace.is_over():
                yield
    return ListConfigResourcesResponse(config_resources=resources)


def _names(call: Call, resource_type: int) -> Iterable[str]:
    cluster = call.cluster
    if resource_type == GROUP_RESOURCE:
        return cluster.group_configs
    if resource_type == METRICS_RESOURCE:
        return cluster.client_metrics
    if resource_type == TOPIC_RESOURCE:
        return [topic.name for topic in cluster.topics]
    return [str(node.id) for node in cluster.nodes.values() if not node.is_fenced]
