"""Members of a consumer group as consumers are: slow to give partitions up, and not sure to get an answer."""

from collections.abc import Mapping

from fakebroker.broker.core.groups.consumer.messages import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, HeartbeatAnswer
from fakebroker.protocol.errors import ErrorCode
from tests.support.consumer_groups import OneConsumerGroup

Partitions = Mapping[bytes, frozenset[int]]  # topic id -> partitions

# What a consumer makes of an error: it is no member any more, or not at this epoch; or somebody has its instance id.
_FENCED = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.UNRELEASED_INSTANCE_ID,
}


class ConsumerClient:
    """One member. `reads` are the partitions that it works on, `assigned` those of the last answer.

    It reads partitions as soon as it hears of them, and stops with others when it gets round to it (`stop_others`).
    """

    def __init__(self, one: OneConsumerGroup, member_id: str, instance_id: str | None) -> None:
        self.one = one
        self.member_id = member_id
        self.instance_id = instance_id
        self.topics: list[str] = []
        self.pattern: str | None = None
        self._sent_topics: tuple[list[str], str | None] | None = None
        self.epoch = 0
        self.reads: Partitions = {}
        self.assigned: Partitions = {}
        self.is_unsure = False  # it has lost an answer: it says everything again, and gets everything (CGH-40)

    def subscribe(self, topics: list[str], pattern: str | None) -> None:
        """Want other topics, which the next heartbeat says."""
        self.topics, self.pattern = topics, pattern

    def heartbeat(self, *, answer_is_lost: bool = False, reports: bool = True) -> None:
        """A heartbeat: it joins unless it has, and `reports` says whether it lists what it reads."""
        says_all = self.epoch == 0 or self.is_unsure
        owned = {} if self.epoch == 0 else self.one.names(self.reads) if reports or says_all else None
        if owned is not None:
            owned.pop("?", None)  # a topic that is gone: the coordinator does not ask for it
        says_topics = says_all or self._sent_topics != (self.topics, self.pattern)
        answer = self.one.send(
            self.member_id,
            self.epoch,
            owned,
            topics=self.topics if says_topics else None,
            pattern=(self.pattern or "") if says_topics else None,
            instance=self.instance_id,
            rebalance=5_000 if says_all else -1,
        )
        self.is_unsure = answer_is_lost
        if answer_is_lost:
            return
        if answer.code:
            self._fenced(answer)
        else:
            self._hear(answer)
            self._sent_topics = self.topics, self.pattern

    def _hear(self, answer: HeartbeatAnswer) -> None:
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.assigned = {topic_id: frozenset(listed) for topic_id, listed in answer.assignment.items()}
            self.reads = {
                topic_id: self.reads.get(topic_id, frozenset()) | self.assigned.get(topic_id, frozenset())
                for topic_id in {**self.reads, **self.assigned}
            }

    def stop_others(self) -> None:
        """The client stops reading the partitions that it was not assigned."""
        self.reads = {
            topic_id: mine
            for topic_id, listed in self.reads.items()
            if (mine := listed & self.assigned.get(topic_id, frozenset()))
        }

    def stop(self) -> None:
        """It stops with everything, and will join again."""
        self.epoch, self.reads, self.assigned, self._sent_topics = 0, {}, {}, None

    def leave(self, *, for_a_while: bool) -> None:
        """It stops with everything, and says so; a static member may say that it will be back."""
        joined = self.epoch != 0
        self.stop()
        if joined:
            epoch = STATIC_LEAVE_EPOCH if for_a_while and self.instance_id is not None else LEAVE_EPOCH
            answer = self.one.send(self.member_id, epoch, instance=self.instance_id)
            if answer.code:
                self._fenced(answer)

    def _fenced(self, answer: HeartbeatAnswer) -> None:
        assert answer.code in _FENCED, answer
        self.stop()
