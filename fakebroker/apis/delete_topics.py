"""DeleteTopics, key 20, v0-v6: by name, from v6 on also by id (KIP-4, KIP-516, XT).

v1 throttle time; v4 flexible; v5 error message; v6 entries with a name or an id. Kafka 4 serves v1 on.

MOCK: done at once; entries that contradict themselves come first in the answer, then names, then ids (AD-1, AD-3).
"""

from collections import Counter
from collections.abc import Iterator

from fakebroker.apis.call import Call, RequestQuota, Steps
from fakebroker.core.pace import Pace
from fakebroker.core.topics import Topic
from fakebroker.errors import ErrorCode, KafkaError, shown
from fakebroker.schema import ZERO_UUID
from fakebroker.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

GROUPS_PER_STEP = 2_000
_TOPIC_COSTS_GROUPS = 5


def handle(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse | None:
    """Each topic on its own; entries that contradict each other delete nothing (XT-3)."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: DeleteTopicsRequest) -> Steps[DeleteTopicsResponse]:
    """A topic is gone in one step; the offsets that groups have of it go in more of them (EX-12)."""
    entries = request.topics if call.version >= 6 else [DeleteTopicState(name=name) for name in request.topic_names]
    if not call.node.settings.get_bool("delete.topic.enable"):
        code = ErrorCode.TOPIC_DELETION_DISABLED if call.version >= 3 else ErrorCode.INVALID_REQUEST
        return DeleteTopicsResponse(
            responses=[
                _error_result(entry.name, entry.topic_id, code, "delete.topic.enable is false") for entry in entries
            ]
        )
    names = Counter(entry.name for entry in entries if entry.name is not None and entry.topic_id == ZERO_UUID)
    ids = Counter(entry.topic_id for entry in entries if entry.name is None and entry.topic_id != ZERO_UUID)
    responses = [
        _error_result(entry.name, entry.topic_id, ErrorCode.INVALID_REQUEST, "an entry needs either a name or an id")
        for entry in entries
        if (entry.name is None) == (entry.topic_id == ZERO_UUID)
    ]
    pace = Pace(GROUPS_PER_STEP)
    for each in _found(call, names, ids):
        found = each if call.quota is None or not isinstance(each, Topic) else _counted(call.quota, each)
        if isinstance(found, Topic):
            responses.append(DeletableTopicResult(name=found.name, topic_id=found.id))
            steps = call.cluster.topics.delete_in_steps(found.name, call.now)
        else:
            responses.append(found)
            steps = iter((1,))
        for groups in steps:  # the first is taken at once: no pause comes between looking for a topic and its end
            if pace.is_over(groups or _TOPIC_COSTS_GROUPS):
                yield
    return DeleteTopicsResponse(responses=responses)


def _counted(quota: RequestQuota, topic: Topic) -> DeletableTopicResult | Topic:
    """The topic, or the error if the client's quota does not let it be deleted now (QU-7)."""
    try:
        quota.mutated(len(topic.partitions))
    except KafkaError as error:
        return _error_result(topic.name, topic.id, error.code, error.message or "")
    return topic


def _found(call: Call, names: Counter[str], ids: Counter[bytes]) -> Iterator[DeletableTopicResult | Topic]:
    """What to delete, or why not; each is looked for when those before it are gone."""
    for name, times in names.items():
        yield _by_name(call, name, times, ids)
    for topic_id, times in ids.items():
        yield _by_id(call, topic_id, times)


def _by_name(call: Call, name: str, times: int, ids: Counter[bytes]) -> DeletableTopicResult | Topic:
    """An id that means the same topic is taken out of `ids`: the two are answered here, once."""
    if times > 1:
        return _error_result(
            name, ZERO_UUID, ErrorCode.INVALID_REQUEST, f"{shown(name)} is in the request {times} times"
        )
    topic = call.cluster.topics.get(name)
    if topic is None:
        return _error_result(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {shown(name)}")
    if ids.pop(topic.id, 0):
        return _error_result(
            name, topic.id, ErrorCode.INVALID_REQUEST, f"{shown(name)} is also in the request by its id"
        )
    return topic


def _by_id(call: Call, topic_id: bytes, times: int) -> DeletableTopicResult | Topic:
    if times > 1:
        return _error_result(None, topic_id, ErrorCode.INVALID_REQUEST, f"the id is in the request {times} times")
    topic = call.cluster.topics.by_id(topic_id)
    if topic is None:
        return _error_result(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic of this id")
    return topic


def _error_result(name: str | None, topic_id: bytes, code: ErrorCode, message: str) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message=message)
