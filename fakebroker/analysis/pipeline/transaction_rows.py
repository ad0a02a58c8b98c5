"""The transactions of transactional ids, from the records or the journal's lines of their coordinator."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from fakebroker.analysis.pipeline.contract import ORIGIN_KEY, Row

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


def transaction_rows(changes: Iterable[Row]) -> Iterator[Row]:
    """A row for each transaction. `changes` are sorted by source and transactional id, and of an id by their place."""
    for _, of_id in groupby(changes, key=lambda row: (row["source"], row["transactional_id"])):
        yield from _of_id(of_id)


def _of_id(changes: Iterable[Row]) -> Iterator[Row]:
    """A transaction begins with Ongoing; with another state if what was before is not there, as in a compacted log."""
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
    began_at, at = found["began_at"], change["at"]
    is_known = began_at is not None and at is not None and at >= began_at
    decided = found | {
        "outcome": outcome,
        "decided_at": at,
        "duration_ms": at - began_at if is_known else None,
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
