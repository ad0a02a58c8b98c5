"""AddPartitionsToTxn, key 24: partitions become part of a transaction.

v3: flexible. v4: many transactions at once, and the question whether a transaction has a partition; brokers only.
v1, v2, v5: nothing new on the wire.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Int64, Message, Str, Struct, field


class AddPartitionsToTxnTopic(Struct):
    name: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: Str = field("4+", map_key=True, entity="transactionalId")
    producer_id: Int64 = field("4+", entity="producerId")
    producer_epoch: Int16 = field("4+", entity="producerEpoch")
    verify_only: Bool = field("4+", default=False)
    topics: list[AddPartitionsToTxnTopic] = field("4+")


class AddPartitionsToTxnRequest(Message, api_key=24, versions="0-5", flexible="3+"):
    transactions: list[AddPartitionsToTxnTransaction] = field("4+")
    v3_and_below_transactional_id: Str = field("0-3", entity="transactionalId")
    v3_and_below_producer_id: Int64 = field("0-3", entity="producerId")
    v3_and_below_producer_epoch: Int16 = field("0-3", entity="producerEpoch")
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field("0-3")


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: Int32 = field("0+", map_key=True, entity="partitionIndex")
    partition_error_code: Int16 = field("0+", entity="errorCode")


class AddPartitionsToTxnTopicResult(Struct):
    name: Str = field("0+", map_key=True, entity="topicName")
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field("0+")


class AddPartitionsToTxnResult(Struct):
    transactional_id: Str = field("4+", map_key=True, entity="transactionalId")
    topic_results: list[AddPartitionsToTxnTopicResult] = field("4+")


class AddPartitionsToTxnResponse(Message, api_key=24, versions="0-5", flexible="3+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("4+", ignorable=True, entity="errorCode")
    results_by_transaction: list[AddPartitionsToTxnResult] = field("4+")
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field("0-3")
