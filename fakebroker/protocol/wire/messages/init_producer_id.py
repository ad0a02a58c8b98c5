"""InitProducerId, key 22: a producer id, and the fencing of older producers of a transactional id.

v2: flexible. v3: the producer's own id and epoch, to bump the epoch. v6: two-phase commit.
v1, v4, v5: nothing new on the wire.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Int64, Message, Str, field


class InitProducerIdRequest(Message, api_key=22, versions="0-6", flexible="2+"):
    transactional_id: Str | None = field("0+", nullable="0+", entity="transactionalId")
    transaction_timeout_ms: Int32 = field("0+")
    producer_id: Int64 = field("3+", default=-1, entity="producerId")
    producer_epoch: Int16 = field("3+", default=-1, entity="producerEpoch")
    enable2_pc: Bool = field("6+")
    keep_prepared_txn: Bool = field("6+")


class InitProducerIdResponse(Message, api_key=22, versions="0-6", flexible="2+"):
    throttle_time_ms: Int32 = field("0+", ignorable=True)
    error_code: Int16 = field("0+", entity="errorCode")
    producer_id: Int64 = field("0+", default=-1, entity="producerId")
    producer_epoch: Int16 = field("0+", entity="producerEpoch")
    ongoing_txn_producer_id: Int64 = field("6+", default=-1, entity="producerId")
    ongoing_txn_producer_epoch: Int16 = field("6+", default=-1, entity="producerEpoch")
