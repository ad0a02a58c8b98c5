"""FindCoordinator, key 10: the broker that coordinates a group or a transactional id.

v1: key types, throttle time, error text. v2: nothing new (throttled after the answer). v3: flexible. v4: many keys
at once, in place of the single one. v5: one more error code. v6: share groups as a key type.
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Message, Str, Struct, field


class FindCoordinatorRequest(Message, api_key=10, versions="0-6", flexible="3+"):
    key: Str = field("0-3", entity="coordinatorKey")
    key_type: Int8 = field("1+", entity="coordinatorKeyType")
    coordinator_keys: list[Str] = field("4+", entity="coordinatorKey")


class Coordinator(Struct):
    key: Str = field("4+", entity="coordinatorKey")
    node_id: Int32 = field("4+", entity="brokerId")
    host: Str = field("4+", entity="host")
    port: Int32 = field("4+", entity="port")
    error_code: Int16 = field("4+", entity="errorCode")
    error_message: Str | None = field("4+", nullable="4+", ignorable=True)


class FindCoordinatorResponse(Message, api_key=10, versions="0-6", flexible="3+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("0-3", entity="errorCode")
    error_message: Str | None = field("1-3", nullable="1-3", ignorable=True)
    node_id: Int32 = field("0-3", entity="brokerId")
    host: Str = field("0-3", entity="host")
    port: Int32 = field("0-3", entity="port")
    coordinators: list[Coordinator] = field("4+")
