"""DescribeDelegationToken, key 41: the delegation tokens of some owners (KIP-48).

v1: nothing new on the wire. v2: flexible. v3: who requested a token (KIP-373).
"""

from fakebroker.protocol.schema import Bytes, Int16, Int32, Int64, Message, Str, Struct, field


class DescribeDelegationTokenOwner(Struct):
    principal_type: Str = field("0+")
    principal_name: Str = field("0+")


class DescribeDelegationTokenRequest(Message, api_key=41, versions="0-3", flexible="2+"):
    owners: list[DescribeDelegationTokenOwner] | None = field("0+", nullable="0+")


class DescribedDelegationTokenRenewer(Struct):
    principal_type: Str = field("0+")
    principal_name: Str = field("0+")


class DescribedDelegationToken(Struct):
    principal_type: Str = field("0+")
    principal_name: Str = field("0+")
    token_requester_principal_type: Str = field("3+")
    token_requester_principal_name: Str = field("3+")
    issue_timestamp: Int64 = field("0+", entity="timestamp")
    expiry_timestamp: Int64 = field("0+", entity="timestamp")
    max_timestamp: Int64 = field("0+", entity="timestamp")
    token_id: Str = field("0+")
    hmac: Bytes = field("0+", entity="secret")
    renewers: list[DescribedDelegationTokenRenewer] = field("0+")


class DescribeDelegationTokenResponse(Message, api_key=41, versions="0-3", flexible="2+"):
    error_code: Int16 = field("0+", entity="errorCode")
    tokens: list[DescribedDelegationToken] = field("0+")
    throttle_time_ms: Int32 = field("0+")
