"""WriteTxnMarkers, key 27: a transaction coordinator ends transactions in partitions.

v1: flexible. v2: the transaction version that a marker is checked by.
"""

from fakebroker.protocol.schema import Bool, Int8, Int16, Int32, Int64, Message, Str, Struct, field


class WritableTxnMarkerTopic(Struct):
    name: Str = field("0+", entity="topicName")
    partition_indexes: list[Int32] = field("0+", entity="partitionIndex")


class WritableTxnMarker(Struct):
    producer_id: Int64 = field("0+", entity="producerId")
    producer_epoch: Int16 = field("0+", entity="producerEpoch")
    transaction_result: Bool = field("0+")
    topics: list[WritableTxnMarkerTopic] = field("0+")
    coordinator_epoch: Int32 = field("0+")
    transaction_version: Int8 = field("2+", default=0, ignorable=True)


class WriteTxnMarkersRequest(Message, api_key=27, versions="0-2", flexible="1+"):
    markers: list[WritableTxnMarker] = field("0+")


class WritableTxnMarkerPartitionResult(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")


class WritableTxnMarkerTopicResult(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[WritableTxnMarkerPartitionResult] = field("0+")


class WritableTxnMarkerResult(Struct):
    producer_id: Int64 = field("0+", entity="producerId")
    topics: list[WritableTxnMarkerTopicResult] = field("0+")


class WriteTxnMarkersResponse(Message, api_key=27, versions="0-2", flexible="1+"):
    markers: list[WritableTxnMarkerResult] = field("0+")
