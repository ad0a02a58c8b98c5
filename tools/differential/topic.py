"""Topics of both brokers."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import Unavailable
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema.jsonable import uuid_to_text

READY_S = 30
_POLL_S = 0.03


class Topic(NamedTuple):
    """A topic that both brokers have, with its id on the reference and on the subject, "" where topics have none."""

    name: str
    topic_id: str
    subject_id: str


class NewTopics(NamedTuple):
    """Topics to be made: their names, how many partitions each has, and their configs."""

    names: Sequence[str]
    partitions: int
    configs: Mapping[str, str]

    def make(self, address: Address, versions: Mapping[str, range]) -> list[str]:
        """Make them on a broker that serves these versions, and wait for their leaders; returns their ids.

        A broker without CreateTopics is expected to make them when it is asked for them. Raises Unavailable.
        """
        clients = ScriptedClients(TcpDriver(*address))
        try:
            client = clients.client("differential-topics")
            if "CreateTopics" in versions:
                self._create(client, min(7, versions["CreateTopics"][-1]))
            return self._ids(client, min(12, versions["Metadata"][-1]))
        finally:
            clients.close()

    def _create(self, client: ScriptedClient, version: int) -> None:
        configs = [{"name": name, "value": value} for name, value in self.configs.items()]
        topics = [
            {
                "name": name,
                "num_partitions": self.partitions,
                "replication_factor": 1,
                "assignments": [],
                "configs": configs,
            }
            for name in self.names
        ]
        client.request("CreateTopics", version, topics=topics, timeout_ms=9_000)

    def _ids(self, client: ScriptedClient, version: int) -> list[str]:
        end_s = time.monotonic() + READY_S
        while time.monotonic() < end_s:
            found = client.request("Metadata", version, topics=[{"name": name} for name in self.names]).topics
            codes = [each.error_code for topic in found for each in (topic, *topic.partitions)]
            if not any(codes) and all(topic.partitions for topic in found) and self._have_logs(client):
                ids = {topic.name: uuid_to_text(topic.topic_id) if any(topic.topic_id) else "" for topic in found}
                return [ids[name] for name in self.names]
            time.sleep(_POLL_S)
        raise Unavailable(f"topics {', '.join(self.names)} have no leaders after {READY_S} s")

    def _have_logs(self, client: ScriptedClient) -> bool:
        rows = [(index, -1, -1, 1) for index in range(self.partitions)]
        topics = [{"name": name, "partitions": rows} for name in self.names]
        answer = client.request("ListOffsets", 1, replica_id=-1, topics=topics)
        return not any(row[1] for topic in answer.topics for row in topic.partitions)
