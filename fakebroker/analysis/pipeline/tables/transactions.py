"""Transactions: when they began, how they ended, and by whom."""

from collections.abc import Iterable, Iterator
from typing import Final

from fakebroker.analysis.pipeline.contract import ORIGIN_KEY, Check, Row, Table, between_ms, columns
from fakebroker.analysis.pipeline.recipe import Recipe, Step, listed

PRODUCER: Final = "producer"
TIMEOUT: Final = "timeout"
NEW_PRODUCER: Final = "new producer"
TEST: Final = "test"
ENDED_BY: Final = (PRODUCER, TIMEOUT, NEW_PRODUCER, TEST)

# Who ends a transaction, by how the journal's reason begins; any other reason is a test's.
_BY_REASON: Final = {
    "EndTxn ": PRODUCER,
    "open longer than its timeout": TIMEOUT,
    "a new producer sent InitProducerId": NEW_PRODUCER,
}
DECIDED: Final = {"PrepareCommit": "committed", "PrepareAbort": "aborted"}
"""What a transaction comes to with these states."""
_ENDED: Final = {"CompleteCommit": "committed", "CompleteAbort": "aborted"}
_ONGOING: Final = "Ongoing"
_PROTOCOL_2: Final = 2

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
            "outcome NOT IN ('committed', 'aborted', 'open')"
            " OR (outcome = 'open' AND (decided_at IS NOT NULL OR ended_at IS NOT NULL OR ended_by IS NOT NULL))",
        ),
        Check(
            "only producers commit",
            "a transaction is committed by its producer; others abort it",
            "SELECT * FROM transactions WHERE (outcome = 'committed' AND ended_by <> 'producer')"
            f" OR ended_by NOT IN ({', '.join(repr(each) for each in ENDED_BY)})",
        ),
        Check("no negative durations", "a transaction is not decided before it began", "duration_ms < 0"),
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


def transaction_rows(changes: Iterable[Row]) -> Iterator[Row]:
    """A row for each transaction of a transactional id.

    One begins with Ongoing; with another state if what was before is not there, as in a compacted log.
    """
    found: Row | None = None
    client_version: int | None = None
    for change in changes:
        state = change["state"]
        if found is not None and (state not in (_ONGOING, *DECIDED, *_ENDED) or _is_next(state, found)):
            yield found
            found = None
        if state == _ONGOING:
            client_version = change["client_version"]
            found = _with_partitions(found or _begun(change), change)
        elif state in DECIDED:
            found = _decided(_with_partitions(found or _begun(change), change), change, client_version)
        elif state in _ENDED:
            ended = found or _begun(change)
            yield ended | {"outcome": _ENDED[state], "ended_at": change["at"], **_if_committed(_ENDED[state])}
            found = None
    if found is not None:
        yield found


def _is_next(state: str, found: Row) -> bool:
    """Whether a change is of another transaction than `found`, whose last records are missing."""
    return bool(found["outcome"] != "open" and _ENDED.get(state) != found["outcome"])


def _begun(change: Row) -> Row:
    began_at = change["at"] if change["state"] == _ONGOING and change["started_at"] is None else change["started_at"]
    names = ("transactional_id", "producer_id", "producer_epoch", "timeout_ms", *ORIGIN_KEY)
    return {**{name: change[name] for name in names}, "began_at": began_at, "outcome": "open"}


def _with_partitions(found: Row, change: Row) -> Row:
    """Partitions are added while it is open; a change that has fewer says nothing of them."""
    if change["partitions"] is None or change["partitions"] < found.get("partitions", 0):
        return found
    return found | {"partitions": change["partitions"], "topics": change["topics"]}


def _decided(found: Row, change: Row, client_version: int | None) -> Row:
    outcome = DECIDED[change["state"]]
    decided = found | {
        "outcome": outcome,
        "decided_at": change["at"],
        "duration_ms": between_ms(found["began_at"], change["at"]),
        "reason": change["reason"],
    }
    by = (
        ended_by_reason(change["reason"])
        if change["reason"] is not None
        else _by_records(decided, change, client_version)
    )
    return decided | {"ended_by": by, **_if_committed(outcome)}


def _if_committed(outcome: str) -> Row:
    return {"ended_by": PRODUCER} if outcome == "committed" else {}


def ended_by_reason(reason: str) -> str:
    """Who ended a transaction, by the reason in a journal."""
    return next((by for beginning, by in _BY_REASON.items() if reason.startswith(beginning)), TEST)


def _by_records(decided: Row, change: Row, client_version: int | None) -> str | None:
    """Who aborted a transaction of a log; None if its records do not tell.

    With protocol 1 the coordinator raises the epoch when it aborts, a producer does not (KIP-98). With protocol 2 both
    do (KIP-890). What was open for longer than its timeout is taken for timed out.
    """
    if client_version is None:
        return None
    if decided["duration_ms"] is not None and decided["duration_ms"] > decided["timeout_ms"]:
        return TIMEOUT
    if client_version >= _PROTOCOL_2:
        return None
    is_raised = (change["producer_id"], change["producer_epoch"]) != (decided["producer_id"], decided["producer_epoch"])
    return NEW_PRODUCER if is_raised else PRODUCER
