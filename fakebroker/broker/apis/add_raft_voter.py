"""AddRaftVoter, key 80, v0-v1: let one more controller vote in the metadata quorum (KIP-853, RV).

MOCK: there is no quorum, and no controller but the brokers, which vote already: whatever is asked for is refused.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.raft_voters import check_quorum_can_change, check_voter
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse

_LISTENER = "CONTROLLER"


def handle(call: Call, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    """Why this controller becomes no voter (RV-1, RV-2, RV-3)."""
    try:
        check_voter(call, request.cluster_id, request.voter_id, request.voter_directory_id)
        if all(listener.name != _LISTENER for listener in request.listeners):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"the voter has no listener {_LISTENER}")
        check_quorum_can_change(call)
        if request.voter_id in call.cluster.nodes:
            raise KafkaError(ErrorCode.DUPLICATE_VOTER, f"{request.voter_id} is already a voter")
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"controller {request.voter_id} does not answer at its listener")
    except KafkaError as error:
        return AddRaftVoterResponse(error_code=error.code, error_message=error.message)
