"""Requests about logs against one cluster without a network; requests and answers go through their wire format."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.cluster import make_cluster
from tests.support.time import T0

NOW = Instant(wall_ms=T0 + 1_000_000, mono_ms=0)


def batch(*times_ms: int, key: bytes | None = b"k", **fields: Any) -> bytes:
    """A batch with a record per timestamp."""
    return build_batch([Record(n, time_ms, key, b"v") for n, time_ms in enumerate(times_ms)], **fields)


class LogApis:
    """A cluster of up to three brokers with a topic "t" of two partitions, all led by broker 1."""

    def __init__(
        self,
        make_call: Callable[..., Call],
        as_release: str = "4.3",
        nodes: int = 1,
        settings: dict[str, object] | None = None,
        **config: object,
    ) -> None:
        self._make_call = make_call
        self.cluster = make_cluster(settings, as_release=as_release, node_ids=tuple(range(1, nodes + 1)))
        own = {name.replace("_", "."): str(value) for name, value in config.items()}
        everywhere = list(range(1, nodes + 1))
        self.topic = self.cluster.topics.create("t", config=own, assignments=[everywhere, everywhere])
        self.now = NOW

    @property
    def partition(self) -> Partition:
        return self.topic.partitions[0]

    @property
    def log(self) -> PartitionLog:
        return self.partition.log

    def append(self, *times_ms: int, **fields: Any) -> None:
        self.log.append(batch(*times_ms, **fields), self.now)

    def call(self, api: ModuleType, request: Any, version: int, node_id: int = 1) -> tuple[Call, Any]:
        """The call as its handler left it, and what it returned as the client decodes it."""
        call = self._make_call(self.cluster, version, now=self.now)
        call.node = self.cluster.nodes[node_id]
        decoded, _ = type(request).decode(request.encode(version), version)
        response = api.handle(call, decoded)
        if response is not None:
            response, _ = type(response).decode(response.encode(version), version)
        return call, response

    def ask(self, api: ModuleType, request: Any, version: int, node_id: int = 1) -> Any:
        """The response as the client decodes it."""
        return self.call(api, request, version, node_id)[1]
