"""Loading a partition of `__share_group_state`: the states are what its records say. Kafka: `CoordinatorLoaderImpl`."""

from typing import TYPE_CHECKING

from fakebroker.broker.core.share_state.states import SharePartition
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.share_state_log import read_share_state

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.shard import ShareStateShard


def load_states(shard: "ShareStateShard") -> None:
    """Fill the shard from its log. Raises WireError naming the batch that cannot be read."""
    for batch in shard.partition.log.batches():
        header = parse_header(batch)
        if header.is_control:
            continue
        try:
            for record in read_records(batch):
                entry = read_share_state(record.key, record.value)
                if entry is not None:
                    shard.replay(SharePartition(*entry[:3]), entry.value)
        except (WireError, InvalidRecord) as error:
            raise WireError(f"{shard.partition.log.name}: batch at {header.base_offset}: {error}") from error
