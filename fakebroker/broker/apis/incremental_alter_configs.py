"""IncrementalAlterConfigs, key 44, v0-v1: set, delete, append to, subtract from single configs (KIP-339, IA).

v1 flexible. MOCK: done at once (AD-1).
"""

from collections import Counter
from collections.abc import Sequence

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.config_changes import Change, apply, check_form
from fakebroker.broker.core.config_resources import METRICS_RESOURCE, TOPIC_RESOURCE, resource
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

RESOURCES_PER_STEP = 200  # one with an unknown name costs the most: the names that are like it are looked for


def handle(call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse | None:
    """One answer per entry, in their order; a resource that comes twice gets two errors (IA-6, IA-11)."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: IncrementalAlterConfigsRequest) -> Steps[IncrementalAlterConfigsResponse]:
    """Each resource is changed in one step."""
    pace = call.pace(RESOURCES_PER_STEP)
    times = Counter((entry.resource_type, entry.resource_name) for entry in request.resources)
    responses = []
    for entry in request.resources:
        responses.append(_response(call, request, entry, times))
        if pace.is_over(work_of(entry.resource_type)):
            yield
    return IncrementalAlterConfigsResponse(responses=responses)


def work_of(resource_type: int) -> int:
    """What a resource of that type costs, in ordinary ones: the patterns of client metrics are compiled."""
    return RESOURCES_PER_STEP + 1 if resource_type == METRICS_RESOURCE else 1


def _response(
    call: Call,
    request: IncrementalAlterConfigsRequest,
    entry: AlterConfigsResource,
    times: Counter[tuple[int, str]],
) -> AlterConfigsResourceResponse:
    changes = [Change(config.name, config.config_operation, config.value) for config in entry.configs]
    key = (entry.resource_type, entry.resource_name)
    code, message = alter(call, key, changes, times[key] > 1, request.validate_only, replace=False)
    return AlterConfigsResourceResponse(
        error_code=code, error_message=message, resource_type=key[0], resource_name=key[1]
    )


def alter(
    call: Call, key: tuple[int, str], changes: Sequence[Change], is_repeated: bool, validate_only: bool, replace: bool
) -> tuple[ErrorCode, str | None]:
    """Change one resource, named by type and name; what to answer for it. AlterConfigs does the same (AC)."""
    try:
        if is_repeated:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "each resource may appear only once")
        changed = resource(call.node, *key)
        check_form(changed, changes)
        if key == (TOPIC_RESOURCE, "") and not call.cluster.behaviours.altered_topics_are_found_first:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a topic's name cannot be empty")
        changed.check_name()
        apply(changed, changes, validate_only, replace)
    except KafkaError as error:
        return error.code, error.message
    call.cluster.log_jobs.settings_changed(call.now)
    return ErrorCode.NONE, None
