"""SaslAuthenticate, key 36, v0-v2: refused where nobody has to log in, or has already (SA-9, SA-12).

While a connection logs in, its requests are answered by `broker/engine/security/authentication.py`.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def handle(_call: Call, _request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    """Refuse it with ILLEGAL_SASL_STATE."""
    text = "SaslAuthenticate request received after successful authentication"
    return SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=text)
