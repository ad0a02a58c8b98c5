"""UnregisterBroker, key 64. One version, flexible."""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, field


class UnregisterBrokerRequest(Message, api_key=64, versions="0", flexible="0+"):
    broker_id: Int32 = field("0+", entity="brokerId")


class UnregisterBrokerResponse(Message, api_key=64, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
