"""Records of `__cluster_metadata` against running Kafkas and Kafka's own tool."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.preparing import create_topics
from fakebroker.protocol.records.batch import (
    build_batch,
    parse_header,
    plain_records,
    read_records,
    split_batches,
)
from fakebroker.protocol.records.metadata_records import encode_metadata_record, read_metadata_record
from fakebroker.protocol.records.quorum_records import encode_quorum_record, read_quorum_record
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.message import with_fields
from fakebroker.protocol.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from fakebroker.protocol.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from fakebroker.protocol.wire.messages.create_acls import AclCreation, CreateAclsRequest
from fakebroker.protocol.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from fakebroker.protocol.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from fakebroker.protocol.wire.messages.init_producer_id import InitProducerIdRequest
from tests.protocol.records.test_metadata_records import EVERY_VERSION
from tests.protocol.schema.strategies import messages
from tests.support.eventually import eventually
from tests.support.real_kafka import JAVA, OLDER_VERSION, VERSION, needs_kafka, running_kafka

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "metadata.log.max.snapshot.interval.ms": 1000,
}
ACL = (2, "orders", 3, "User:alice", "*", 3, 3)


@pytest.mark.parametrize("version", [pytest.param(each, marks=needs_kafka(each)) for each in (VERSION, OLDER_VERSION)])
def test_what_kafka_writes_is_read_and_written_again(version: str) -> None:
    """Every record of the log and the snapshots of a running Kafka is read, and its bytes are written again."""
    with running_kafka(AUTHORIZER, version=version) as kafka:
        with ClusterClient(kafka.bootstrap) as cluster:
            _change_metadata(cluster)
        folder = kafka.folder / "data" / "__cluster_metadata-0"
        eventually(lambda: any(folder.glob("*.checkpoint")))
        seen = [_again(each) for each in [*folder.glob("*.log"), *folder.glob("*.checkpoint")]]

    kinds = {kind for each in seen for kind in each}
    assert {
        "LeaderChangeMessage",
        "SnapshotHeaderRecord",
        "SnapshotFooterRecord",
        "FeatureLevelRecord",
        "RegisterBrokerRecord",
        "RegisterControllerRecord",
        "BrokerRegistrationChangeRecord",
        "TopicRecord",
        "PartitionRecord",
        "RemoveTopicRecord",
        "ConfigRecord",
        "ClientQuotaRecord",
        "UserScramCredentialRecord",
        "RemoveUserScramCredentialRecord",
        "AccessControlEntryRecord",
        "RemoveAccessControlEntryRecord",
        "ProducerIdsRecord",
    } <= kinds


def _change_metadata(cluster: ClusterClient) -> None:
    """One change of each kind that one broker can make."""
    topics = ["orders", "gone"]
    create_topics(cluster, [CreatableTopic(name=each, num_partitions=2, replication_factor=1) for each in topics])
    cluster.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
    retention = AlterableConfig(name="retention.ms", value="1234")
    resource = AlterConfigsResource(resource_type=2, resource_name="orders", configs=[retention])
    alice = ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=b"salty", salted_password=bytes(32)
    )
    entry = EntryData(
        entity=[EntityData(entity_type="user", entity_name="alice")],
        ops=[OpData(key="producer_byte_rate", value=1000.0)],
    )
    requests: list[Message] = [
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="orders", count=3)], timeout_ms=10_000),
        IncrementalAlterConfigsRequest(resources=[resource]),
        AlterUserScramCredentialsRequest(upsertions=[alice]),
        AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion(name="alice", mechanism=1)]),
        AlterClientQuotasRequest(entries=[entry]),
        CreateAclsRequest(creations=[_with(AclCreation(), *ACL)]),
        DeleteAclsRequest(filters=[_with(DeleteAclsFilter(), *ACL)]),
        DeleteTopicsRequest(topics=[DeleteTopicState(name="gone")], topic_names=["gone"], timeout_ms=10_000),
    ]
    for request in requests:
        cluster.ask(request, "controller")


def _with(struct: Any, *values: object) -> Any:
    """The struct with these values in its fields, in their order."""
    return with_fields(struct, **{spec.name: value for spec, value in zip(struct.fields, values, strict=True)})


def _again(segment: Path) -> set[str]:
    """The kinds of records in a file, each of which is written again as it was read."""
    seen = set()
    for batch in split_batches(segment.read_bytes()):
        for record in read_records(batch):
            if parse_header(batch).is_control:
                control = read_quorum_record(record.key, record.value)
                assert control is not None
                assert encode_quorum_record(control) == (record.key, record.value)
                seen.add(type(control).__name__)
            else:
                read = read_metadata_record(record.value)
                assert encode_metadata_record(*read) == record.value
                seen.add(type(read.message).__name__)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", [pytest.param(1, marks=needs_kafka(VERSION))])
def test_kafkas_tool_reads_what_is_written(seed: int, tmp_path: Path) -> None:
    """DumpLogSegments decodes records of every type and version that are written here."""
    values: list[bytes] = []

    @settings(max_examples=3, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        for cls, version in EVERY_VERSION:
            values.append(encode_metadata_record(_printable(data.draw(messages(cls, version))), version))

    draw()
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(build_batch(plain_records([(None, each) for each in values], 1_000)))
    command = [*JAVA, "org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", str(segment)]
    run = subprocess.run(command, capture_output=True, timeout=120, check=True, text=True)

    records = [line for line in run.stdout.splitlines() if line.startswith("| offset:")]
    assert len(records) == len(values)
    assert [line for line in records if "skipping" in line or "Exception" in line] == []
    assert [line for line in records if '{"type":"' not in line] == []


def _printable(message: Any) -> Any:
    """The same without tagged fields that are not known: the tool reads them, and prints nothing of them."""
    message.unknown_tags = None
    return message
