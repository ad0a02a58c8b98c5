"""RenewDelegationToken, key 39: a delegation token lives on (KIP-48).

v1: nothing new on the wire. v2: flexible.
"""

from fakebroker.protocol.schema import Bytes, Int16, Int32, Int64, Message, field


class RenewDelegationTokenRequest(Message, api_key=39, versions="0-2", flexible="2+"):
    hmac: Bytes = field("0+", entity="secret")
    renew_period_ms: Int64 = field("0+")


class RenewDelegationTokenResponse(Message, api_key=39, versions="0-2", flexible="2+"):
    error_code: Int16 = field("0+", entity="errorCode")
    expiry_timestamp_ms: Int64 = field("0+", entity="timestamp")
    throttle_time_ms: Int32 = field("0+")
