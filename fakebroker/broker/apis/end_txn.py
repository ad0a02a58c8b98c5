"""EndTxn, key 26, v0-v5: the commit or abort of a transaction (KIP-98, TX-20 to TX-22).

v2 PRODUCER_FENCED (KIP-588); v3 flexible; v4 TRANSACTION_ABORTABLE (KIP-890); v5 is TV2: the answer has the producer
of the next transaction, whose epoch is higher (TX-12).
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.fencing import as_sent
from fakebroker.broker.core.transactions.producer import NO_PRODUCER, Producer
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

_FIRST_FENCED = 2
_FIRST_TV2 = 5


def handle(call: Call, request: EndTxnRequest) -> EndTxnResponse | None:
    """Answered when it is stored how the transaction ends; the markers follow (TX-2)."""
    if not request.transactional_id:
        return _response(call, ErrorCode.INVALID_REQUEST, NO_PRODUCER)
    try:
        shard = call.transaction_shard(request.transactional_id)
    except KafkaError as error:
        return _response(call, error.code, NO_PRODUCER)
    shard.end(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        commit=request.committed,
        is_tv2=call.version >= _FIRST_TV2,
        answer=lambda code, following: call.reply(_response(call, code, following)),
        now=call.now,
    )
    return None


def _response(call: Call, code: ErrorCode, producer: Producer) -> EndTxnResponse:
    """With an error the producer is -1 and -1; before v5 there is none in the message."""
    return EndTxnResponse(
        error_code=as_sent(call, code, _FIRST_FENCED), producer_id=producer.id, producer_epoch=producer.epoch
    )
