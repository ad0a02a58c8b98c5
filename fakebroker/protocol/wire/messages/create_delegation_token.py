"""CreateDelegationToken, key 38: a token by which others log in as its owner (KIP-48).

v1: nothing new on the wire. v2: flexible. v3: an owner other than the requester (KIP-373).
"""

from fakebroker.protocol.schema import Bytes, Int16, Int32, Int64, Message, Str, Struct, field


class CreatableRenewers(Struct):
    principal_type: Str = field("0+")
    principal_name: Str = field("0+")


class CreateDelegationTokenRequest(Message, api_key=38, versions="0-3", flexible="2+"):
    owner_principal_type: Str | None = field("3+", nullable="3+")
    owner_principal_name: Str | None = field("3+", nullable="3+")
    renewers: list[CreatableRenewers] = field("0+")
    max_lifetime_ms: Int64 = field("0+")


class CreateDelegationTokenResponse(Message, api_key=38, versions="0-3", flexible="2+"):
    error_code: Int16 = field("0+", entity="errorCode")
    principal_type: Str = field("0+")
    principal_name: Str = field("0+")
    token_requester_principal_type: Str = field("3+")
    token_requester_principal_name: Str = field("3+")
    issue_timestamp_ms: Int64 = field("0+", entity="timestamp")
    expiry_timestamp_ms: Int64 = field("0+", entity="timestamp")
    max_timestamp_ms: Int64 = field("0+", entity="timestamp")
    token_id: Str = field("0+")
    hmac: Bytes = field("0+", entity="secret")
    throttle_time_ms: Int32 = field("0+")
