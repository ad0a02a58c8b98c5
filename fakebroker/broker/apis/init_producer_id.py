"""InitProducerId, key 22, v0-v5: an id for an idempotent producer, or for a transactional one (KIP-98, PI).

v2 flexible; v3 the producer's own id and epoch (KIP-360); v4 PRODUCER_FENCED (KIP-588); v5 new transaction protocol
(KIP-890). v6 (KIP-939) is unstable in Kafka and not served (PI-6).
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.fencing import as_sent
from fakebroker.broker.core.transactions.producer import NO_PRODUCER, Producer
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_FIRST_FENCED = 4


def handle(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse | None:
    """A new producer id with epoch 0 without a transactional id (PI-1); else what its coordinator says (PI-7, PI-8).

    Half a producer, an empty transactional id and a timeout out of range are refused by any broker (PI-3, PI-5,
    CLU-13).
    """
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _response(ErrorCode.INVALID_REQUEST, NO_PRODUCER)
    if request.transactional_id is None:
        return _response(ErrorCode.NONE, Producer(call.cluster.new_producer_id(), 0))
    if not request.transactional_id:
        return _response(ErrorCode.INVALID_REQUEST, NO_PRODUCER)
    longest_ms = call.cluster.settings.get_int("transaction.max.timeout.ms")
    if not 0 < request.transaction_timeout_ms <= longest_ms:
        return _response(ErrorCode.INVALID_TRANSACTION_TIMEOUT, NO_PRODUCER)
    try:
        shard = call.transaction_shard(request.transactional_id)
    except KafkaError as error:
        return _response(error.code, NO_PRODUCER)
    producer = Producer(request.producer_id, request.producer_epoch)
    shard.init_producer_id(
        request.transactional_id,
        request.transaction_timeout_ms,
        None if producer == NO_PRODUCER else producer,
        lambda code, given: call.reply(_response(as_sent(call, code, _FIRST_FENCED), given)),
        call.now,
    )
    return None


def error_response(_request: InitProducerIdRequest, _version: int, code: ErrorCode) -> InitProducerIdResponse:
    """What a refused request is answered with, or one whose handler failed: no producer (AV-10)."""
    return _response(code, NO_PRODUCER)


def _response(code: ErrorCode, producer: Producer) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=producer.id, producer_epoch=producer.epoch)
