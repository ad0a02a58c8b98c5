"""ExpireDelegationToken, key 40: a delegation token ends sooner, or at once (KIP-48).

v1: nothing new on the wire. v2: flexible.
"""

from fakebroker.protocol.schema import Bytes, Int16, Int32, Int64, Message, field


class ExpireDelegationTokenRequest(Message, api_key=40, versions="0-2", flexible="2+"):
    hmac: Bytes = field("0+", entity="secret")
    expiry_time_period_ms: Int64 = field("0+")


class ExpireDelegationTokenResponse(Message, api_key=40, versions="0-2", flexible="2+"):
    error_code: Int16 = field("0+", entity="errorCode")
    expiry_timestamp_ms: Int64 = field("0+", entity="timestamp")
    throttle_time_ms: Int32 = field("0+")
