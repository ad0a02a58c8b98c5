"""EndTxn, key 26: the commit or abort of a transaction.

v3: flexible. v5: the producer id and epoch of the next transaction. v1, v2, v4: nothing new on the wire.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Int64, Message, Str, field


class EndTxnRequest(Message, api_key=26, versions="0-5", flexible="3+"):
    transactional_id: Str = field("0+", entity="transactionalId")
    producer_id: Int64 = field("0+", entity="producerId")
    producer_epoch: Int16 = field("0+", entity="producerEpoch")
    committed: Bool = field("0+")


class EndTxnResponse(Message, api_key=26, versions="0-5", flexible="3+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    producer_id: Int64 = field("5+", default=-1, ignorable=True, entity="producerId")
    producer_epoch: Int16 = field("5+", default=-1, ignorable=True, entity="producerEpoch")
