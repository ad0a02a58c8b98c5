"""SaslHandshake, key 17, v0-v1: refused where nobody has to log in, or has already (SA-9, SA-12).

While a connection logs in, its requests are answered by `broker/engine/security/authentication.py`.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(_call: Call, _request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """Refuse it with ILLEGAL_SASL_STATE, and name no mechanisms."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
