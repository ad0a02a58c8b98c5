"""Recorded dialogues as data: a head and the steps that follow, one JSON object a line.

The format is that of the recordings made from real Kafka brokers: what a client sends, what must come back, how long
that took, what must stay unanswered, which connections get closed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.json_text import parse_json

Json = Any  # what json.loads gives


class DialogueError(FakebrokerError):
    """A dialogue that cannot be read or played; the text names the file and the line."""


@dataclass(frozen=True)
class Send:
    """A request leaves on a connection. `save` maps a name to a path into its answer, e.g. "Members.0.MemberId"."""

    id: int
    conn: str
    api: str
    version: int
    request: dict[str, Json]
    save: dict[str, str]
    decode_batches: bool


@dataclass(frozen=True)
class Raw:
    """Bytes leave as they are; an answer with correlation id 0x7fffffff is read as `api` in `version`."""

    id: int
    conn: str
    api: str
    version: int
    data: bytes


@dataclass(frozen=True)
class Receive:
    """The answer of request `id` must be this one, `waited_ms` after it was sent; any time if `is_untimed`."""

    id: int
    response: Json
    waited_ms: int
    is_untimed: bool = False


@dataclass(frozen=True)
class Silent:
    """Request `id` must still be unanswered `ms` later."""

    id: int
    ms: int


@dataclass(frozen=True)
class Closed:
    """The broker must close the connection instead of answering request `id`."""

    id: int


@dataclass(frozen=True)
class Sleep:
    """Time passes."""

    ms: int


@dataclass(frozen=True)
class Close:
    """The client closes a connection."""

    conn: str


@dataclass(frozen=True)
class ScramLogin:
    """A whole login by SCRAM; the last answer must have the code `error`, 0 for success."""

    conn: str
    mechanism: str
    user: str
    password: str
    extensions: str
    error: int


@dataclass(frozen=True)
class Ready:
    """Create topics, then wait until their leaders and the coordinators of `group` and `txn` are available.

    `ids` saves topic ids as "$id:<name>". `txn` is a transactional id, "" when only producer ids are needed.
    """

    group: str | None
    topics: dict[str, dict[str, Json]]
    ids: bool
    txn: str | None


@dataclass(frozen=True)
class NameNodes:
    """Name the brokers a, b, c: a leads the group's partition, or the topic's partition 0; then the other replicas.

    "x@a" is then a connection to that broker, "x@t" one to the coordinator of the transactional id `txn`.
    """

    group: str | None
    topic: str | None
    txn: str | None


@dataclass(frozen=True)
class MakeTopics:
    """Create topics with replicas on named brokers, and wait until all brokers know their leaders."""

    topics: dict[str, dict[str, Json]]


@dataclass(frozen=True)
class NodeControl:
    """Do something to a broker from outside: `op` is stop, kill, restart, freeze or thaw."""

    op: str
    node: str


@dataclass(frozen=True)
class MoveLeader:
    """Let another broker lead the group's partition, or the topic's partition 0."""

    to: str
    group: str | None
    topic: str | None


@dataclass(frozen=True)
class Settled:
    """Wait until every live broker names `on` as the leader, and it serves the group, the topic's partition 0."""

    on: str
    group: str | None
    topic: str | None


ClusterStep = NameNodes | MakeTopics | NodeControl | MoveLeader | Settled


@dataclass(frozen=True)
class Unsupported:
    """A step of a kind that this player does not play; `why` says so."""

    why: str


Step = Send | Raw | Receive | Silent | Closed | Sleep | Close | ScramLogin | Ready | ClusterStep | Unsupported


@dataclass(frozen=True)
class Dialogue:
    """One recording: what it shows, the broker ("Kafka 4.3.1") and the settings it was recorded with, the steps.

    `nodes` is how many brokers there were.
    """

    name: str
    about: str
    broker: str
    config: dict[str, Json]
    steps: tuple[Step, ...]
    path: Path = field(default=Path(), compare=False)
    nodes: int = 1

    @property
    def release(self) -> str:
        """The release of the recorded broker, "4.3"."""
        words = self.broker.split()[-1].split(".")
        return ".".join(words[:2]) if len(words) >= 2 else "4.3"


