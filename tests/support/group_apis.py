"""Group APIs on a cluster without a network: requests by field names in, responses out, time driven."""

from collections.abc import Callable
from typing import Any

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.handlers import handler
from fakebroker.broker.core.coordinator.coordinator import GroupCoordinator
from fakebroker.protocol.wire.registry import api
from tests.support.cluster import by_kafka_name, make_cluster
from tests.support.parked import Sent
from tests.support.time import TimeDriven


class GroupApis(TimeDriven):
    """A cluster whose first node is asked. `node_ids` (1, 2) makes groups that the second one coordinates."""

    def __init__(
        self,
        make_call: Callable[..., Call],
        as_release: str = "4.3",
        node_ids: tuple[int, ...] = (1,),
        **settings: object,
    ) -> None:
        values = by_kafka_name(settings)
        values.setdefault("offsets.topic.replication.factor", 1)
        self.cluster = make_cluster(values, as_release, node_ids=node_ids)
        super().__init__(self.cluster.timers)
        self._make_call = make_call

    @property
    def coordinator(self) -> GroupCoordinator:
        return self.cluster.nodes[1].coordinator

    def send(self, name: str, version: int, *, client_id: str | None = "test", **request: Any) -> Sent:
        """Have the handler of an API answer; the request and the answer go through bytes of that version."""
        wire = api(name)
        call = self._make_call(self.cluster, version, client_id=client_id, now=self.now)
        decoded, _ = wire.request.decode(wire.request(**request).encode(version), version)
        returned = handler(wire.key).handle(call, decoded)
        return Sent(call, wire.response, returned)

    def ask(self, name: str, version: int, **request: Any) -> Any:
        """The same for requests that are answered at once."""
        answer = self.send(name, version, **request).answer
        assert answer is not None, "parked"
        return answer

    def stable(self, group_id: str, members: int = 1) -> list[str]:
        """A Stable group of generation 1 with dynamic members; the first one leads."""
        joins = [self.send("JoinGroup", 3, **join(group_id)) for _ in range(members)]
        self.wait(6000)
        ids = [sent.member_id for sent in joins]
        for member_id in ids:
            self.send("SyncGroup", 3, group_id=group_id, generation_id=1, member_id=member_id)
        return ids

    def load_slowly(self, group_id: str) -> None:
        """The group's partition is being read from now on."""
        self.coordinator.load(self.cluster.group_partition(group_id).index, self.now, for_ms=60_000)

    def elsewhere(self, leader: int = 2) -> str:
        """A group that node `leader` coordinates."""
        names = (f"group-{number}" for number in range(1000))
        return next(name for name in names if self.cluster.group_partition(name).leader == leader)


def join(group_id: str, member_id: str = "", **changes: Any) -> dict[str, Any]:
    """The fields of a JoinGroup."""
    from fakebroker.protocol.wire.messages.join_group import JoinGroupRequestProtocol

    fields: dict[str, Any] = {
        "group_id": group_id,
        "member_id": member_id,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"m")],
    }
    return fields | changes
