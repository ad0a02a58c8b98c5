"""The broker of a test, a fakebroker or a real Kafka, as far as both can be asked over the wire."""

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fakebroker import FakeBroker
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode
from fakebroker.testing.handles.clock import ClockHandle

_LOOK_S = 0.05
_GENERATIONS = 100  # more than any group of a test has


class Described(NamedTuple):
    """A group as the broker describes it."""

    state: str
    protocol: str
    member_ids: tuple[str, ...]


class Broker:
    """A broker for a test.

    Attributes:
        bootstrap: Where it listens.
    """

    _names = itertools.count(1)  # a Kafka serves several tests

    def __init__(self, bootstrap: str, fake: FakeBroker | None = None) -> None:
        self.bootstrap, self._fake = bootstrap, fake
        host, port = bootstrap.rsplit(":", 1)
        self._clients = ScriptedClients(TcpDriver(host, int(port)))
        self.admin: ScriptedClient = self._clients.client("admin")

    @property
    def clock(self) -> ClockHandle:
        """The time of a fakebroker; a Kafka has none that a test can change."""
        assert self._fake, "a Kafka has no clock that a test can change"
        return self._fake.clock

    def new_topic(self, partitions: int, **configs: object) -> str:
        """Make a topic that keeps records of any age; `segment_ms` is "segment.ms". Returns its name."""
        name = f"orders-{next(self._names)}"
        settings = {key.replace("_", "."): str(value) for key, value in {"retention_ms": -1, **configs}.items()}
        made = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "configs": [{"name": key, "value": value} for key, value in settings.items()],
        }
        (answer,) = self.admin.request("CreateTopics", topics=[made], timeout_ms=10_000).topics
        assert answer.error_code == 0, answer
        self._await(f"{name} has leaders", lambda: self._has_leaders(name))
        return name

    def _has_leaders(self, name: str) -> bool:
        (topic,) = self.admin.request("Metadata", topics=[{"name": name}]).topics
        return topic.error_code == 0 and all(each.error_code == 0 for each in topic.partitions)

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Move the starts of partitions' logs to these offsets."""
        partitions = [{"partition_index": index, "offset": offset} for index, offset in before.items()]
        answer = self.admin.request(
            "DeleteRecords", topics=[{"name": topic, "partitions": partitions}], timeout_ms=10_000
        )
        assert [each.error_code for each in answer.topics[0].partitions] == [0] * len(before)

    def group(self, group_id: str) -> "Group":
        """A group, which need not be there."""
        return Group(self, group_id)

    def committed(self, group_id: str, topic: str, partitions: int) -> dict[int, int]:
        """The offsets that a group has committed for a topic, by partition; -1 where it has none."""
        asked = [{"name": topic, "partition_indexes": list(range(partitions))}]
        answer = self.admin.request("OffsetFetch", 7, group_id=group_id, topics=asked, require_stable=True)
        return {partition: offset for partition, offset, *_ in answer.topics[0].partitions}

    def close(self) -> None:
        """Close the connections."""
        self._clients.close()

    @staticmethod
    def _await(what: str, condition: Callable[[], bool], timeout_s: float = 30) -> None:
        end_s = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < end_s, f"not within {timeout_s} s: {what}"
            time.sleep(_LOOK_S)


class Group:
    """A group of a broker, of either protocol."""

    def __init__(self, broker: Broker, group_id: str) -> None:
        self._broker, self.group_id = broker, group_id

    def described(self) -> Described:
        """As it is now."""
        (found,) = self._broker.admin.request("DescribeGroups", groups=[self.group_id]).groups
        if found.group_state == "Dead":  # or it is of the other protocol
            (newer,) = self._broker.admin.request("ConsumerGroupDescribe", group_ids=[self.group_id]).groups
            if newer.error_code == 0:
                return Described(newer.group_state, "consumer", _ids(newer))
        return Described(found.group_state, found.protocol_data, _ids(found))

    @property
    def generation(self) -> int:
        """Of a classic group: the one in which a member's heartbeat is accepted."""
        member_id = self.described().member_ids[0]
        for generation in range(1, _GENERATIONS):
            request = {"group_id": self.group_id, "generation_id": generation, "member_id": member_id}
            code = self._broker.admin.request("Heartbeat", **request).error_code
            if code != ErrorCode.ILLEGAL_GENERATION:
                return generation
        raise AssertionError(f"{self.group_id} has no generation below {_GENERATIONS}")


def _ids(group: Any) -> tuple[str, ...]:
    return tuple(sorted(member.member_id for member in group.members))
