"""The files of a log directory that name things: meta.properties, partition.metadata, .kafka_cleanshutdown.

Kafka: `MetaProperties`, `PartitionMetadataFile`, `CleanShutdownFileHandler`.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from typing import NamedTuple

from fakebroker.protocol.errors import WireError

META_VERSION = 1


class MetaProperties(NamedTuple):
    """Which cluster, which broker and which directory of it."""

    cluster_id: str
    node_id: int
    directory_id: str | None


def encode_meta_properties(properties: MetaProperties) -> bytes:
    """The content of meta.properties."""
    lines = [f"node.id={properties.node_id}"]
    if properties.directory_id is not None:
        lines.append(f"directory.id={properties.directory_id}")
    lines += [f"version={META_VERSION}", f"cluster.id={properties.cluster_id}"]
    return "".join(f"{line}\n" for line in ["#", *lines]).encode()


def decode_meta_properties(content: bytes) -> MetaProperties:
    """What meta.properties says. Raises WireError for another version, and for a file that lacks something."""
    values: dict[str, str] = {}
    for line in content.decode(errors="replace").splitlines():
        name, separator, value = line.partition("=")
        if separator and not line.startswith(("#", "!")):
            values[name.strip()] = value.strip().replace("\\:", ":").replace("\\=", "=")
    version = values.get("version")
    if version is None:
        raise WireError("it has no version")
    if version != str(META_VERSION):
        raise WireError(f"it has version {version:.60}; only version {META_VERSION} (KRaft) is read")
    try:
        return MetaProperties(values["cluster.id"], int(values["node.id"]), values.get("directory.id"))
    except KeyError as error:
        raise WireError(f"it has no {error.args[0]}") from None
    except ValueError:
        raise WireError(f"node.id is {values['node.id']!r:.60}, which is not a number") from None


def encode_uuid(uuid: bytes) -> str:
    """16 bytes as Kafka writes ids: 22 characters of URL-safe base64."""
    return urlsafe_b64encode(uuid).rstrip(b"=").decode()


def decode_uuid(text: str) -> bytes:
    """The 16 bytes of an id. Raises WireError."""
    try:
        uuid = urlsafe_b64decode(text + "==")
    except (Base64Error, ValueError):
        uuid = b""
    if len(uuid) != 16:
        raise WireError(f"{text!r:.60} is not an id of 22 characters")
    return uuid


def encode_partition_metadata(topic_id: bytes) -> bytes:
    """The content of partition.metadata."""
    return f"version: 0\ntopic_id: {encode_uuid(topic_id)}".encode()


def decode_partition_metadata(content: bytes) -> bytes:
    """The topic id in partition.metadata. Raises WireError."""
    lines = content.decode(errors="replace").splitlines()
    values = dict(line.split(": ", 1) for line in lines if ": " in line)
    if values.get("version") != "0":
        raise WireError(f"it has version {values.get('version')!r:.60}; only version 0 is read")
    if "topic_id" not in values:
        raise WireError("it has no topic_id")
    return decode_uuid(values["topic_id"].strip())


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    """The content of .kafka_cleanshutdown."""
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()
