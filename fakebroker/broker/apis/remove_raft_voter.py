"""RemoveRaftVoter, key 81, v0: let a controller vote in the metadata quorum no more (KIP-853, RV).

MOCK: there is no quorum; a broker is always a voter, as the only one of a running Kafka is.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.raft_voters import check_quorum_can_change, check_voter
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse


def handle(call: Call, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    """Why this controller stays what it is (RV-1, RV-2, RV-4)."""
    try:
        check_voter(call, request.cluster_id, request.voter_id, request.voter_directory_id)
        check_quorum_can_change(call)
        raise KafkaError(ErrorCode.VOTER_NOT_FOUND, f"voter {request.voter_id} cannot be removed")
    except KafkaError as error:
        return RemoveRaftVoterResponse(error_code=error.code, error_message=error.message)
