"""WriteShareGroupState, key 85, v0-v1: the leader of partitions stores what changed (KIP-932, SGB-3).

v1 how many records in flight are done with.
"""

from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.share_states import Outcome, Topics, ask_all, without_state
from fakebroker.broker.core.share_state.states import SharePartition, StateAnswer, StateBatch, StateWrite
from fakebroker.protocol.wire.messages.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.shard import ShareStateShard


def handle(call: Call, request: WriteShareGroupStateRequest) -> WriteShareGroupStateResponse | None:
    """Store what changed of each state."""

    def ask(shard: "ShareStateShard", key: SharePartition, entry: PartitionData, answer: StateAnswer) -> None:
        shard.write(key, _change(entry), without_state(answer), call.now)

    return ask_all(call, request, ask, _partition, _response)


def _change(entry: PartitionData) -> StateWrite:
    batches = (
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in entry.state_batches
    )
    return StateWrite(
        entry.state_epoch, entry.leader_epoch, entry.start_offset, entry.delivery_complete_count, tuple(batches)
    )


def _response(topics: Topics) -> WriteShareGroupStateResponse:
    return WriteShareGroupStateResponse(
        results=[WriteStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics]
    )


def _partition(outcome: Outcome) -> PartitionResult:
    return PartitionResult(partition=outcome.partition, error_code=outcome.code, error_message=outcome.message)
