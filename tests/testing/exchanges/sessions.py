"""Lines of sessions for tests."""

import json
from pathlib import Path
from typing import Any

from fakebroker.testing.exchanges.reading import read_session

HEAD = {
    "kind": "session",
    "schema_version": 2,
    "upstream": "127.0.0.1:9092",
    "started_wall_ms": 1_767_225_600_000,
    "fakebroker": "0.1",
}
CONNECT = {"kind": "connect", "at_ms": 3, "connection": 1, "node": None}
END = {"kind": "end", "at_ms": 9, "reason": "SIGINT", "summary": {}}


def exchanged(kind: str = "request", **fields: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "at_ms": 4,
        "connection": 1,
        "node": 1,
        "client": "svc",
        "correlation_id": 7,
        "api": "Heartbeat",
        "api_key": 12,
        "version": 4,
        "size_bytes": 40,
        **fields,
    }


def saved(path: Path, *lines: dict[str, Any] | str) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(text + "\n" for text in texts))
    return path


def lines_in(path: Path) -> list[dict[str, Any]]:
    """The lines of a session file, without their numbers."""
    return [line for _, line in read_session(path)]
