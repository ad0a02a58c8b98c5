"""AddOffsetsToTxn, key 25, v0-v4: the offsets of a group become part of a transaction (KIP-98, TO-1).

v2 PRODUCER_FENCED (KIP-588); v3 flexible; v4 TRANSACTION_ABORTABLE (KIP-890). Producers of TV2 do not send it: their
TxnOffsetCommit adds the partition by itself (TX-11).
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.fencing import as_sent
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

_FIRST_FENCED = 2


def handle(call: Call, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse | None:
    """Add the group's partition of `__consumer_offsets`; any group id will do, the empty one too (TO-1, TO-8)."""
    if not request.transactional_id:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    try:
        shard = call.transaction_shard(request.transactional_id)
    except KafkaError as error:
        return AddOffsetsToTxnResponse(error_code=error.code)
    partition = call.cluster.group_partition(request.group_id)
    shard.add_partitions(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        [TopicPartition(partition.topic.name, partition.index)],
        lambda code: call.reply(AddOffsetsToTxnResponse(error_code=as_sent(call, code, _FIRST_FENCED))),
        call.now,
        is_tv2=False,
    )
    return None
