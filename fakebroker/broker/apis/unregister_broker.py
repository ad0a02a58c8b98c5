"""UnregisterBroker, key 64, v0: forget a broker (KIP-631, DK-3).

Left out: unregistering a broker that exists; brokers of this cluster are made and removed by its owner, so a known
one gets INVALID_REQUEST.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


def handle(call: Call, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    """BROKER_ID_NOT_REGISTERED for an unknown id, INVALID_REQUEST for a broker of this cluster."""
    broker_id = request.broker_id
    if broker_id in call.cluster.nodes:
        return UnregisterBrokerResponse(
            error_code=ErrorCode.INVALID_REQUEST, error_message=f"broker {broker_id} cannot be unregistered by a client"
        )
    return UnregisterBrokerResponse(
        error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=f"broker {broker_id} does not exist"
    )
