"""Histories for the retention what-if: rows of tables as a log gives them, and the same as inputs of a replay."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions
from fakebroker.protocol.records.consumer_protocol import subscribed_topics
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from fakebroker.protocol.records.offsets_codec import read_entry
from fakebroker.protocol.records.offsets_topic import (
    CommittedOffset,
    GroupEntry,
    GroupValue,
    OffsetEntry,
    TopicPartition,
)
from tests.support.histories import History, LogRecord
from tests.support.history_replay import (
    Committed,
    Expired,
    GroupStored,
    Input,
    OffsetDeleted,
    TransactionEnded,
    asked_for,
    replay,
)
from tests.support.tables_made import retention_losses

Row = dict[str, Any]
NO_TIME = -1


class LogTables(NamedTuple):
    """The tables that the what-if reads, from a log."""

    commits: list[Row]
    coordinator_records: list[Row]
    group_states: list[Row]


def tables_of_log(history: History) -> LogTables:
    """The tables of a history's log, made without any of the pipeline."""
    tables = LogTables([], [], [])
    pending: dict[tuple[int, int], list[Row]] = {}
    spans: dict[str, Row] = {}
    for record in history.records:
        if record.is_control:
            is_commit = control_record_type(record.key) == ControlRecordType.COMMIT
            for row in pending.pop((record.partition, record.producer_id), []):
                row["outcome"] = "committed" if is_commit else "aborted"
                if is_commit:
                    row["applied_at"], row["applied_log_offset"] = record.timestamp_ms, record.offset
            kind = "commit" if is_commit else "abort"
            tables.coordinator_records.append(
                {**_place(history, record), "at": record.timestamp_ms, "kind": kind, "producer_id": record.producer_id}
            )
            continue
        entry = read_entry(record.key, record.value)
        if isinstance(entry, OffsetEntry):
            row = _commit_row(history, record, entry)
            tables.commits.append(row)
            if row["transactional"]:
                pending.setdefault((record.partition, record.producer_id), []).append(row)
        elif isinstance(entry, GroupEntry):
            row = _span(history, record, entry)
            if entry.group_id in spans:
                spans[entry.group_id]["ended_at"] = row["began_at"]
            spans[entry.group_id] = row
            tables.group_states.append(row)
    return tables


def _place(history: History, record: LogRecord) -> Row:
    return {
        "source": history.run,
        "log_partition": record.partition,
        "log_offset": record.offset,
        "seq": None,
        "part": None,
    }


def _commit_row(history: History, record: LogRecord, entry: OffsetEntry) -> Row:
    value = None if entry.value is None else CommittedOffset._make(entry.value)
    transactional = record.producer_id >= 0
    return {
        **_place(history, record),
        "group_id": entry.group_id,
        "topic": entry.topic,
        "partition": entry.partition,
        "committed_offset": None if value is None else value.offset,
        "committed_at": None if value is None else value.commit_ms,
        "expires_at": None if value is None or value.expire_ms == NO_TIME else value.expire_ms,
        "transactional": transactional,
        "outcome": "open" if transactional else "committed",
        "producer_id": record.producer_id if transactional else None,
        "at": record.timestamp_ms,
        "applied_at": None if transactional else record.timestamp_ms,
        "applied_log_offset": None if transactional else record.offset,
    }


def _span(history: History, record: LogRecord, entry: GroupEntry) -> Row:
    value = entry.value
    state = "Dead" if value is None else "Stable" if value.members else "Empty"
    return {
        **_place(history, record),
        "group_id": entry.group_id,
        "group_type": "classic",
        "state": state,
        "protocol_type": None if value is None else value.protocol_type,
        "subscribed_topics": None if value is None else _topics(value),
        "state_at": None if value is None or value.state_ms == NO_TIME else value.state_ms,
        "began_at": record.timestamp_ms,
        "ended_at": None,
        "reason": None,
    }


def _topics(value: GroupValue) -> list[str] | None:
    if value.protocol_type != "consumer":
        return None
    found = subscribed_topics(member.subscription for member in value.members)
    return None if found is None else sorted(found)


def inputs_of_log(history: History, partition: int) -> list[Input]:
    """The records of one partition of the log as inputs of a replay, tombstones of cleanups among them."""
    found: list[Input] = []
    for record in history.records:
        if record.partition != partition:
            continue
        at_ms = record.timestamp_ms
        if record.is_control:
            is_commit = control_record_type(record.key) == ControlRecordType.COMMIT
            found.append(TransactionEnded(at_ms, record.producer_id, is_commit))
            continue
        entry = read_entry(record.key, record.value)
        if isinstance(entry, GroupEntry):
            found.append(GroupStored(at_ms, entry.group_id, entry.value))
        elif isinstance(entry, OffsetEntry):
            if entry.value is not None:
                producer_id = record.producer_id if record.producer_id >= 0 else None
                found.append(Committed(at_ms, entry.group_id, entry.value, producer_id))
            else:
                found.append(OffsetDeleted(at_ms, entry.group_id, TopicPartition(entry.topic, entry.partition)))
    return found


def replayed(history: History, retentions_ms: Iterable[int], options: WhatifOptions) -> dict[int, list[Expired]]:
    """What expires when the log of a history is replayed with each retention, sorted."""
    assert options.since_ms is not None
    assert options.until_ms is not None
    found: dict[int, list[Expired]] = {each: [] for each in retentions_ms}
    for partition in sorted({record.partition for record in history.records}):
        inputs = asked_for(
            inputs_of_log(history, partition),
            recorded_retention_ms=options.recorded_retention_ms,
            since_ms=options.since_ms,
            policy=options.policy,
        )
        for retention_ms in found:
            found[retention_ms] += replay(
                inputs,
                retention_ms=retention_ms,
                since_ms=options.since_ms,
                until_ms=options.until_ms,
                check_interval_ms=options.check_interval_ms,
                policy=options.policy,
            )
    return {each: sorted(expired) for each, expired in found.items()}


def as_expired(losses: Iterable[Row], retention_ms: int) -> list[Expired]:
    """Rows of retention_losses in the shape of a replay's result, sorted."""
    return sorted(
        Expired(
            row["group_id"],
            row["topic"],
            row["partition"],
            row["committed_offset"],
            row["committed_at"],
            row["due_at"],
            row["lost_at"],
            row["rule"],
        )
        for row in losses
        if row["retention_ms"] == retention_ms
    )


def losses_of_log(history: History, options: WhatifOptions) -> list[Row]:
    """The what-if of a history's log."""
    tables = tables_of_log(history)
    return retention_losses(tables.commits, tables.coordinator_records, tables.group_states, [], [], options=options)
