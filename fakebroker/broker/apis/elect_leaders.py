"""ElectLeaders, key 43, v0-v2: let the preferred, or any living, replica lead (KIP-183, KIP-460; EL).

v1 election type and top-level error; v2 flexible.
"""

from collections.abc import Generator, Mapping, Sequence

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.elections import MOVES_PER_STEP, cost_of_move, elect_preferred, elect_unclean
from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace, listed
from fakebroker.protocol.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_PREFERRED, _UNCLEAN = 0, 1
_NOT_LISTED = (ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)  # of all partitions
_TEXTS = {
    ErrorCode.NONE: None,
    ErrorCode.ELECTION_NOT_NEEDED: "the preferred replica already leads",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "the partition does not exist",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "the preferred replica is not alive and in sync",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "no replica is alive",
    ErrorCode.INVALID_REQUEST: "unknown election type",
}


def handle(call: Call, request: ElectLeadersRequest) -> ElectLeadersResponse | None:
    """Each partition on its own. For "all", those that need no election are left out (EL-2)."""
    if request.timeout_ms <= 0 and request.topic_partitions != []:  # AD-5
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    kind = request.election_type if call.version >= 1 else _PREFERRED
    if kind not in (_PREFERRED, _UNCLEAN):
        return call.work(_refused(request, call.pace(MOVES_PER_STEP)))
    return call.work(_in_steps(call, request, kind), must_finish=True)


def _refused(request: ElectLeadersRequest, pace: Pace) -> Steps[ElectLeadersResponse]:
    """There is no such type of election."""
    response = ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    for entry in request.topic_partitions or ():
        codes = dict.fromkeys(entry.partitions, ErrorCode.INVALID_REQUEST)
        response.replica_election_results.append((yield from _result(entry.topic, codes, pace)))
    return response


def _in_steps(call: Call, request: ElectLeadersRequest, kind: int) -> Steps[ElectLeadersResponse]:
    named, results, pace = request.topic_partitions, list[ReplicaElectionResult](), call.pace(MOVES_PER_STEP)
    wanted = _all(call) if named is None else [(entry.topic, entry.partitions) for entry in named]
    for topic, indexes in wanted:
        codes: dict[int, ErrorCode] = {}
        for index in indexes:
            partition = call.cluster.topics.partition(topic, index)
            codes[index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition is None else _elect(call, partition, kind)
            if pace.is_over(1 if partition is None or codes[index] else cost_of_move(partition)):
                yield
        if named is None:
            codes = {index: code for index, code in codes.items() if code not in _NOT_LISTED}
        results.append((yield from _result(topic, codes, pace)))
    return ElectLeadersResponse(replica_election_results=results)


def _all(call: Call) -> list[tuple[str, Sequence[int]]]:
    return [(topic.name, range(len(topic.partitions))) for topic in call.cluster.topics]


def _elect(call: Call, partition: Partition, kind: int) -> ErrorCode:
    """Elect a leader if that is needed and possible; returns the error or NONE (EL-1, EL-3).

    A preferred election makes the first replica the leader; an unclean one happens only for a partition without leader.
    """
    if kind == _PREFERRED:
        if partition.leader == partition.replicas[0]:
            return ErrorCode.ELECTION_NOT_NEEDED
        is_elected = elect_preferred(partition, call.now)
        return ErrorCode.NONE if is_elected else ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    if partition.leader >= 0:
        return ErrorCode.ELECTION_NOT_NEEDED
    return ErrorCode.NONE if elect_unclean(partition, call.now) else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


def _result(topic: str, codes: Mapping[int, ErrorCode], pace: Pace) -> Generator[None, None, ReplicaElectionResult]:
    """What is answered for a topic; in steps, as it may have half a million partitions in a request."""
    partitions = (
        PartitionResult(partition_id=index, error_code=code, error_message=_TEXTS[code])
        for index, code in codes.items()
    )
    result = ReplicaElectionResult(topic=topic, partition_result=(yield from listed(partitions, pace)))
    if pace.is_over():
        yield
    return result
