"""The format that dialogues had before they shared that of sessions: its lines become lines of today.

A line said what to do (`do`) instead of its kind, and the head was the line without.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from fakebroker.protocol.errors import nearest
from fakebroker.testing.exchanges.columns import Row
from fakebroker.testing.exchanges.kinds import SCHEMA_VERSION
from fakebroker.testing.exchanges.reading import UnreadableFile

_KINDS = {
    "send": "request", "raw": "request", "recv": "answer", "silent": "unanswered", "closed": "closed", "sleep": "wait",
    "close": "close", "scram": "login", "ready": "ready", "nodes": "name_nodes", "topics": "create_topics",
    "node": "control_node", "move": "move_leader", "settled": "settled",
}  # fmt: skip
_COLUMNS = {
    "conn": "connection", "request": "message", "response": "message", "batches": "reads_records",
    "untimed": "is_untimed", "ms": "for_ms", "topics": "new_topics", "ids": "names_topic_ids",
    "txn": "transactional_id", "op": "action", "node": "on", "error": "error_code",
}  # fmt: skip


def is_old(head: Row) -> bool:
    """Whether the first line of a file is a head of the old format."""
    return "kind" not in head and "name" in head


def lines_of_old(path: Path, lines: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    """The lines of a dialogue of the old format as those of today. Raises UnreadableFile for a step it did not have."""
    for number, old in lines:
        if number == 1:
            yield number, {"kind": "dialogue", "schema_version": SCHEMA_VERSION, **old}
            continue
        do = old.get("do")
        if not isinstance(do, str) or do not in _KINDS:
            raise UnreadableFile(path, number, f"there is no step {do!r:.100}; {nearest(do, _KINDS)}")
        columns = {_COLUMNS.get(name, name): value for name, value in old.items() if name != "do"}
        if columns.get("new_topics", "") is None:  # "topics": null was that there are none
            del columns["new_topics"]
        yield number, {"kind": _KINDS[do], **columns}
