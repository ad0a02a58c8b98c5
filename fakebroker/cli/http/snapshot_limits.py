"""How large a snapshot that is sent may be: what restoring it takes at once, while no client is served."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fakebroker.broker.core.topics import INTERNAL_TOPICS
from fakebroker.cli.http.brokers import MAX_NODES
from fakebroker.cli.http.problems import Problem
from fakebroker.protocol.records.batch_format import ATTRIBUTES_POSITION, CODEC_BITS, HEADER_BYTES, MAGIC_POSITION
from fakebroker.protocol.records.compression import decompress
from fakebroker.protocol.records.faults import BadCompression, TooLarge

if TYPE_CHECKING:
    from fakebroker.testing.snapshot.snapshot import Snapshot

UNPACKED_BYTES: Final = 16 << 20
"""To so much the compressed batches of the coordinators' topics may unpack; a broker itself writes none by default."""


def check_size(snapshot: "Snapshot", nodes: int) -> None:
    """Raises Problem for a snapshot that a broker with so many nodes cannot be restored from in a moment."""
    most = max(MAX_NODES, nodes)
    if (count := len(snapshot.state.cluster.nodes)) > most:
        raise Problem(409, "refused", f"the snapshot has {count:,} nodes; {most} are the most")
    left_bytes = UNPACKED_BYTES
    for codec, data in _compressed(snapshot):
        try:
            left_bytes -= len(decompress(codec, data, left_bytes))
        except TooLarge:
            detail = f"the batches of its internal topics unpack to more than {UNPACKED_BYTES >> 20} MiB"
            raise Problem(409, "refused", f"the snapshot is too large: {detail}") from None
        except BadCompression:
            left_bytes -= len(data)  # the coordinator that reads it leaves it out, and goes on with the others


def _compressed(snapshot: "Snapshot") -> Iterator[tuple[int, bytes]]:
    """Codec and data of each compressed batch that a coordinator reads."""
    for topic in snapshot.state.cluster.topics:
        if topic.name in INTERNAL_TOPICS:
            logs = (partition.log for partition in topic.partitions if partition.log is not None)
            for batch in (batch for log in logs for segment in log.segments for batch in segment.batches):
                codec = batch[ATTRIBUTES_POSITION + 1] & CODEC_BITS
                if batch[MAGIC_POSITION] == 2 and codec:
                    yield codec, batch[HEADER_BYTES:]