def read_dialogue(path: Path) -> Dialogue:
    """Parse a recording. Raises DialogueError naming file and line."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeError) as error:
        raise DialogueError(f"{path}: it cannot be read: {error}") from None
    if not lines[0]:
        raise DialogueError(f"{path}: empty, a dialogue begins with its head")
    head = _parse_line(path, 1, lines[0], _head)
    steps = tuple(_parse_line(path, n, line, _step) for n, line in enumerate(lines[1:], 2) if line.strip())
    return Dialogue(head["name"], head["about"], head["broker"], head["config"], steps, path, head["nodes"])


def find_dialogues(paths: list[Path]) -> list[Path]:
    """Every recording in the files and folders named, in order of path. Raises DialogueError when there is none."""
    found: list[Path] = []
    for path in paths:
        found += sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not found:
        raise DialogueError(f"no *.jsonl in {', '.join(map(str, paths))}")
    return found


def _parse_line(path: Path, number: int, line: str, parse: Callable[[dict[str, Json]], Any]) -> Any:
    try:
        found = parse_json(line)
        if not isinstance(found, dict):
            raise ValueError("a line of a dialogue is a JSON object")
        _check_types(found)
        return parse(found)
    except KeyError as missing:
        raise DialogueError(f"{path}:{number}: {missing} is missing") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise DialogueError(f"{path}:{number}: {error}") from None


def _check_types(line: dict[str, Json]) -> None:
    """Raise ValueError for a field that has a value of another type, and for a wait that no recording has."""
    for names, types in _TYPES.items():
        for name in names.split():
            if type(line.get(name)) not in (*types, NoneType):
                raise ValueError(f"{name} is {line[name]!r:.100}, not {' or '.join(each.__name__ for each in types)}")
    for topic, declared in (line.get("topics") or {}).items():
        if not isinstance(declared, dict):
            raise ValueError(f"the topic {topic} is {declared!r:.100}, not dict")
    for name in ("ms", "waited_ms"):
        if not 0 <= (line.get(name) or 0) <= _YEAR_MS:
            raise ValueError(f"{name} is {line[name]!r:.100}, not from 0 to a year")


# What fields of heads and steps are, where they are anything.
_TYPES: dict[str, tuple[type, ...]] = {
    "id ms version waited_ms nodes error": (int,),
    "about api broker conn do extensions group hex mechanism name node on op password to topic txn user": (str,),
    "batches ids untimed": (bool,),
    "config request response save topics": (dict,),
}
_YEAR_MS = 366 * 86_400_000


def _head(line: dict[str, Json]) -> dict[str, Json]:
    return {"name": line["name"], "about": line.get("about", ""), "broker": line.get("broker", "Kafka 4.3.1"),
            "config": line.get("config", {}), "nodes": int(line.get("nodes", 1))}  # fmt: skip


def _step(line: dict[str, Json]) -> Step:
    kind = line["do"]
    if kind not in _STEPS:
        return Unsupported(f'steps of kind "{kind}" are not supported yet')
    return _STEPS[kind](line)


_STEPS: dict[str, Callable[[dict[str, Json]], Step]] = {
    "send": lambda s: Send(
        s["id"], s["conn"], s["api"], s["version"], s["request"], s.get("save", {}), s.get("batches", False)
    ),
    "raw": lambda s: Raw(s["id"], s["conn"], s["api"], s["version"], bytes.fromhex(s["hex"])),
    "recv": lambda s: Receive(s["id"], s["response"], s["waited_ms"], s.get("untimed", False)),
    "silent": lambda s: Silent(s["id"], s["ms"]),
    "closed": lambda s: Closed(s["id"]),
    "sleep": lambda s: Sleep(s["ms"]),
    "close": lambda s: Close(s["conn"]),
    "scram": lambda s: ScramLogin(
        s["conn"], s["mechanism"], s["user"], s["password"], s.get("extensions", ""), s["error"]
    ),
    "ready": lambda s: Ready(s.get("group"), s.get("topics") or {}, s.get("ids", False), s.get("txn")),
    "nodes": lambda s: NameNodes(s.get("group"), s.get("topic"), s.get("txn")),
    "topics": lambda s: MakeTopics(s["topics"]),
    "node": lambda s: NodeControl(s["op"], s["node"]),
    "move": lambda s: MoveLeader(s["to"], s.get("group"), s.get("topic")),
    "settled": lambda s: Settled(s["on"], s.get("group"), s.get("topic")),
}
