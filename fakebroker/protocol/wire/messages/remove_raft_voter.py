"""RemoveRaftVoter, key 81: let a controller vote in the metadata quorum no more (KIP-853)."""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Uuid, field


class RemoveRaftVoterRequest(Message, api_key=81, versions="0", flexible="0+"):
    cluster_id: Str | None = field("0+", nullable="0+", entity="clusterId")
    voter_id: Int32 = field("0+")
    voter_directory_id: Uuid = field("0+")


class RemoveRaftVoterResponse(Message, api_key=81, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", ignorable=True)
