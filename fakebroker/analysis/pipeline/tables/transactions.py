"""Transactions: when they began, how they ended, and by whom."""

from typing import Final

from fakebroker.analysis.pipeline.contract import ORIGIN_KEY, Check, Table, columns
from fakebroker.analysis.pipeline.recipe import Recipe, Step, listed
from fakebroker.analysis.pipeline.transaction_rows import ENDED_BY, transaction_rows

TABLE = Table(
    name="transactions",
    layer="silver",
    about="Every transaction, from records of `__transaction_state` or `transaction_transition` lines of a journal. A compacted log has the end of each transactional id's last transaction only",
    columns=columns("""
        transactional_id string: the transactional id
        producer_id long: the producer id that began it
        producer_epoch int: its producer epoch; that of the end if the beginning is unknown
        timeout_ms int?: the transaction timeout; null from a journal
        partitions int?: how many partitions it had; null if unknown
        topics strings?: their topics, sorted; null if unknown, and from a journal
        began_at timestamp?: when its first partition was added; null if unknown
        decided_at timestamp?: when its end was stored (PrepareCommit, PrepareAbort); null if unknown
        ended_at timestamp?: when all markers were written (CompleteCommit, CompleteAbort); null if unknown
        duration_ms long?: from its beginning to its decision; null if either is unknown, or the clock went back
        outcome string: `committed`, `aborted`, or `open` if no end is known
        ended_by string?: `producer` (EndTxn), `timeout`, `new producer` (InitProducerId, also of an administrator who terminates it) or `test`; null if it is open or that is unknown
        reason string?: why it ended, in the journal's words; null from a log
        source string: the run of a journal, or the name of a log: rows of one source belong together
        log_partition int?: the partition of `__transaction_state`; null for a row from a journal
        log_offset long?: the offset of its first record there; null for a row from a journal
        seq long?: the entry of the journal with its first line; null for a row from a log
        part int?: the line's number within that entry; null for a row from a log
    """),
    key=ORIGIN_KEY,
    checks=(
        Check(
            "known outcomes",
            "the outcome is committed, aborted or open, and an open transaction has no end",
            "SELECT * FROM transactions WHERE outcome NOT IN ('committed', 'aborted', 'open')"
            " OR (outcome = 'open' AND (decided_at IS NOT NULL OR ended_at IS NOT NULL OR ended_by IS NOT NULL))",
        ),
        Check(
            "only producers commit",
            "a transaction is committed by its producer; others abort it",
            "SELECT * FROM transactions WHERE (outcome = 'committed' AND ended_by <> 'producer')"
            f" OR ended_by NOT IN ({', '.join(repr(each) for each in ENDED_BY)})",
        ),
        Check(
            "no negative durations",
            "a transaction is not decided before it began",
            "SELECT * FROM transactions WHERE duration_ms < 0",
        ),
    ),
)

_RECORDED: Final = (
    "source", "log_partition", "log_offset", "transactional_id", "state", "producer_id", "producer_epoch", "timeout_ms",
    "partitions", "topics", "started_at", "client_version",
)  # fmt: skip


def recipe() -> Recipe:
    """A row for each transaction of each transactional id."""
    changes = f"""
        SELECT {listed(_RECORDED)}, COALESCE(updated_at, "at") AS "at", NULL AS reason, NULL AS seq, NULL AS part
        FROM transaction_records
        UNION ALL
        SELECT
            run, NULL, NULL, transactional_id, "after", producer_id, producer_epoch, NULL, partitions, NULL, NULL, NULL,
            wall_ms, reason, seq, part
        FROM events
        WHERE kind = 'transaction_transition'
    """
    together, order = ("source", "transactional_id"), ("log_partition", "log_offset", "seq", "part")
    return Recipe("SELECT * FROM made", (Step("made", TABLE, changes, transaction_rows, together, order),))
