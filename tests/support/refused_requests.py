"""One request of each API and version that names what exists and what does not, for clients that may do nothing.

`shown` is an answer as JSON without what differs from broker to broker: addresses, ids of the cluster, the order of
lists, and topic ids, which are shown as the names of their topics.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakebroker.protocol.schema.jsonable import to_json, uuid_to_text
from fakebroker.protocol.schema.types import BOOL, BYTES, RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive
from tests.support.rights_requests import NO_ID, Names, batch

UNKNOWN_TOPIC_ID = b"\x01" * 16
_OF_THE_BROKER = frozenset({"Host", "Port", "ClusterId"})
_OBJECT = re.compile(r"Request Request\(.*\) needs")  # how Java shows a request
_NUMBERS = {
    "partition": 0, "partition_index": 0, "index": 0, "partitions": 0, "partition_indexes": 0, "acks": -1,
    "replica_id": -1, "broker_id": 77, "voter_id": 7, "resource_type": 2, "resource_types": 16, "timeout_ms": 1000,
    "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "transaction_timeout_ms": 10_000,
    "num_partitions": 1, "replication_factor": 1, "count": 3, "producer_id": -1, "producer_epoch": -1,
    "max_bytes": 1000, "partition_max_bytes": 1000, "timestamp": -1, "session_epoch": -1, "resource_type_filter": 2,
    "pattern_type_filter": 3, "resource_pattern_type": 3, "operation": 3, "permission_type": 3, "member_epoch": 0,
    "current_leader_epoch": -1, "v3_and_below_producer_id": 0, "version": 4, "mechanism": 1, "iterations": 4096,
    "generation_id": -1, "generation_id_or_member_epoch": -1, "config_operation": 0, "max_wait_ms": 0, "match_type": 0,
    "upgrade_type": 1, "max_version_level": 1, "expiry_time_period_ms": -1, "renew_period_ms": -1,
    "max_lifetime_ms": -1, "max_records": 1, "batch_size": 1, "committed_leader_epoch": -1, "retention_time_ms": -1,
}  # fmt: skip
_TEXTS = {
    "member_id": NO_ID, "protocol_type": "consumer", "path": "/none", "host": "*", "principal": "User:x",
    "entity_type": "user", "entity_name": "x", "key": "producer_byte_rate", "configuration_keys": "cleanup.policy",
    "feature": "metadata.version", "owner_principal_type": "User", "owner_principal_name": "bob",
    "principal_type": "User", "principal_name": "bob", "client_software_name": "x", "client_software_version": "1",
}  # fmt: skip
_TRUE = frozenset(
    (
        "include_authorized_operations", "include_topic_authorized_operations", "include_cluster_authorized_operations",
        "allow_auto_topic_creation", "validate_only",
    )
)  # fmt: skip
_NULL = frozenset(
    (
        "group_instance_id", "instance_id", "rack_id", "member_rack", "server_assignor", "subscribed_topic_regex",
        "user_endpoint", "process_id", "cursor", "replicas", "assignments", "cluster_id", "config_keys",
        "client_tags", "task_offsets", "task_end_offsets", "active_tasks", "standby_tasks", "warmup_tasks",
    )
)  # fmt: skip
_EMPTY = frozenset(("configs", "forgotten_topics_data", "acknowledgement_batches", "state_batches", "metadata"))


class RefusedRequests:
    """Fields for the requests, with the names of a history."""

    def __init__(self, names: Names) -> None:
        self.topics = names.topics[1:]
        self.groups = names.groups[1:]
        self.transactional_ids = names.transactional_ids
        self.topic_ids = [names.topic_ids[names.topics[1]], UNKNOWN_TOPIC_ID]

    def variants(self, api: Any, version: int) -> Iterator[dict[str, Any]]:
        """The request about what exists, and about what does not, beside each other where there is a list."""
        for place in (0, 1):
            yield self._fields(api.request, api.name, version, place)
        yield _doubled(self._fields(api.request, api.name, version, 0))
        key_types = ((1, 2) if version >= 6 else (1,)) if api.name == "FindCoordinator" and version > 0 else ()
        for key_type in key_types:
            yield self._fields(api.request, api.name, version, 0) | {"key_type": key_type}
        if api.name == "InitProducerId":
            yield self._fields(api.request, api.name, version, 0) | {"transactional_id": None}

    def _fields(self, declaration: Any, api: str, version: int, place: int) -> dict[str, Any]:
        specs = [spec for spec in declaration.fields if spec.versions.includes(version)]
        return {spec.name: self._value(spec, api, version, place) for spec in specs}

    def _value(self, spec: FieldSpec, api: str, version: int, place: int) -> Any:
        if spec.name in _NULL and spec.nullable.includes(version):
            return None
        if not isinstance(spec.type, ArrayOf):
            return self._element(spec, spec.type, api, version, place)
        if spec.name in _EMPTY:
            return []
        element = spec.type.element
        places = (0, 1) if self._is_named(spec, element) else (place,)
        return [self._element(spec, element, api, version, each) for each in places]

    def _is_named(self, spec: FieldSpec, element: Any) -> bool:
        if isinstance(element, Primitive):
            return element is STRING and spec.name not in _TEXTS
        return any(each.name in ("name", "topic", "topic_name", "topic_id", "group_id") for each in element.fields)

    def _element(self, spec: FieldSpec, kind: Any, api: str, version: int, place: int) -> Any:
        if isinstance(kind, Primitive):
            return self._primitive(spec.name, kind, api, place)
        values = self._fields(kind, api, version, place)
        if not kind.is_row and {"name", "topic_id"} <= values.keys():  # one or the other
            values["name"] = values["name"] if api == "OffsetFetch" and version < 10 else ""
            if next(each for each in kind.fields if each.name == "name").nullable.includes(version):
                values["name"] = None
        return tuple(values.get(each.name, each.fresh_default()) for each in kind.fields) if kind.is_row else values

    def _primitive(self, name: str, kind: Any, api: str, place: int) -> Any:
        if kind is STRING:
            return self._text(name, api, place)
        if kind is UUID:
            return self.topic_ids[place] if "topic" in name else UNKNOWN_TOPIC_ID
        if kind is RECORDS:
            return batch()
        if kind is BYTES:
            return b""
        return name in _TRUE if kind is BOOL else _NUMBERS.get(name, 0)

    def _text(self, name: str, api: str, place: int) -> str:
        if name in ("coordinator_keys", "key") and api == "FindCoordinator":
            return self.groups[place]
        if name in _TEXTS:
            return _TEXTS[name]
        if "topic" in name or name in ("name", "resource_name", "resource_name_filter"):
            return self.topics[place]
        if "transactional_id" in name:
            return self.transactional_ids[place]
        if "group" in name:
            return self.groups[place]
        return "x"


def _doubled(fields: dict[str, Any]) -> dict[str, Any]:
    """The same with every entry of its lists twice."""
    return {name: value * 2 if isinstance(value, list) else value for name, value in fields.items()}


def shown(answer: Any, version: int, names: Names) -> Any:
    """See above."""
    ids = {uuid_to_text(topic_id): f"id of {name}" for name, topic_id in names.topic_ids.items()}
    return None if answer is None else _neutral(to_json(answer, version), ids)


def _neutral(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _neutral(each, ids) for name, each in value.items() if name not in _OF_THE_BROKER}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return sorted((_neutral(each, ids) for each in value), key=repr)
    if isinstance(value, str):
        return ids.get(value, _OBJECT.sub("Request needs", value))
    return value
