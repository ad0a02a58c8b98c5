"""What a scripted client does as a transactional producer (KIP-98): each step is one request, as ever.

`init_producer_id` with a transactional id comes first; then `produce` with `transactional`, and these. Which
transaction protocol the client speaks follows from the versions of its requests (TX-10): 2 (KIP-890) with the newest,
unless `init_producer_id` is told to speak protocol 1, or the broker knows no other. With protocol 1 partitions and
groups have to be added before anything is written; with protocol 2 the broker adds them by itself.
"""

from collections.abc import Sequence
from typing import Any

from fakebroker.client.record_steps import RecordSteps
from fakebroker.client.requesting import Flow, Offsets, by_topic
from fakebroker.protocol.arguments.checks import check_partitions
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from fakebroker.protocol.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from fakebroker.protocol.wire.messages.end_txn import EndTxnRequest
from fakebroker.protocol.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

_NO_GENERATION = -1


class TransactionSteps(RecordSteps):
    """AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit and EndTxn, as the producer of `init_producer_id`.

    Each raises FakebrokerError for a client that has no transactional id.
    """

    def add_partitions_to_txn(
        self, partitions: Sequence[tuple[str, int]], *, producer_epoch: int | None = None
    ) -> Flow[Any]:
        """Add partitions to the transaction, which begins with the first of them; needed with protocol 1 only.

        The epoch is that of the producer unless `producer_epoch` is given, here and in the other steps. Raises
        InvalidArgument unless it is a list of topics and partitions: [("orders", 0)].
        """
        check_partitions("partitions", partitions)
        transactional_id, producer_id, epoch = self._transactional_producer(producer_epoch)
        topics = [
            AddPartitionsToTxnTopic(name=topic, partitions=[index for index, _ in rows])
            for topic, rows in by_topic(dict.fromkeys(partitions, 0)).items()
        ]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=topics,
        )
        return self.ask(request)

    def add_offsets_to_txn(self, group_id: str, *, producer_epoch: int | None = None) -> Flow[Any]:
        """Add the offsets of a group to the transaction; needed with protocol 1 only."""
        transactional_id, producer_id, epoch = self._transactional_producer(producer_epoch)
        request = AddOffsetsToTxnRequest(
            transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, group_id=group_id
        )
        return self.ask(request)

    def txn_offset_commit(
        self,
        offsets: Offsets,
        group_id: str,
        metadata: str = "",
        *,
        generation_id: int = _NO_GENERATION,
        member_id: str = "",
        group_instance_id: str | None = None,
        producer_epoch: int | None = None,
    ) -> Flow[Any]:
        """Commit offsets of a group with the transaction: they are pending until it ends.

        Generation and member are those of the consumer whose records were read (KIP-447); without them the commit has
        no member. Raises InvalidArgument unless the offsets are a mapping such as {("orders", 0): 42}.
        """
        check_partitions("offsets", offsets)
        transactional_id, producer_id, epoch = self._transactional_producer(producer_epoch)
        topics = [
            TxnOffsetCommitRequestTopic(name=topic, partitions=[_committed(*row, metadata) for row in rows])
            for topic, rows in by_topic(offsets).items()
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=group_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=group_instance_id,
            topics=topics,
        )
        return self.ask(request)

    def commit_transaction(self, *, producer_epoch: int | None = None) -> Flow[Any]:
        """Commit the transaction: its records and offsets take effect (EndTxn)."""
        return self._end(producer_epoch, is_commit=True)

    def abort_transaction(self, *, producer_epoch: int | None = None) -> Flow[Any]:
        """Abort the transaction: its records and offsets never take effect (EndTxn)."""
        return self._end(producer_epoch, is_commit=False)

    def _end(self, producer_epoch: int | None, is_commit: bool) -> Flow[Any]:
        transactional_id, producer_id, epoch = self._transactional_producer(producer_epoch)
        request = EndTxnRequest(
            transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=is_commit
        )
        answer = yield from self.ask(request)
        if answer.error_code == ErrorCode.NONE and answer.producer_id >= 0:  # v5: the producer of the next transaction
            self._use_producer(answer.producer_id, answer.producer_epoch)
        return answer


def _committed(partition: int, offset: int, metadata: str) -> TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=metadata
    )
