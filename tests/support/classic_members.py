"""A member of the classic protocol without a network, in the group "g" of a lab with one consumer group."""

from collections.abc import Mapping, Sequence

from fakebroker.broker.core.groups.classic.messages import JoinAnswer, JoinRequest, SyncAnswer, SyncRequest
from fakebroker.broker.core.groups.group import Group
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    assigned_partitions,
    encode_assignment,
    encode_subscription,
)
from tests.support.consumer_groups import OneConsumerGroup

Partitions = Mapping[str, Sequence[int]]


class ClassicClient:
    """One client: `joined` and `synced` are its last answers, None while a request is parked."""

    def __init__(
        self,
        lab: OneConsumerGroup,
        name: str,
        *,
        instance_id: str | None = None,
        topics: Sequence[str] = ("t",),
        protocols: Sequence[str] = ("range",),
        protocol_type: str = "consumer",
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 20_000,
        subscription_version: int = 1,
        metadata: bytes | None = None,
    ) -> None:
        """`metadata` is what it sends in place of a subscription."""
        self._lab = lab
        self.name = name
        self.member_id = ""
        self.generation = -1
        self.instance_id = instance_id
        self.topics = topics
        self.owned: Partitions = {}
        self.protocols = protocols
        self.protocol_type = protocol_type
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self._version = subscription_version
        self._metadata = metadata
        self.joined: JoinAnswer | None = None
        self.synced: SyncAnswer | None = None

    @property
    def group(self) -> Group:
        """The group "g", of whichever kind it is; made if it is not there."""
        shard = self._lab.shard
        return shard.group("g") or shard.create_group("g", self._lab.now)

    def send_join(self, **changes: object) -> JoinAnswer | None:
        """JoinGroup as v9 sends it; the answer, or None if it is parked."""
        self.joined = None
        request = JoinRequest(
            self.member_id,
            self.instance_id,
            self.name,
            "/127.0.0.1",
            self.session_timeout_ms,
            self.rebalance_timeout_ms,
            self.protocol_type,
            tuple((name, self._subscription()) for name in self.protocols),
        )
        self.group.join(request._replace(**changes), self._on_joined, self._lab.now)  # type: ignore[arg-type]
        return self.joined

    def join_first(self) -> None:
        """JoinGroup without a member id, which brings one."""
        answer = self.send_join()
        assert answer is not None
        assert answer.code is ErrorCode.MEMBER_ID_REQUIRED

    def join_again(self, owned: Partitions | None = None) -> JoinAnswer:
        """JoinGroup that is answered at once."""
        self.owned = self.owned if owned is None else owned
        answer = self.send_join()
        assert answer is not None
        return answer

    def send_sync(self, assignments: Sequence[tuple[str, Partitions]] = (), **changes: object) -> SyncAnswer | None:
        """SyncGroup as v5 sends it; the answer, or None if it is parked."""
        self.synced = None
        encoded = [
            (member_id, encode_assignment(ConsumerProtocolAssignment(assigned_partitions=_pairs(partitions))))
            for member_id, partitions in assignments
        ]
        request = SyncRequest(
            self.member_id, self.instance_id, self.generation, self.protocol_type, self.protocols[0], encoded
        )
        self.group.sync(request._replace(**changes), self._on_synced, self._lab.now)  # type: ignore[arg-type]
        return self.synced

    def sync(self, assignments: Sequence[tuple[str, Partitions]] = ()) -> None:
        """SyncGroup, parked or not."""
        self.send_sync(assignments)

    def heartbeat(self, **changes: object) -> ErrorCode:
        """Heartbeat of the present generation."""
        fields: dict[str, object] = {
            "member_id": self.member_id,
            "instance_id": self.instance_id,
            "generation": self.generation,
        }
        return self.group.heartbeat(**(fields | changes), now=self._lab.now)  # type: ignore[arg-type]

    def assigned(self) -> dict[str, list[int]]:
        """What the last SyncGroup was answered."""
        assert self.synced is not None
        assert self.synced.code is ErrorCode.NONE
        return assigned_partitions(self.synced.assignment)

    def _subscription(self) -> bytes:
        if self._metadata is not None:
            return self._metadata
        subscription = ConsumerProtocolSubscription(topics=list(self.topics), owned_partitions=_pairs(self.owned))
        return encode_subscription(subscription, self._version)

    def _on_joined(self, answer: JoinAnswer) -> None:
        self.joined = answer
        if answer.code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = answer.member_id
        if answer.code is ErrorCode.NONE:
            self.generation = answer.generation

    def _on_synced(self, answer: SyncAnswer) -> None:
        self.synced = answer


def _pairs(partitions: Partitions) -> list[tuple[str, list[int]]]:
    return [(topic, list(indexes)) for topic, indexes in partitions.items()]
