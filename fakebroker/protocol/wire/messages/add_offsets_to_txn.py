"""AddOffsetsToTxn, key 25: the offsets of a group become part of a transaction.

v3: flexible. v1, v2, v4: nothing new on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, field


class AddOffsetsToTxnRequest(Message, api_key=25, versions="0-4", flexible="3+"):
    transactional_id: Str = field("0+", entity="transactionalId")
    producer_id: Int64 = field("0+", entity="producerId")
    producer_epoch: Int16 = field("0+", entity="producerEpoch")
    group_id: Str = field("0+", entity="groupId")


class AddOffsetsToTxnResponse(Message, api_key=25, versions="0-4", flexible="3+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
