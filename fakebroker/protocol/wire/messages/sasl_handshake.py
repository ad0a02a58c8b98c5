"""SaslHandshake, key 17: the client names the mechanism by which it logs in.

v0: what follows are bare tokens with a length, v1: SaslAuthenticate requests (KIP-152).
"""

from fakebroker.protocol.schema import Int16, Message, Str, field


class SaslHandshakeRequest(Message, api_key=17, versions="0-1"):
    mechanism: Str = field("0+")


class SaslHandshakeResponse(Message, api_key=17, versions="0-1"):
    error_code: Int16 = field("0+", entity="errorCode")
    mechanisms: list[Str] = field("0+")
