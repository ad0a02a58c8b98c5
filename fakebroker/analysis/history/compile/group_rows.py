"""The rows of one group from published tables: filtered where the files are read, and no more than a window needs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fakebroker.analysis.history.compile.happened import position_of
from fakebroker.analysis.history.compile.settled import SETTLED_STATES
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.group_transitions import RELOAD_REASONS
from fakebroker.protocol.errors import FakebrokerError

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.engines import Engine

_NEEDED = ("commits", "group_states", "members", "assignments")
_USED = ("expiries", "events", "coordinator_records", "transactions")  # if they are there


def rows_of_group(
    folder: Path, group_id: str, start_ms: int, end_ms: int, source: str | None, engine: "Engine | None" = None
) -> dict[str, list[Row]]:
    """The rows that `window_of` needs of the tables in `folder`; `engine` reads them, the embedded one unless given.

    Raises FakebrokerError for a folder without the tables, with damaged ones, or that does not know the group.
    """
    from fakebroker.analysis.pipeline.extras import need_extra

    need_extra("history")
    from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
    from fakebroker.analysis.pipeline.publish import Published

    published = Published(folder)
    missing = [name for name in _NEEDED if not published.has(name)]
    if missing:
        raise FakebrokerError(
            f"{folder} has no tables {', '.join(missing)}: `history decode` and `pipeline build` make them"
        )

    names = [*_NEEDED, *(each for each in _USED if published.has(each))]
    folders = {name: [published.folder_of(name)] for name in names}  # raises for files that were not published
    engine = engine or DuckEngine()
    values = {"group_id": group_id, "source": source, "start_ms": start_ms, "end_ms": end_ms}
    queries = _queries("TRUE" if source is None else "source = $source")
    found: dict[str, list[Row]] = {"group_states": engine.asked(queries.pop("group_states"), folders, values)}
    values["since_ms"] = _needed_since_ms(found["group_states"], start_ms)
    found |= {name: engine.asked(query, folders, values) for name, query in queries.items() if name in folders}
    if not found["commits"] and not found["group_states"]:
        until = "" if source is None else f" in source {source}"
        raise FakebrokerError(f"{folder}: there are no records of group {group_id}{until} before the end of the window")
    return found


def _queries(of_source: str) -> dict[str, str]:
    """What is read of each table.

    Of the commits before the window only the last of each partition. Of the events the records of newer groups, what
    was deleted, which transactions committed offsets, and what became of all. Of records beside the group's own the
    ends of transactions in the partition of its log.
    """
    own = f"group_id = $group_id AND {of_source}"
    since = """"at" >= $since_ms AND "at" <= $end_ms"""
    producers = f"""FROM commits WHERE {own} AND "at" <= $end_ms"""
    return {
        "group_states": f"SELECT * FROM group_states WHERE {own} AND began_at <= $end_ms",
        "members": f"SELECT * FROM members WHERE {own} AND {since}",
        "assignments": f"SELECT * FROM assignments WHERE {own} AND {since}",
        "commits": f"""
            SELECT * EXCLUDE (number)
            FROM (
                SELECT *, ROW_NUMBER() OVER (
                    PARTITION BY source, topic, "partition" ORDER BY log_offset DESC, seq DESC, part DESC
                ) AS number
                FROM commits
                WHERE {own} AND outcome = 'committed' AND "at" < $start_ms
            ) AS before
            WHERE number = 1
            UNION ALL
            SELECT * FROM commits WHERE {own} AND "at" >= $start_ms AND "at" <= $end_ms
        """,
        "expiries": f"SELECT * FROM expiries WHERE {own} AND expired_at <= $end_ms",
        "coordinator_records": f"""
            SELECT * FROM coordinator_records
            WHERE {of_source} AND "at" <= $end_ms AND (
                group_id = $group_id
                OR (kind IN ('commit', 'abort') AND (log_partition, producer_id) IN (
                    SELECT log_partition, producer_id {producers}
                ))
            )
        """,
        "transactions": f"""
            SELECT * FROM transactions WHERE {of_source} AND producer_id IN (SELECT producer_id {producers})
        """,
        "events": f"""
            SELECT * FROM events
            WHERE {of_source.replace("source =", "run =")} AND wall_ms <= $end_ms AND (
                (kind IN ('coordinator_record', 'offset_deleted') AND "group" = $group_id)
                OR kind = 'transaction_transition'
                OR (api = 'TxnOffsetCommit' AND ARRAY_CONTAINS("groups", $group_id))
            )
        """,
    }


def _needed_since_ms(states: Sequence[Row], start_ms: int) -> int:
    """Members and assignments matter from the rebalance on that made the state of the group at `start_ms`."""
    by_source: dict[str, list[Row]] = {}
    for row in sorted(states, key=position_of):
        reason = row["reason"] or ""
        is_new = not reason.startswith(RELOAD_REASONS)
        if row["state"] in SETTLED_STATES and row["began_at"] < start_ms and is_new:
            by_source.setdefault(row["source"], []).append(row)
    return min((rows[-2]["began_at"] for rows in by_source.values() if len(rows) > 1), default=0)
