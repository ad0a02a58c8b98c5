"""The difference of two journals: what each client and each group did, side by side.

Times, ports, made-up ids and counters that depend on time are left out before anything is compared, and so are polls
that went well: how often a client asks depends on the machine.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any, NamedTuple

from fakebroker.testing.journal.lines import TIMELESS, outcome, row_text
from fakebroker.testing.journal.saved import SavedJournal

POLLS = frozenset({"Heartbeat", "Fetch"})
CONTEXT_LINES = 2
MAX_CHARACTERS = 120
MOST_COMPARED = 250_000  # steps here times steps there, of one timeline; it takes a second

_Part = tuple[str, int, int, int, int]

# Fields of messages that differ between two runs of the same.
_IGNORED = frozenset(
    {"ThrottleTimeMs", "SessionId", "SessionEpoch", "Port", "TopicId", "LogAppendTimeMs", "ClusterId", "MaxWaitMs"}
)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"(?<=[\w\]]):\d{2,5}\b")


class JournalDiff(NamedTuple):
    """The differences of two journals; printed as text, "-" is only here, "+" only there, "~" in both."""

    is_same: bool
    lines: list[str]

    def __str__(self) -> str:
        return "\n".join(self.lines) if self.lines else "no difference"


class _Step(NamedTuple):
    """One line of a timeline: what is compared first, and the rest of what is compared."""

    text: str
    body: Mapping[str, Any]


def diff(here: SavedJournal, there: SavedJournal) -> JournalDiff:
    """Compare two journals timeline by timeline: of each client, of each group, of the brokers."""
    ours, theirs = _timelines(here), _timelines(there)
    lines: list[str] = []
    for name in dict.fromkeys([*ours, *theirs]):
        lines += _compared(name, ours.get(name, []), theirs.get(name, []))
    return JournalDiff(not lines, lines)


def _timelines(journal: SavedJournal) -> dict[str, list[_Step]]:
    found: dict[str, list[_Step]] = {}
    for row in journal.rows:
        if row["kind"] in TIMELESS or (row["kind"] == "request" and row["api"] in POLLS and outcome(row) == "ok"):
            continue
        step = _Step(_plain_text(row_text(row)), _comparable(row) if row["kind"] == "request" else {})
        steps = found.setdefault(_timeline(row), [])
        if not steps or steps[-1].text != step.text or not _is_poll(row):
            steps.append(step)
    return found


def _is_poll(row: Mapping[str, Any]) -> bool:
    return row["kind"] == "request" and row["api"] in POLLS


def _timeline(row: Mapping[str, Any]) -> str:
    if row["kind"] == "request":
        return f"client {row['client']}"
    return f"group {row['group']}" if row.get("group") else "brokers"


def _comparable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _without_chance(row[name]) for name in ("request", "response")}


def _without_chance(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_chance(inner) for key, inner in value.items() if not _is_ignored(key)}
    if isinstance(value, list):
        return [_without_chance(inner) for inner in value]
    return _plain_text(value) if isinstance(value, str) else value


def _is_ignored(name: str) -> bool:
    return name in _IGNORED or "Timestamp" in name


def _plain_text(text: str) -> str:
    return _ADDRESS.sub(":<port>", _UUID.sub("<uuid>", text))


def _compared(name: str, ours: Sequence[_Step], theirs: Sequence[_Step]) -> list[str]:
    """The lines of one timeline that differ, with some around them; none if there are none."""
    marked: list[tuple[str, str]] = []
    for tag, begin, end, other_begin, other_end in _parts([step.text for step in ours], [step.text for step in theirs]):
        if tag == "equal":
            for mine, other in zip(ours[begin:end], theirs[other_begin:other_end], strict=True):
                changes = list(_changes(mine.body, other.body, ""))
                marked.append(("~" if changes else " ", mine.text))
                marked += [("~", f"  {change}") for change in changes]
        else:
            marked += [("-", step.text) for step in ours[begin:end]]
            marked += [("+", step.text) for step in theirs[other_begin:other_end]]
    if all(mark == " " for mark, _ in marked):
        return []
    return [f"{name}: {len(ours)} steps here, {len(theirs)} there", *_with_context(marked)]


def _parts(ours: list[str], theirs: list[str]) -> list[_Part]:
    """What of one is equal to what of the other, as `SequenceMatcher` has it.

    It looks for what is equal with effort that grows with the cube of what differs, so it gets no more than
    `MOST_COMPARED` pairs; of more, all that is between the first and the last difference counts as replaced.
    """
    head = _equal_at_the_beginning(ours, theirs)
    tail = _equal_at_the_beginning(reversed(ours[head:]), reversed(theirs[head:]))
    mine, other = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    parts: list[_Part] = [("equal", 0, head, 0, head)]
    if len(mine) * len(other) > MOST_COMPARED:
        parts.append(("replace", head, head + len(mine), head, head + len(other)))
    else:
        for tag, begin, end, other_begin, other_end in SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
            parts.append((tag, head + begin, head + end, head + other_begin, head + other_end))
    return [*parts, ("equal", len(ours) - tail, len(ours), len(theirs) - tail, len(theirs))]


def _equal_at_the_beginning(ours: Iterable[str], theirs: Iterable[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False)))


def _with_context(marked: Sequence[tuple[str, str]]) -> Iterator[str]:
    near = {
        n + d for n, (mark, _) in enumerate(marked) if mark != " " for d in range(-CONTEXT_LINES, CONTEXT_LINES + 1)
    }
    is_gap = False
    for number, (mark, text) in enumerate(marked):
        if number in near:
            yield f"  {mark} {text}"
        elif not is_gap:
            yield "    ..."
        is_gap = number not in near


def _changes(mine: Any, other: Any, path: str) -> Iterator[str]:
    """Every place where two bodies differ: "response.GenerationId: 1 here, 2 there"."""
    if mine == other:
        return
    if isinstance(mine, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*mine, *other]):
            yield from _changes(mine.get(key), other.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
        for index, (one, two) in enumerate(zip(mine, other, strict=True)):
            yield from _changes(one, two, f"{path}[{index}]")
    else:
        yield f"{path}: {_short(mine)} here, {_short(other)} there"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}..."
