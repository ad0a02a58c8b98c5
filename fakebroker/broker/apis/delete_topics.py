"""DeleteTopics, key 20, v0-v6: by name, from v6 on also by id (KIP-4, KIP-516, XT).

v1 throttle time; v4 flexible; v5 error message; v6 entries with a name or an id. Kafka 4 serves v1 on.

MOCK: done at once; entries that contradict themselves come first in the answer, then names, then ids (AD-1, AD-3).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call, RequestQuota, Steps
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError, shown
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

if TYPE_CHECKING:
    from fakebroker.protocol.pace import Pace

ENTRIES_PER_STEP = 10_000
GROUPS_PER_STEP = 2_000
_TOPIC_COSTS_GROUPS = 5
_BOTH = "You may not specify both topic name and topic id."
_NEITHER = "Neither topic name nor id were specified."


def handle(
    call: Call, request: DeleteTopicsRequest, may_delete: Callable[[Topic], bool] = lambda _topic: True
) -> DeleteTopicsResponse | None:
    """Each topic on its own; entries that contradict each other delete nothing (XT-3).

    `may_delete` says whether the client may delete a topic that did not exist when its rights were looked at.
    """
    return call.work(_in_steps(call, request, may_delete), must_finish=True)


def _in_steps(
    call: Call, request: DeleteTopicsRequest, may_delete: Callable[[Topic], bool]
) -> Steps[DeleteTopicsResponse]:
    """A topic is gone in one step; the offsets that groups have of it go in more of them (EX-12)."""
    entries = request.topics if call.version >= 6 else [DeleteTopicState(name=name) for name in request.topic_names]
    if not call.node.settings.get_bool("delete.topic.enable"):
        code = ErrorCode.TOPIC_DELETION_DISABLED if call.version >= 3 else ErrorCode.INVALID_REQUEST
        return DeleteTopicsResponse(
            responses=[
                _error_result(entry.name, entry.topic_id, code, "delete.topic.enable is false") for entry in entries
            ]
        )
    responses, valid = yield from parted(call, entries, call.pace(ENTRIES_PER_STEP))
    if valid and request.timeout_ms <= 0:  # AD-5
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    topics = call.cluster.topics
    names = {entry.name: topics.get(entry.name) for entry in valid if entry.name is not None}
    ids = dict.fromkeys(entry.topic_id for entry in valid if entry.name is None)
    pace = call.pace(GROUPS_PER_STEP)
    for each in _found(call, names, ids, may_delete):
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


def parted(
    call: Call, entries: Sequence[DeleteTopicState], pace: "Pace"
) -> Generator[None, None, tuple[list[DeletableTopicResult], list[DeleteTopicState]]]:
    """The errors for invalid entries, and the valid entries: each has a name or an id, and none comes twice.

    In steps, at this pace. Of one that is repeated none is valid; in 2.1.1 the first is (XT-3).
    Rights are looked at for the valid ones only, and for each of them.
    """
    invalid, named = list[DeletableTopicResult](), dict[tuple[str | None, bytes], DeleteTopicState]()
    repeated, refuse_repeated = set[tuple[str | None, bytes]](), call.cluster.behaviours.repeated_deletions_are_refused
    for entry in entries:
        key = entry.name, entry.topic_id
        if (entry.name is None) == (entry.topic_id == ZERO_UUID):
            invalid.append(_error_result(*key, ErrorCode.INVALID_REQUEST, _NEITHER if entry.name is None else _BOTH))
        elif named.setdefault(key, entry) is not entry and refuse_repeated:
            repeated.add(key)
        if pace.is_over():
            yield
    for name, topic_id in repeated:
        text = f"Duplicate topic {'id' if name is None else 'name'}."
        invalid.append(_error_result(name, topic_id, ErrorCode.INVALID_REQUEST, text))
    return invalid, [entry for key, entry in named.items() if key not in repeated]


def _found(
    call: Call, names: dict[str, Topic | None], ids: dict[bytes, None], may_delete: Callable[[Topic], bool]
) -> Iterator[DeletableTopicResult | Topic]:
    """What to delete, or why not; each is looked for when those before it are gone.

    `names` has what they meant at the beginning: a topic that was made meanwhile stays. So does one that the client may
    not delete, which was made before that and after its rights were looked at.
    """
    for name, topic in names.items():
        found = _by_name(call, name, ids)
        is_new = isinstance(found, Topic) and (found is not topic or not may_delete(found))
        yield _unknown_name(name) if is_new else found
    for topic_id in ids:
        found = _by_id(call, topic_id)
        yield _unknown_id(topic_id) if isinstance(found, Topic) and not may_delete(found) else found


def _by_name(call: Call, name: str, ids: dict[bytes, None]) -> DeletableTopicResult | Topic:
    """An id that means the same topic is taken out of `ids`: the two are answered here, once."""
    topic = call.cluster.topics.get(name)
    if topic is None:
        return _unknown_name(name)
    if topic.id in ids:
        del ids[topic.id]
        text = "The provided topic name maps to an ID that was already supplied."
        return _error_result(name, topic.id, ErrorCode.INVALID_REQUEST, text)
    return topic


def _by_id(call: Call, topic_id: bytes) -> DeletableTopicResult | Topic:
    topic = call.cluster.topics.by_id(topic_id)
    return _unknown_id(topic_id) if topic is None else topic


def _unknown_name(name: str) -> DeletableTopicResult:
    return _error_result(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {shown(name)}")


def _unknown_id(topic_id: bytes) -> DeletableTopicResult:
    return _error_result(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")


def _error_result(name: str | None, topic_id: bytes, code: ErrorCode, message: str) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message=message)
