"""Members of a consumer group as consumers are: slow to give partitions up, and not sure to get an answer."""

from collections.abc import Mapping

from fakebroker.core.groups.consumer.messages import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, HeartbeatAnswer
from fakebroker.errors import ErrorCode, KafkaError
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
    """One member. `reads` are the partitions that it works on, `told` those that it was last told to have.

    It reads partitions as soon as it hears of them, and stops with others when it gets round to it (`stop_others`).
    """

    def __init__(self, one: OneConsumerGroup, member_id: str, instance_id: str | None) -> None:
        self.one = one
        self.member_id = member_id
        self.instance_id = instance_id
        self.topics: list[str] = []
        self.pattern: str | None = None
        self.epoch = 0
        self.reads: Partitions = {}
        self.told: Partitions = {}
        self.is_away = False

    def subscribe(self, topics: list[str], pattern: str | None) -> None:
        """Want other topics, which the next heartbeat says."""
        self.topics, self.pattern = topics, pattern
        self._told_topics: tuple[list[str], str | None] | None = None

    def heartbeat(self, *, answer_is_lost: bool = False, reports: bool = True) -> None:
        """A heartbeat: it joins unless it has, and `reports` says whether it lists what it reads."""
        owned = {} if self.epoch == 0 else self.one.names(self.reads) if reports else None
        if owned is not None:
            owned.pop("?", None)  # a topic that is gone: the coordinator does not ask for it
        says = self._told_topics != (self.topics, self.pattern)
        try:
            answer = self.one.send(
                self.member_id,
                self.epoch,
                owned,
                topics=self.topics if says or self.epoch == 0 else None,
                pattern=(self.pattern or "") if says or self.epoch == 0 else None,
                instance=self.instance_id,
                rebalance=5_000 if self.epoch == 0 else -1,
            )
        except KafkaError as error:
            self._fenced(error)
            return
        if not answer_is_lost:
            self._hear(answer)
            self._told_topics = self.topics, self.pattern

    def _hear(self, answer: HeartbeatAnswer) -> None:
        self.epoch, self.is_away = answer.member_epoch, False
        if answer.assignment is not None:
            self.told = {topic_id: frozenset(listed) for topic_id, listed in answer.assignment.items()}
            self.reads = {
                topic_id: self.reads.get(topic_id, frozenset()) | self.told.get(topic_id, frozenset())
                for topic_id in {**self.reads, **self.told}
            }

    def stop_others(self) -> None:
        """It stops with what it was not told to have."""
        self.reads = {
            topic_id: mine
            for topic_id, listed in self.reads.items()
            if (mine := listed & self.told.get(topic_id, frozenset()))
        }

    def stop(self) -> None:
        """It stops with everything, and will join again."""
        self.epoch, self.reads, self.told, self._told_topics = 0, {}, {}, None

    def leave(self, *, for_a_while: bool) -> None:
        """It stops with everything, and says so; a static member may say that it will be back."""
        joined = self.epoch != 0
        self.stop()
        if joined:
            self.is_away = for_a_while and self.instance_id is not None
            epoch = STATIC_LEAVE_EPOCH if self.is_away else LEAVE_EPOCH
            try:
                self.one.send(self.member_id, epoch, instance=self.instance_id)
            except KafkaError as error:
                self._fenced(error)

    def _fenced(self, error: KafkaError) -> None:
        if error.code not in _FENCED:
            raise error
        self.stop()
