"""SaslAuthenticate, key 36: one message of a login, and the answer to it.

v1: how long the login is valid (KIP-368). v2: flexible.
"""

from fakebroker.protocol.schema import Bytes, Int16, Int64, Message, Str, field


class SaslAuthenticateRequest(Message, api_key=36, versions="0-2", flexible="2+"):
    auth_bytes: Bytes = field("0+", entity="secret")


class SaslAuthenticateResponse(Message, api_key=36, versions="0-2", flexible="2+"):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    auth_bytes: Bytes = field("0+", entity="secret")
    session_lifetime_ms: Int64 = field("1+", default=0, ignorable=True)
