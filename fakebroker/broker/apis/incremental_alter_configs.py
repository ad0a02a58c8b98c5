"""IncrementalAlterConfigs, key 44, v0-v1: set, delete, append to, subtract from single configs (KIP-339, IA).

v1 flexible. MOCK: done at once (AD-1).
"""

from collections import Counter
from collections.abc import Generator, Sequence
from typing import NamedTuple

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.config_changes import Change, apply, changes_of, check_form
from fakebroker.broker.core.config_resources import METRICS_RESOURCE, TOPIC_RESOURCE, resource
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace, listed
from fakebroker.protocol.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

RESOURCES_PER_STEP = 200  # one with an unknown name costs the most: the names that are like it are looked for
CONFIGS_PER_STEP = 5_000


def handle(call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse | None:
    """One answer per entry, in their order; a resource that comes twice gets two errors (IA-6, IA-11)."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: IncrementalAlterConfigsRequest) -> Steps[IncrementalAlterConfigsResponse]:
    """Each resource is changed in one step, after its changes were looked at."""
    pace, pace_of_configs = call.pace(RESOURCES_PER_STEP), call.pace(CONFIGS_PER_STEP)
    times = Counter((entry.resource_type, entry.resource_name) for entry in request.resources)
    responses = []
    for entry in request.resources:
        responses.append((yield from _response(call, request, entry, times, pace_of_configs)))
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
    pace: Pace,
) -> Generator[None, None, AlterConfigsResourceResponse]:
    key = (entry.resource_type, entry.resource_name)
    changes = yield from listed(changes_of(entry.configs), pace)
    alteration = Alteration(key, changes, times[key] > 1, request.validate_only, replaces=False)
    code, message = yield from alter(call, alteration, pace)
    return AlterConfigsResourceResponse(
        error_code=code, error_message=message, resource_type=key[0], resource_name=key[1]
    )


class Alteration(NamedTuple):
    """What is to be done to one resource, named by type and name.

    `is_repeated`: the request names it more than once; `replaces`: what is not among the changes is dropped (AC-1).
    """

    key: tuple[int, str]
    changes: Sequence[Change]
    is_repeated: bool
    validate_only: bool
    replaces: bool


def alter(call: Call, asked: Alteration, pace: Pace) -> Generator[None, None, tuple[ErrorCode, str | None]]:
    """Change one resource; what to answer for it. The changes are looked at in steps, and made in one.

    AlterConfigs does the same (AC).
    """
    try:
        if asked.is_repeated:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "each resource may appear only once")
        yield from check_form(resource(call.node, *asked.key), asked.changes, pace)
        if asked.key == (TOPIC_RESOURCE, "") and not call.cluster.behaviours.altered_topics_are_found_first:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a topic's name cannot be empty")
        changed = resource(call.node, *asked.key)  # as it is after those steps
        changed.check_name()
        apply(changed, asked.changes, asked.validate_only, asked.replaces)
    except KafkaError as error:
        return error.code, error.message
    call.cluster.log_jobs.settings_changed(call.now)
    return ErrorCode.NONE, None
