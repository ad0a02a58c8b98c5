"""InitProducerId, key 22, v0-v5: an id for an idempotent producer (KIP-98, PI).

v2 flexible; v3 the producer's own id and epoch (KIP-360); v4 PRODUCER_FENCED (KIP-588); v5 new transaction protocol
(KIP-890). v6 is unstable in Kafka and not served. Left out until there is a transaction coordinator: with a
transactional id the request is checked and then answered COORDINATOR_NOT_AVAILABLE, as by a broker whose state topic is
not there (PI-4).
"""

from fakebroker.apis.call import Call
from fakebroker.errors import ErrorCode
from fakebroker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


def handle(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """A new producer id with epoch 0 for an idempotent producer, whatever else it sent (PI-1, PI-3)."""
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _error_response(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        return InitProducerIdResponse(producer_id=call.cluster.new_producer_id())
    if not request.transactional_id:
        return _error_response(ErrorCode.INVALID_REQUEST)
    longest_ms = call.cluster.settings.get_int("transaction.max.timeout.ms")
    if not 0 < request.transaction_timeout_ms <= longest_ms:
        return _error_response(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    call.not_served(
        "InitProducerId with a transactional id: transactions are not served yet; it retries until it gives up"
    )
    return _error_response(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _error_response(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=-1)
