"""DescribeTransactions, key 65: what the coordinator knows of transactional ids."""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, field


class DescribeTransactionsRequest(Message, api_key=65, versions="0", flexible="0+"):
    transactional_ids: list[Str] = field("0+", entity="transactionalId")


class TopicData(Struct):
    topic: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class TransactionState(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    transactional_id: Str = field("0+", entity="transactionalId")
    transaction_state: Str = field("0+")
    transaction_timeout_ms: Int32 = field("0+")
    transaction_start_time_ms: Int64 = field("0+", entity="timestamp")
    producer_id: Int64 = field("0+", entity="producerId")
    producer_epoch: Int16 = field("0+", entity="producerEpoch")
    topics: list[TopicData] = field("0+")


class DescribeTransactionsResponse(Message, api_key=65, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    transaction_states: list[TransactionState] = field("0+")
