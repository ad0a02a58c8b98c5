"""The client of a cluster against a Kafka that runs."""

import re

import pytest

from fakebroker.client.cluster.client_properties import security_of
from fakebroker.client.cluster.cluster_client import LATEST, READ_COMMITTED, ClusterClient, Fetch
from fakebroker.client.cluster.errors import OffsetOutOfRange
from fakebroker.client.cluster.offset_ranges import read_range
from fakebroker.client.cluster.preparing import await_group, create_topics
from fakebroker.protocol.listeners import PLAINTEXT
from fakebroker.protocol.records.batch import build_batch, plain_records
from fakebroker.protocol.records.compression import CODEC_NAMES
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.record_content import records_of
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from tests.support.real_kafka import needs_real_kafka, running_kafka
from tests.support.secured import CA, KAFKA_SETTINGS, LISTENERS, LOGIN, REFUSED, SECURED, refusal

pytestmark = [*needs_real_kafka, pytest.mark.slow]


def test_it_reads_and_writes_a_real_kafka() -> None:
    """The same client, against a Kafka that runs: created topic, codecs, offsets by time, records."""
    with running_kafka() as kafka, ClusterClient(kafka.bootstrap, creates_topics=True) as cluster:
        partition = TopicPartition("orders", 0)
        for codec in range(len(CODEC_NAMES)):
            records = plain_records([(None, b"%d" % codec), (None, b"x")], 1_000 + codec)
            assert cluster.produce(partition, build_batch(records, codec=codec)) == 2 * codec

        assert cluster.offsets({partition: 1_002})[partition] == (4, 1_002)
        assert cluster.offsets({partition: LATEST}, READ_COMMITTED)[partition].offset == 10
        assert cluster.offsets({partition: 9_999})[partition].offset == -1
        chunks = list(read_range(cluster, Fetch(partition, 0, max_bytes=100), 10))
        assert [record.value for each in chunks for record in records_of(each.fetched.records)][::2] == [
            b"0",
            b"1",
            b"2",
            b"3",
            b"4",
        ]
        assert cluster.topics()["__consumer_offsets"].is_internal
        with pytest.raises(OffsetOutOfRange):
            cluster.fetch(Fetch(partition, 11))


def test_it_connects_to_the_secured_listeners_of_a_real_kafka() -> None:
    """Over TLS and with a login; and what is wrong is said of a Kafka as of a fakebroker."""
    listeners = {name: protocol for name, protocol in LISTENERS.items() if name != PLAINTEXT}
    with running_kafka(KAFKA_SETTINGS, listeners=listeners) as kafka:
        addresses = {PLAINTEXT: kafka.bootstrap, **kafka.addresses}
        for protocol in SECURED:
            security = security_of({"security.protocol": protocol, **CA, **LOGIN}, "client.properties")
            with ClusterClient(addresses[protocol], security=security) as cluster:
                assert create_topics(cluster, [CreatableTopic(name=protocol, num_partitions=2, replication_factor=1)])
                cluster.await_topics({protocol: 2})
                assert await_group(cluster, "billing").error_code == 0
        found = {name: refusal(addresses[each.listener], each) for name, each in REFUSED.items()}

    assert {name: text for name, text in found.items() if not re.search(REFUSED[name].pattern, text)} == {}
