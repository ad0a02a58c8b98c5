"""AlterConfigs, key 33, v0-v2: replace all configs of a resource (KIP-133, AC).

v1 no change; v2 flexible. MOCK: done at once (AD-1); a resource that comes twice gets INVALID_REQUEST twice, where
Kafka never answers (AC-3).
"""

from collections import Counter
from collections.abc import Generator, Sequence

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.incremental_alter_configs import (
    CONFIGS_PER_STEP,
    RESOURCES_PER_STEP,
    Alteration,
    alter,
    work_of,
)
from fakebroker.broker.core.config_changes import changes_of
from fakebroker.broker.core.config_resources import LOGGER_RESOURCE
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.pace import Pace, listed
from fakebroker.protocol.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def handle(call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse | None:
    """One answer per entry, in their order; in 2.1.1 one per resource (AC-3)."""
    closes = call.cluster.behaviours.unreadable_requests_close
    if closes and any(config.value is None for entry in request.resources for config in entry.configs):
        raise CloseConnection("a config has no value")
    entries = request.resources
    if call.cluster.behaviours.altered_configs_may_repeat:
        entries = list({(entry.resource_type, entry.resource_name): entry for entry in entries}.values())
    return call.work(_in_steps(call, request, entries), must_finish=True)


def _in_steps(
    call: Call, request: AlterConfigsRequest, entries: Sequence[AlterConfigsResource]
) -> Steps[AlterConfigsResponse]:
    """Each resource is changed in one step, after its changes were looked at."""
    pace, pace_of_configs = call.pace(RESOURCES_PER_STEP), call.pace(CONFIGS_PER_STEP)
    times = Counter((entry.resource_type, entry.resource_name) for entry in entries)
    responses = []
    for entry in entries:
        responses.append((yield from _response(call, request, entry, times, pace_of_configs)))
        if pace.is_over(work_of(entry.resource_type)):
            yield
    return AlterConfigsResponse(responses=responses)


def _response(
    call: Call, request: AlterConfigsRequest, entry: AlterConfigsResource, times: Counter[tuple[int, str]], pace: Pace
) -> Generator[None, None, AlterConfigsResourceResponse]:
    key = (entry.resource_type, entry.resource_name)
    code: ErrorCode
    message: str | None
    if entry.resource_type == LOGGER_RESOURCE:  # AC-2
        code, message = ErrorCode.INVALID_REQUEST, "loggers cannot be altered by this request"
    else:
        changes = yield from listed(changes_of(entry.configs), pace)
        if call.cluster.behaviours.altered_configs_may_repeat:
            changes = list({change.name: change for change in changes}.values())
        alteration = Alteration(key, changes, times[key] > 1, request.validate_only, replaces=True)
        code, message = yield from alter(call, alteration, pace)
    return AlterConfigsResourceResponse(
        error_code=code, error_message=message, resource_type=key[0], resource_name=key[1]
    )
