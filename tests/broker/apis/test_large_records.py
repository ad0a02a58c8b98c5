"""Records of 100 KB, 1 MB and 10 MB through every API that carries records, as its messages declare them.

An API with a field of type records that has no way here fails the first test.
"""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.listeners import PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL, Listener
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema.emit_locate import has_records
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from fakebroker.protocol.wire.messages.share_fetch import FetchPartition as SharePartition
from fakebroker.protocol.wire.messages.share_fetch import FetchTopic as ShareTopic
from fakebroker.protocol.wire.registry import APIS, api
from tests.support.engine import Client
from tests.support.logins import RIGHT
from tests.support.rights import AUTHORIZER, allow
from tests.support.share_fetches import ShareGroupLab
from tests.support.throttled import InVirtualTime, set_quotas
from tests.support.time import T0

KB = 1000
SIZES = [(100, 1 * KB), (1, 100 * KB), (10, 100 * KB)]  # batches, and bytes of the value of each
LARGE = [(100, 100 * KB), (11, 950 * KB), (1, 10_000 * KB)]
ROOM = 64 << 20


class Lab(ShareGroupLab):
    """A broker with a topic "t" and a share group "g", and what one of the conditions below makes of both."""

    def __init__(self, protocol: str = PLAINTEXT, **settings: object) -> None:
        super().__init__(
            settings={"message.max.bytes": ROOM, **settings},
            listeners=[Listener(1, "127.0.0.1", 9092, protocol=protocol)],
        )
        self.sim.cluster.credentials.add_user("alice", "pa", 0)
        self.protocol = protocol

    def clear_client(self) -> Client:
        """A client that may do everything, logged in as alice where that has to be."""
        client = self.sim.client()
        if self.protocol in (SASL_PLAINTEXT, SASL_SSL):
            assert client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
            assert client.ask("SaslAuthenticate", 2, auth_bytes=RIGHT).error_code == 0
        return client

    def fill(self, batches: int, size: int) -> bytes:
        """Append batches; all that is stored."""
        batch = build_batch([Record(0, T0, None, b"v" * size)])
        for _ in range(batches):
            self.log().append(batch, self.sim.network.now)
        return b"".join(self.log().batches())

    def answered(self, client: Client, name: str, version: int, **fields: Any) -> Any:
        """The answer, which a fault or a quota may hold back."""
        found = client.ask(name, version, **fields)
        for _ in range(20):
            if found is None:
                self.wait(500)
                found = client.answer(name, version)
        assert not self.sim.engine.errors
        return found


def with_rights() -> Lab:
    lab = Lab(SASL_PLAINTEXT, **AUTHORIZER)
    for operation, kind, name in (
        ("READ", "TOPIC", "t"), ("WRITE", "TOPIC", "t"), ("DESCRIBE", "TOPIC", "t"), ("READ", "GROUP", "g"),
    ):  # fmt: skip
        allow(lab.sim, operation, kind, name)
    return lab


def with_quotas() -> Lab:
    lab = Lab()
    quotas = {"producer_byte_rate": 1e8, "consumer_byte_rate": 1e9, "request_percentage": 100.0}
    set_quotas(InVirtualTime(lab.sim), [("client-id", None)], **quotas)
    return lab


def with_fault(**fault: Any) -> Callable[[], Lab]:
    def make() -> Lab:
        lab = Lab()
        lab.sim.engine.faults.add(FaultSpec(**fault))
        return lab

    return make


CONDITIONS: dict[str, Callable[[], Lab]] = {
    "plain": Lab,
    "TLS": lambda: Lab(SSL),
    "SASL": lambda: Lab(SASL_PLAINTEXT),
    "SASL and TLS": lambda: Lab(SASL_SSL),
    "rights": with_rights,
    "quotas": with_quotas,
    "a delay": with_fault(delay_s=0.2),
    "a delay of the answer": with_fault(delay_s=0.2, after="applied"),
    "a throttle time": with_fault(throttle_ms=10),
    "a slow answer": with_fault(action="slow", bytes_per_s=1_000_000_000),
}


def produce(lab: Lab, client: Client, version: int, batches: int, size: int) -> None:
    batch = build_batch([Record(0, T0, None, b"v" * size)])
    rows = [PartitionProduceData(index=0, records=batch)]
    topic = TopicProduceData(name="t", topic_id=lab.topic.id if version >= 13 else bytes(16), partition_data=rows)
    for _ in range(batches):
        answer = lab.answered(client, "Produce", version, acks=-1, timeout_ms=1000, topic_data=[topic])
        assert answer.responses[0].partition_responses[0].error_code == 0
    assert sum(map(len, lab.log().batches())) == batches * len(batch)


def fetch(lab: Lab, client: Client, version: int, batches: int, size: int) -> None:
    stored = lab.fill(batches, size)
    row = (0, -1, 0, -1, -1, ROOM, bytes(16), 2**63 - 1)
    topic = FetchTopic(topic="t", topic_id=lab.topic.id if version >= 13 else bytes(16), partitions=[row])
    limits = {"max_wait_ms": 100, "min_bytes": 1, "max_bytes": ROOM}
    answer = lab.answered(client, "Fetch", version, topics=[topic], **limits)
    assert answer.responses[0].partitions[0].error_code == 0
    assert answer.responses[0].partitions[0].records == stored


def share_fetch(lab: Lab, client: Client, version: int, batches: int, size: int) -> None:
    stored = lab.fill(batches, size)
    topic = ShareTopic(topic_id=lab.topic.id, partitions=[SharePartition(partition_index=0)])
    limits = {"max_wait_ms": 100, "min_bytes": 1, "max_bytes": ROOM, "max_records": 500, "batch_size": 500}
    ids = {"group_id": "g", "member_id": "m", "share_session_epoch": 0}
    answer = lab.answered(client, "ShareFetch", version, topics=[topic], **ids, **limits)
    assert answer.error_code == 0
    assert answer.responses[0].partitions[0].records == stored


WAYS: dict[str, Callable[[Lab, Client, int, int, int], None]] = {
    "Produce": produce,
    "Fetch": fetch,
    "ShareFetch": share_fetch,
}
FIRST = {"Produce": 3, "Fetch": 4, "ShareFetch": 1}  # of those that Kafka 4.3 serves
VERSIONS = {
    name: [
        version
        for version in range(api(name).max + 1)
        if api(name).request.versions.includes(version) and version >= FIRST[name]
    ]
    for name in WAYS
}


def test_every_api_with_records_has_a_way() -> None:
    """The APIs are those whose messages declare a field of type records."""
    carrying = {each.name for each in APIS.values() if has_records(each.request) or has_records(each.response)}
    assert carrying == set(WAYS)


@pytest.mark.parametrize(("batches", "size"), SIZES)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", WAYS)
def test_records_of_any_size(name: str, condition: str, batches: int, size: int) -> None:
    """In the newest version, under every condition."""
    lab = CONDITIONS[condition]()
    WAYS[name](lab, lab.clear_client(), VERSIONS[name][-1], batches, size)


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, version) for name in WAYS for version in VERSIONS[name][:-1]],
)
def test_records_in_all_versions(name: str, version: int) -> None:
    """The older versions, too."""
    lab = Lab()
    WAYS[name](lab, lab.clear_client(), version, 3, 100 * KB)


@pytest.mark.slow
@pytest.mark.parametrize(("batches", "size"), LARGE)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", WAYS)
def test_very_many_records(name: str, condition: str, batches: int, size: int) -> None:
    """10 MB, under every condition."""
    test_records_of_any_size(name, condition, batches, size)
