"""The journal as a timeline in the trace format of Chrome, which Perfetto opens, too.

One track for each connection with its requests, time in which a request was parked as a slice inside it; one for each
group with its states, transitions and expired offsets; one for each broker. Arrows lead from a request to the
transition it caused, and from a transition to the requests that it answered. Time is the monotonic one.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakebroker.testing.journal.lines import outcome, row_text

CLIENTS, GROUPS, BROKERS = 1, 2, 3
SHORTEST_US = 100  # a request that took no time is shown this long

_NAMES = {CLIENTS: "clients", GROUPS: "groups", BROKERS: "brokers"}
Row = Mapping[str, Any]
Event = dict[str, Any]


def write_trace(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Write the file."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": trace(rows), "displayTimeUnit": "ms"}, file)


def trace(rows: Sequence[Row]) -> list[Event]:
    """The events of the trace, of one run."""
    start_ms = min((row.get("received_mono_ms", row["mono_ms"]) for row in rows), default=0)
    return list(_Trace(rows, start_ms).events())


class _Trace:
    def __init__(self, rows: Sequence[Row], start_ms: int) -> None:
        self._rows = rows
        self._start_ms = start_ms
        self._tracks: dict[tuple[int, str], int] = {}
        self._busy_until_us: dict[int, int] = {}  # by connection
        self._flows = 0
        self._places: dict[int, tuple[int, int]] = {}  # of requests: track and time, by seq
        self._end_us = self._us(max((row["mono_ms"] for row in rows), default=start_ms)) + SHORTEST_US

    def events(self) -> Iterator[Event]:
        """Everything, tracks last: their names are known then."""
        for row in self._rows:
            if row["kind"] == "request":
                yield from self._request(row)
            elif row["kind"] not in ("transition", "offset_committed", "records_appended"):
                yield self._instant(row)
        yield from self._transitions()
        for pid, name in _NAMES.items():
            yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for (pid, name), tid in self._tracks.items():
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}

    def _us(self, mono_ms: int) -> int:
        return (mono_ms - self._start_ms) * 1000

    def _track(self, pid: int, name: str) -> int:
        return self._tracks.setdefault((pid, name), len(self._tracks) + 1)

    def _request(self, row: Row) -> Iterator[Event]:
        """Slices on one track may not overlap: one that came in the same millisecond begins when the last ended."""
        connection = row["connection"]
        tid = self._track(CLIENTS, f"{row['client']} (connection {connection}, node {row['node']})")
        begin = max(self._us(row["received_mono_ms"]), self._busy_until_us.get(connection, 0))
        length = max(self._us(row["mono_ms"]) - begin, SHORTEST_US)
        self._busy_until_us[connection] = begin + length
        self._places[row["seq"]] = (tid, begin)
        args = {name: row[name] for name in ("seq", "version", "groups", "topics", "waited_ms", "request", "response")}
        args["outcome"] = outcome(row)
        category = "error" if row["errors"] else "request"
        yield _slice(CLIENTS, tid, row["api"], category, begin, length, args)
        if row["waited_ms"]:
            yield _slice(CLIENTS, tid, "parked", "parked", begin, length, {"waited_ms": row["waited_ms"]})

    def _instant(self, row: Row) -> Event:
        group = row.get("group")
        if row["connection"] is not None:
            pid, track = CLIENTS, f"connections of node {row['node']}"
        elif group:
            pid, track = GROUPS, group
        else:
            pid, track = BROKERS, "cluster" if row["node"] is None else f"node {row['node']}"
        return _mark(pid, self._track(pid, track), row_text(row), row["kind"], self._us(row["mono_ms"]), dict(row))

    def _transitions(self) -> Iterator[Event]:
        by_group: dict[str, list[Row]] = {}
        for row in self._rows:
            if row["kind"] == "transition":
                by_group.setdefault(row["group"], []).append(row)
        for group, rows in by_group.items():
            tid = self._track(GROUPS, group)
            ends = [self._us(row["mono_ms"]) for row in rows[1:]] + [self._end_us]
            for row, end in zip(rows, ends, strict=True):
                begin = self._us(row["mono_ms"])
                args = {"reason": row["reason"], "generation": row["generation"]}
                name = f"{row['before']} -> {row['after']}: {row['reason']}"
                yield _mark(GROUPS, tid, name, "transition", begin, args)
                yield _slice(GROUPS, tid, row["after"], "state", begin, max(end - begin, 1), args)
        yield from self._arrows(by_group)

    def _arrows(self, by_group: Mapping[str, Sequence[Row]]) -> Iterator[Event]:
        """From the request that came at the moment of a transition, and to those that were answered at it."""
        for request in self._rows:
            if request["kind"] != "request":
                continue
            tid, begin = self._places[request["seq"]]
            for group in request["groups"]:
                for row in by_group.get(group, ()):
                    place = (GROUPS, self._track(GROUPS, group), self._us(row["mono_ms"]))
                    if row["mono_ms"] == request["received_mono_ms"] and row["seq"] < request["seq"]:
                        yield from self._flow("causes", (CLIENTS, tid, begin), place)
                    elif row["mono_ms"] == request["mono_ms"] and row["seq"] < request["seq"]:
                        yield from self._flow("answers", place, (CLIENTS, tid, max(begin, place[2])))

    def _flow(self, name: str, begin: tuple[int, int, int], end: tuple[int, int, int]) -> Iterator[Event]:
        self._flows += 1
        common = {"name": name, "cat": "flow", "id": self._flows}
        yield {**common, "ph": "s", "pid": begin[0], "tid": begin[1], "ts": begin[2]}
        yield {**common, "ph": "f", "bp": "e", "pid": end[0], "tid": end[1], "ts": end[2]}


def _slice(pid: int, tid: int, name: str, category: str, ts: int, dur: int, args: Event) -> Event:
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": category, "ts": ts, "dur": dur, "args": args}


def _mark(pid: int, tid: int, name: str, category: str, ts: int, args: Event) -> Event:
    return {"ph": "i", "s": "t", "pid": pid, "tid": tid, "name": name, "cat": category, "ts": ts, "args": args}
