"""What the answers of clients have: the names that `expect` and `save` may use beside a step of an actor."""

from collections.abc import Mapping, Sequence
from functools import cache

from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import ArrayOf, Primitive
from fakebroker.protocol.wire.registry import APIS

ANSWERED_BY: Mapping[str, str] = {
    "login": "SaslAuthenticate",
    "metadata": "Metadata",
    "describe_topic": "Metadata",
    "describe_cluster": "DescribeCluster",
    "create_topic": "CreateTopics",
    "create_partitions": "CreatePartitions",
    "delete_topic": "DeleteTopics",
    "delete_records": "DeleteRecords",
    "find_coordinator": "FindCoordinator",
    "describe_group": "DescribeGroups",
    "list_groups": "ListGroups",
    "delete_group": "DeleteGroups",
    "delete_offsets": "OffsetDelete",
    "describe_configs": "DescribeConfigs",
    "alter_configs": "IncrementalAlterConfigs",
    "produce": "Produce",
    "fetch": "Fetch",
    "list_offsets": "ListOffsets",
    "offset_for_leader_epoch": "OffsetForLeaderEpoch",
    "init_producer_id": "InitProducerId",
    "add_partitions_to_txn": "AddPartitionsToTxn",
    "add_offsets_to_txn": "AddOffsetsToTxn",
    "txn_offset_commit": "TxnOffsetCommit",
    "commit_transaction": "EndTxn",
    "abort_transaction": "EndTxn",
    "join": "JoinGroup",
    "rejoin": "JoinGroup",
    "sync": "SyncGroup",
    "heartbeat": "Heartbeat",
    "leave": "LeaveGroup",
    "join_consumer_group": "ConsumerGroupHeartbeat",
    "consumer_group_heartbeat": "ConsumerGroupHeartbeat",
    "reconcile": "ConsumerGroupHeartbeat",
    "leave_consumer_group": "ConsumerGroupHeartbeat",
    "join_share_group": "ShareGroupHeartbeat",
    "share_group_heartbeat": "ShareGroupHeartbeat",
    "leave_share_group": "ShareGroupHeartbeat",
    "share_fetch": "ShareFetch",
    "share_acknowledge": "ShareAcknowledge",
    "close_share_session": "ShareAcknowledge",
    "join_streams_group": "StreamsGroupHeartbeat",
    "streams_group_heartbeat": "StreamsGroupHeartbeat",
    "reconcile_tasks": "StreamsGroupHeartbeat",
    "leave_streams_group": "StreamsGroupHeartbeat",
    "describe_consumer_group": "ConsumerGroupDescribe",
    "describe_share_group": "ShareGroupDescribe",
    "describe_streams_group": "StreamsGroupDescribe",
    "share_group_offsets": "DescribeShareGroupOffsets",
    "alter_share_group_offsets": "AlterShareGroupOffsets",
    "delete_share_group_offsets": "DeleteShareGroupOffsets",
    "commit": "OffsetCommit",
    "committed": "OffsetFetch",
}
"""The API whose answer a verb of an actor gives."""

OF_EACH = ("error", "closed", "why")


@cache
def answer_fields(api_name: str | None = None) -> Sequence[str]:
    """The names that an expectation of an answer may have: of one API, or of all that there are."""
    names = dict.fromkeys(OF_EACH)
    for each in APIS.values():
        if api_name in (None, each.name):
            names |= dict.fromkeys(spec.name for spec in each.response.fields)
    if api_name in (None, "Fetch", "ShareFetch"):
        names["records"] = None
    return list(names)


def version_problem(api_name: str | None, version: object) -> str:
    """What is wrong with a version of an API, "" for nothing; what is no number is not looked at."""
    for each in APIS.values():
        if each.name == api_name and isinstance(version, int) and not each.min <= version <= each.max:
            return f"{api_name} has no version {version}; there are {each.min} to {each.max}"
    return ""


def answer_form(api_name: str) -> str:
    """The fields of an answer with those inside of them, as a scenario writes them: "members: [{member_id}]"."""
    [api] = [each for each in APIS.values() if each.name == api_name]
    return _form(api.response)


def _form(message: type[Declaration]) -> str:
    parts = []
    for spec in message.fields:
        element = spec.type.element if isinstance(spec.type, ArrayOf) else spec.type
        inner = "" if isinstance(element, Primitive) else f"{{{_form(element)}}}"
        if isinstance(spec.type, ArrayOf):
            inner = f"[{inner}]"
        name = "error" if spec.entity == "errorCode" else spec.name
        parts.append(f"{name}: {inner}" if inner else name)
    return ", ".join(parts)
