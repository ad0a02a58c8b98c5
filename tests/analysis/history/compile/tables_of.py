"""The published tables of a random history, made by the pipeline: from its journal, or from its log."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fakebroker.analysis.history.decode import decode_all
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.pipeline.publish import write_manifest
from fakebroker.analysis.pipeline.rows import write_rows
from fakebroker.analysis.pipeline.sources.journal_line import Line, parse_line
from fakebroker.analysis.pipeline.tables import table
from fakebroker.analysis.pipeline.tables.events import TABLE as EVENTS
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from tests.support.histories import History
from tests.support.histories import LogRecord as Recorded
from tests.support.tables_made import (
    assignments,
    commits,
    coordinator_records,
    expiries,
    group_states,
    members,
    requests,
)

Rows = list[dict[str, Any]]


def from_journal(history: History) -> dict[str, Rows]:
    """The tables of its journal."""
    return of_lines(history.rows)


def of_lines(lines: Rows) -> dict[str, Rows]:
    """The tables of the lines of a journal."""
    events = [_event(row, number) for number, row in enumerate(lines, 1)]
    return {
        "commits": commits([], events),
        "group_states": group_states([], events),
        "members": members([], events),
        "assignments": assignments([], events),
        "expiries": expiries(events),
        "requests": requests(events),
        "events": events,
    }


def from_log(history: History) -> dict[str, Rows]:
    """The tables of its `__consumer_offsets`."""
    return of_records(history.run, history.records)


def of_records(source: str, records: Iterable[Recorded]) -> dict[str, Rows]:
    """The tables of records of `__consumer_offsets`."""
    return of_rows(list(decode_all(_log_records(source, records))))


def of_rows(decoded: Rows) -> dict[str, Rows]:
    """The tables of decoded records."""
    records = coordinator_records(decoded)
    return {
        "coordinator_records": records,
        "commits": commits(decoded, []),
        "group_states": group_states(records, []),
        "members": members(records, []),
        "assignments": assignments(records, []),
    }


def of_group(tables: dict[str, Rows], group_id: str) -> dict[str, Rows]:
    """The rows that have to do with one group."""
    found = {}
    for name, rows in tables.items():
        if name in ("events", "requests"):
            found[name] = [row for row in rows if row["api"] == "TxnOffsetCommit" and group_id in (row["groups"] or [])]
            kinds = ("coordinator_record", "offset_deleted")
            found[name] += [row for row in rows if row.get("kind") in kinds and row["group"] == group_id]
            found[name] += [row for row in rows if row.get("kind") == "transaction_transition"]
        elif name == "coordinator_records":
            commits_of_group = [row for row in tables["commits"] if row["group_id"] == group_id]
            places = {(row["log_partition"], row["producer_id"]) for row in commits_of_group}
            found[name] = [
                row
                for row in rows
                if row["group_id"] == group_id
                or (row["kind"] in ("commit", "abort") and (row["log_partition"], row["producer_id"]) in places)
            ]
        elif name == "transactions":
            found[name] = rows
        else:
            found[name] = [row for row in rows if row["group_id"] == group_id]
    return found


def _event(row: dict[str, Any], number: int) -> dict[str, Any]:
    found = parse_line(Line("journal.jsonl", number, json.dumps(row).encode()))
    assert "reject_reason" not in found, found
    return {name: found.get(name) for name in EVENTS.column_names}


def _log_records(source: str, records: Iterable[Recorded]) -> list[LogRecord]:
    kinds: dict[int, str] = {ControlRecordType.COMMIT: "commit", ControlRecordType.ABORT: "abort"}
    return [
        LogRecord(
            source,
            "00000000000000000000.log",
            each.offset,
            each.partition,
            each.offset,
            each.timestamp_ms,
            each.key,
            each.value,
            None if each.producer_id < 0 else each.producer_id,
            None if each.producer_id < 0 else 0,
            each.producer_id >= 0 and not each.is_control,
            kinds[control_record_type(each.key)] if each.is_control else None,
        )
        for each in records
    ]


def publish(folder: Path, tables: dict[str, Rows]) -> Path:
    """Write tables as published ones are; returns the folder."""
    for name, rows in tables.items():
        write_rows(table(name), rows, folder / name)
    write_manifest(folder, tables, {})
    return folder
