"""What a consumer makes of fetched batches: markers of transactions are no records, aborted ones are passed over.

A broker that is asked for committed records sends the batches of aborted transactions, too, and beside them a list of
these transactions: producer id and first offset (FT-15). A producer's batches are aborted from that offset on, to its
next abort marker (KIP-98).
"""

from collections.abc import Iterator, Sequence

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch import parse_header, read_records, split_batches
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.fetch import AbortedTransaction


def committed_records(data: bytes, aborted: Sequence[AbortedTransaction] = ()) -> Iterator[Record]:
    """The records of all complete batches in `data`, without markers and the records of `aborted` transactions."""
    waiting = sorted(aborted, key=lambda each: each.first_offset)
    being_aborted: set[int] = set()
    for batch in split_batches(data):
        header = parse_header(batch)
        while waiting and waiting[0].first_offset <= header.last_offset:
            being_aborted.add(waiting.pop(0).producer_id)
        if header.is_control:
            if _is_abort(batch):
                being_aborted.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in being_aborted):
            yield from read_records(batch)


def _is_abort(batch: bytes) -> bool:
    """Whether a control batch is an abort marker; one that cannot be read, or of a later release, is not."""
    try:
        return any(control_record_type(record.key) == ControlRecordType.ABORT for record in read_records(batch))
    except WireError:
        return False
