"""AddRaftVoter, key 80: let one more controller vote in the metadata quorum (KIP-853).

v1 whether to answer only when the change is committed.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Message, Str, Struct, UInt16, Uuid, field


class Listener(Struct):
    name: Str = field("0+", map_key=True)
    host: Str = field("0+", entity="host")
    port: UInt16 = field("0+", entity="port")


class AddRaftVoterRequest(Message, api_key=80, versions="0-1", flexible="0+"):
    cluster_id: Str | None = field("0+", nullable="0+", entity="clusterId")
    timeout_ms: Int32 = field("0+")
    voter_id: Int32 = field("0+")
    voter_directory_id: Uuid = field("0+")
    listeners: list[Listener] = field("0+")
    ack_when_committed: Bool = field("1+", default=True)


class AddRaftVoterResponse(Message, api_key=80, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", ignorable=True)
