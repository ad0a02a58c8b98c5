"""ReadShareGroupStateSummary, key 87, v0-v1: states without those of single records (KIP-932, SGO-1).

v1 how many records in flight are done with.
"""

from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.share_states import Outcome, Topics, ask_all
from fakebroker.broker.core.share_state.states import SharePartition, StateAnswer
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.shard import ShareStateShard


def handle(call: Call, request: ReadShareGroupStateSummaryRequest) -> ReadShareGroupStateSummaryResponse | None:
    """Summarize each state; a partition without one has start offset -1, which is no error."""

    def ask(shard: "ShareStateShard", key: SharePartition, _entry: PartitionData, answer: StateAnswer) -> None:
        answer(ErrorCode.NONE, shard.summary(key), call.now)

    return ask_all(call, request, ask, _partition, _response)


def _response(topics: Topics) -> ReadShareGroupStateSummaryResponse:
    return ReadShareGroupStateSummaryResponse(
        results=[ReadStateSummaryResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics]
    )


def _partition(outcome: Outcome) -> PartitionResult:
    """One partition; of an error the numbers are 0, the count unknown."""
    if outcome.code:
        return PartitionResult(partition=outcome.partition, error_code=outcome.code, error_message=outcome.message)
    return PartitionResult(
        partition=outcome.partition,
        state_epoch=outcome.state.state_epoch,
        leader_epoch=outcome.state.leader_epoch,
        start_offset=outcome.state.start_offset,
        delivery_complete_count=outcome.state.delivery_complete_count,
    )
