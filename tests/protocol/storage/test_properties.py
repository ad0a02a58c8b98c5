"""meta.properties, partition.metadata and .kafka_cleanshutdown: what Kafka 4.3.1 wrote, and what is read from it."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.storage.properties import (
    MetaProperties,
    decode_meta_properties,
    decode_partition_metadata,
    decode_uuid,
    encode_clean_shutdown,
    encode_meta_properties,
    encode_partition_metadata,
    encode_uuid,
)

KAFKA = (
    b"#\n#Fri Nov 27 17:17:43 UTC 2026\nnode.id=1\ndirectory.id=faSWIZ-PO_k9iLHsZrLJyQ\nversion=1\n"
    b"cluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"
)
PROPERTIES = MetaProperties("MkU3OEVBNTcwNTJENDM2Qg", 1, "faSWIZ-PO_k9iLHsZrLJyQ")


def test_meta_properties_of_kafka() -> None:
    """Cluster, node and directory."""
    assert decode_meta_properties(KAFKA) == PROPERTIES


@given(st.integers(0, 2**31 - 1), st.none() | st.just("faSWIZ-PO_k9iLHsZrLJyQ"))
def test_meta_properties_survive(node_id: int, directory_id: str | None) -> None:
    """What was written is read."""
    properties = MetaProperties("MkU3OEVBNTcwNTJENDM2Qg", node_id, directory_id)

    assert decode_meta_properties(encode_meta_properties(properties)) == properties


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "it has no version"),
        (KAFKA.replace(b"version=1", b"version=0"), "it has version 0; only version 1"),
        (KAFKA.replace(b"version=1", b"version=2"), "it has version 2; only version 1"),
        (KAFKA.replace(b"cluster.id", b"cluster"), "it has no cluster.id"),
        (KAFKA.replace(b"node.id=1", b"node.id=one"), "node.id is 'one', which is not a number"),
        (b"\xff\xfe", "it has no version"),
    ],
)
def test_other_meta_properties(content: bytes, wrong: str) -> None:
    """A file of another version, or one that lacks something, is refused."""
    with pytest.raises(WireError, match=wrong):
        decode_meta_properties(content)


def test_partition_metadata_of_kafka() -> None:
    """The topic's id."""
    content = b"version: 0\ntopic_id: v-K4tdPSR0CcNUNfocAHfg"
    topic_id = decode_uuid("v-K4tdPSR0CcNUNfocAHfg")

    assert decode_partition_metadata(content) == topic_id
    assert encode_partition_metadata(topic_id) == content


@given(st.binary(min_size=16, max_size=16))
def test_ids_survive(uuid: bytes) -> None:
    """An id is 22 characters, which can be read again."""
    assert len(encode_uuid(uuid)) == 22
    assert decode_uuid(encode_uuid(uuid)) == uuid


@given(st.binary(max_size=60))
def test_any_bytes(content: bytes) -> None:
    """Whatever is in the files: values, or WireError."""
    with suppress(WireError):
        decode_meta_properties(b"version=1\n" + content)
    with suppress(WireError):
        decode_partition_metadata(b"version: 0\ntopic_id: " + content)


def test_clean_shutdown_of_kafka() -> None:
    """The broker's epoch as JSON."""
    assert encode_clean_shutdown(13) == b'{"version":0,"brokerEpoch":13}'
