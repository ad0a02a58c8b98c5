"""Requests of transactions: not sent in a replay by sessions that lack some of them, or to brokers that serve none."""

from typing import Any

from fakebroker.broker.core.logs.produce_validation import is_transactional
from fakebroker.protocol.records.record_content import bytes_of

Json = Any
ADD_PARTITIONS = (24, 3)  # AddPartitionsToTxn: who serves that version serves transactions
_TRANSACTION_KEY = 1  # of FindCoordinator


def is_of_transaction(api: str, request: Json) -> bool:
    """Whether a transactional producer sends this, and no other client would."""
    match api:
        case "InitProducerId":
            return request.get("TransactionalId") is not None
        case "FindCoordinator":
            return bool(request.get("KeyType") == _TRANSACTION_KEY)
        case "TxnOffsetCommit":
            return True
        case "Produce":
            data = [bytes_of(each["Records"]) for topic in request["TopicData"] for each in topic["PartitionData"]]
            return any(is_transactional(each) for each in data)
    return False
