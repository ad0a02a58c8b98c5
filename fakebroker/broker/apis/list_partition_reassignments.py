"""ListPartitionReassignments, key 46, v0: the moves that are running (KIP-455, RA-3).

MOCK: a move is done before AlterPartitionReassignments answers, so none is ever running.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def handle(_call: Call, _request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    """No topics, whichever were asked for."""
    return ListPartitionReassignmentsResponse(error_message=None)
