"""What the five APIs have in common by which brokers ask the share coordinator (KIP-932, keys 83 to 87).

Each names a group, topics by id and partitions, and is answered partition by partition, when all are answered. A
request without group id or topics gets an answer without results, as in Kafka.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.core.share_state.states import NO_STATE, CodeAnswer, SharePartition, ShareState, StateAnswer
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.core.share_state.shard import ShareStateShard
    from fakebroker.protocol.schema import Message


class Outcome(NamedTuple):
    """What came of one partition."""

    partition: int
    code: ErrorCode
    message: str | None
    state: ShareState


Results = list[tuple[bytes, list[Outcome]]]
"""Outcomes by topic id, in the order of the request."""

Ask = Callable[["ShareStateShard", SharePartition, Any, StateAnswer], None]
"""Asks the shard about a share partition, given the request's entry of it; may raise KafkaError."""


def ask_all(
    call: "Call", group_id: str, topics: Iterable[Any], ask: Ask, response: Callable[[Results], "Message"]
) -> None:
    """Ask about every partition of the request, and reply with `response` when all are answered."""
    entries = [(topic.topic_id, entry) for topic in topics for entry in topic.partitions] if group_id else []
    outcomes: list[Outcome | None] = [None] * len(entries)
    left = len(entries)

    def reply() -> None:
        results: dict[bytes, list[Outcome]] = {}
        for (topic_id, _), outcome in zip(entries, outcomes, strict=True):
            if outcome is not None:
                results.setdefault(topic_id, []).append(outcome)
        call.reply(response(list(results.items())))

    def put(index: int, outcome: Outcome) -> None:
        nonlocal left
        outcomes[index] = outcome
        left -= 1
        if not left:
            reply()

    if not entries:
        reply()
    for index, (topic_id, entry) in enumerate(entries):
        _ask_one(call, SharePartition(group_id, topic_id, entry.partition), entry, ask, _putter(put, index))


def without_state(answer: StateAnswer) -> CodeAnswer:
    """For questions that are answered with a code only."""
    return lambda code, now: answer(code, NO_STATE, now)


def _putter(put: Callable[[int, Outcome], None], index: int) -> Callable[[Outcome], None]:
    return lambda outcome: put(index, outcome)


def _ask_one(call: "Call", key: SharePartition, entry: Any, ask: Ask, done: Callable[[Outcome], None]) -> None:
    def answered(code: ErrorCode, state: ShareState, _now: Instant) -> None:
        done(Outcome(key.partition, code, f"{key}: {code.name}" if code else None, state))

    try:
        ask(call.node.share_coordinator.shard(str(key), call.now), key, entry, answered)
    except KafkaError as error:
        done(Outcome(key.partition, error.code, error.message or error.code.name, NO_STATE))
