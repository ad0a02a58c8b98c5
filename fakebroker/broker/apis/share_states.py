"""What the five APIs have in common by which brokers ask the share coordinator (KIP-932, keys 83 to 87).

Each names a group, topics by id and partitions, and is answered partition by partition, when all are answered. A
request without group id or topics gets an answer without results, as in Kafka.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from fakebroker.broker.core.share_state.states import NO_STATE, CodeAnswer, SharePartition, ShareState, StateAnswer
from fakebroker.protocol.errors import ErrorCode, KafkaError, cut
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call, Steps
    from fakebroker.broker.core.share_state.shard import ShareStateShard
    from fakebroker.protocol.schema import Message

PARTITIONS_PER_STEP = 5_000
_BATCHES_AS_A_PARTITION = 10  # that are stored: they cost about as much

Answer = TypeVar("Answer", bound="Message")


class Outcome(NamedTuple):
    """What came of one partition."""

    partition: int
    code: ErrorCode
    message: str | None
    state: ShareState


Topics = list[tuple[bytes, list[Any]]]
"""What is answered for partitions, by topic id, in the order of the request."""

Ask = Callable[["ShareStateShard", SharePartition, Any, StateAnswer], None]
"""Asks the shard about a share partition, given the request's entry of it; may raise KafkaError."""


def ask_all(
    call: "Call",
    request: Any,
    ask: Ask,
    partition: Callable[[Outcome], object],
    response: Callable[[Topics], Answer],
) -> Answer | None:
    """Ask about every partition of the request. The answer is there when all are answered.

    `partition` makes what the answer has for one outcome, `response` the answer.
    """
    return call.work(_Questions(call, request, ask, partition, response).in_steps(), must_finish=True)


class _Questions(Generic[Answer]):
    """All that one request asks; a frame of 1 MB may name 190,000 partitions."""

    def __init__(
        self,
        call: "Call",
        request: Any,
        ask: Ask,
        partition: Callable[[Outcome], object],
        response: Callable[[Topics], Answer],
    ) -> None:
        self._call = call
        self._group_id: str = request.group_id
        self._ask = ask
        self._partition = partition
        self._response = response
        topics = request.topics if request.group_id else ()
        self._entries = [(topic.topic_id, entry) for topic in topics for entry in topic.partitions]
        self._answers: list[object] = [None] * len(self._entries)
        self._left = len(self._entries)
        self._are_asked = False

    def in_steps(self) -> "Steps[Answer]":
        """Ask, some partitions in each step. Returns the answer; None: it is sent when the last one is stored."""
        pace = self._call.pace(PARTITIONS_PER_STEP)
        for index, (topic_id, entry) in enumerate(self._entries):
            key = SharePartition(self._group_id, topic_id, entry.partition)
            batches = self._ask_one(key, entry, partial(self._put, index))
            if pace.is_over(1 + batches // _BATCHES_AS_A_PARTITION):
                yield
        self._are_asked = True
        return None if self._left else self._answer()

    def _ask_one(self, key: SharePartition, entry: Any, done: Callable[[Outcome], None]) -> int:
        """Returns how many batches are stored of the partition."""

        def answered(code: ErrorCode, state: ShareState, _now: Instant) -> None:
            done(Outcome(key.partition, code, f"{cut(str(key))}: {code.name}" if code else None, state))

        try:
            shard = self._call.node.share_coordinator.shard(str(key), self._call.now)
            self._ask(shard, key, entry, answered)
            return shard.batches_of(key)
        except KafkaError as error:
            done(Outcome(key.partition, error.code, error.message or error.code.name, NO_STATE))
            return 0

    def _put(self, index: int, outcome: Outcome) -> None:
        self._answers[index] = self._partition(outcome)
        self._left -= 1
        if self._are_asked and not self._left:
            self._call.reply(self._answer())

    def _answer(self) -> Answer:
        topics: dict[bytes, list[object]] = {}
        for (topic_id, _), answer in zip(self._entries, self._answers, strict=True):
            topics.setdefault(topic_id, []).append(answer)
        return self._response(list(topics.items()))


def without_state(answer: StateAnswer) -> CodeAnswer:
    """For questions that are answered with a code only."""
    return lambda code, now: answer(code, NO_STATE, now)
