"""What Kafka's own `DumpLogSegments --offsets-decoder` says of segments, and our decoder in the same words."""

import json
import os
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fakebroker.analysis.history.decode import decode_record
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.protocol.records.consumer_protocol import decode_assignment, decode_subscription
from tests.support.real_kafka import JAVA

Dumped = dict[str, Any]

_BATCH = re.compile(
    r"baseOffset: .* producerId: (-?\d+) producerEpoch: (-?\d+) .* isTransactional: (\w+) isControl: (\w+) .*"
    r" position: (\d+) .* isvalid: (\w+)"
)
_RECORD = re.compile(r"\| offset: (\d+) (?:CreateTime|LogAppendTime): (-?\d+) keySize: \S+ valueSize: \S+ (.*)")
_UNKNOWN_TAG = re.compile(r"tag\d+")
_MARKER = re.compile(r"endTxnMarker: (COMMIT|ABORT) coordinatorEpoch: (-?\d+)")


def dump(segments: list[Path]) -> list[Dumped]:
    """Kafka's word on every record of these segments, in their order."""
    files = ",".join(map(str, segments))
    command = [
        *JAVA,
        "-Dfile.encoding=UTF-8",
        "-Dstdout.encoding=UTF-8",
        "org.apache.kafka.tools.DumpLogSegments",
        "--offsets-decoder",
        "--files",
        files,
    ]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    run = subprocess.run(command, capture_output=True, timeout=120, check=True, env=environment)
    return list(_parsed(run.stdout.decode().split("\n")[:-1]))


def _parsed(lines: Iterable[str]) -> Iterator[Dumped]:
    partition, batch = -1, {}
    for line in lines:
        if line.startswith("Dumping "):
            partition = int(line.rsplit("/", 2)[1].rpartition("-")[2])
        elif found := _BATCH.fullmatch(line):
            producer_id, epoch, transactional, control, position, is_valid = found.groups()
            assert is_valid == "true", line
            batch = {
                "position": int(position),
                "producer_id": int(producer_id) if transactional == "true" else None,
                "producer_epoch": int(epoch) if transactional == "true" else None,
                "transactional": transactional == "true",
            }
            is_control = control == "true"
        elif found := _RECORD.fullmatch(line):
            offset, at_ms, rest = found.groups()
            dumped = {"partition": partition, "offset": int(offset), "at": int(at_ms), **batch}
            yield {**dumped, **(_marker(rest) if is_control else _decoded(rest))}
        else:
            assert line.startswith(("Log starting offset", "Picked up")), line


def _marker(rest: str) -> Dumped:
    found = _MARKER.search(rest)
    assert found, rest
    return {"key": None, "value": {"coordinatorEpoch": int(found[2])}, "control": found[1].lower()}


def _decoded(rest: str) -> Dumped:
    text = rest[rest.index("key: ") + len("key: ") :]
    if not text.startswith("{"):
        return {"key": None, "value": None, "control": None, "problem": text}
    key, end = json.JSONDecoder().raw_decode(text)
    payload = text[end:].removeprefix(" payload: ")
    return {"key": key, "value": None if payload == "<DELETE>" else json.loads(payload), "control": None}


def as_dumped(record: LogRecord) -> Dumped:
    """Our word on a record in the shape of `dump`."""
    row = decode_record(record)[0]
    dumped = {
        "partition": record.log_partition,
        "offset": record.log_offset,
        "at": record.at_ms,
        "position": record.position,
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
        "transactional": record.is_transactional,
        "control": record.control,
    }
    if row["what"] == "reject" or row["kind"] == "unknown":
        return {**dumped, "key": None, "value": None, "problem": True}
    if dumped["control"]:
        return {**dumped, "key": None, "value": json.loads(row["value"])}
    return {**dumped, **(_commit(row, record) if row["what"] == "commit" else _other(row))}


def _commit(row: Row, record: LogRecord) -> Dumped:
    assert record.key
    key_type = int.from_bytes(record.key[:2], "big")
    key = {"group": row["group_id"], "topic": row["topic"], "partition": row["partition"]}
    dumped: Dumped = {"key": {"type": str(key_type), "data": key}, "value": None}
    if record.value is not None:
        version = int.from_bytes(record.value[:2], "big")
        data = {"offset": row["committed_offset"], "metadata": row["metadata"], "commitTimestamp": row["committed_at"]}
        if version >= 3:
            data["leaderEpoch"] = row["leader_epoch"]
        if version == 1:
            data["expireTimestamp"] = row["expires_at"]
        if row["topic_id"] is not None:
            data["topicId"] = row["topic_id"]
        dumped["value"] = {"version": str(version), "data": data}
    return dumped


def _other(row: Row) -> Dumped:
    key = {"type": str(row["record_type"]), "data": json.loads(row["key"])}
    if row["value"] is None:
        return {"key": key, "value": None}
    data = json.loads(row["value"])
    if data.get("protocolType") == "consumer":
        for member in data["members"]:
            member["subscription"] = _subscription(bytes.fromhex(member["subscription"]["hex"]))
            member["assignment"] = _assignment(bytes.fromhex(member["assignment"]["hex"]))
    return {"key": key, "value": {"version": str(row["value_version"]), "data": _base64(data)}}


def _base64(data: Any) -> Any:
    """Bytes as Kafka's tools print them, and without the tagged fields that they do not know and do not print."""
    if isinstance(data, list):
        return [_base64(each) for each in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {"hex"}:
        return b64encode(bytes.fromhex(data["hex"])).decode()
    return {name: _base64(each) for name, each in data.items() if not _UNKNOWN_TAG.fullmatch(name)}


def _subscription(data: bytes) -> Dumped:
    """The tool decodes what members of type "consumer" sent."""
    dumped = decode_subscription(data)
    version = int.from_bytes(data[:2], "big")
    fields: Dumped = {"topics": dumped.topics, "userData": _text(dumped.user_data)}
    if version >= 1:
        fields["ownedPartitions"] = [{"topic": topic, "partitions": each} for topic, each in dumped.owned_partitions]
    if version >= 2:
        fields["generationId"] = dumped.generation_id
    if version >= 3:
        fields["rackId"] = dumped.rack_id
    return fields


def _assignment(data: bytes) -> Dumped:
    dumped = decode_assignment(data)
    partitions = [{"topic": topic, "partitions": each} for topic, each in dumped.assigned_partitions]
    return {"assignedPartitions": partitions, "userData": _text(dumped.user_data)}


def _text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()
