"""The page about the files of sessions and dialogues: every kind of line, its columns, and a recorded example."""

import json
from collections.abc import Iterator
from pathlib import Path

from fakebroker.testing.exchanges.columns import Form, Row
from fakebroker.testing.exchanges.kinds import DIALOGUE, SCHEMA_VERSION, SESSION
from fakebroker.testing.exchanges.reading import read_lines
from tools.journal_pages import table

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {SESSION.name: ROOT / "tests" / "data" / "sessions", DIALOGUE.name: ROOT / "recordings"}


_TOP = f"""
A *session* is what passed between clients and a Kafka cluster: [`fakebroker record`](../how-to/recording.md) writes
it, `fakebroker replay` plays it. A *dialogue* is a script: what clients send, what a running Kafka answered, and after
which time. `fakebroker dialogue play` plays it on any broker.

Both are JSON lines in one format. A line has a `kind` and the columns of that kind, and may have others. Columns that
the [journal](journal-schema.md) has, too, have the same name, type and meaning there; only `connection` is a number in
journals and sessions, and a name in dialogues. The first line of a file names the version of the format,
{SCHEMA_VERSION}.

A `message` has Kafka's field names. UUIDs are in Kafka's base64, bytes are `{{"hex": ...}}`. Blank lines are passed
over. A last line that was cut off ends a session with a note; in a dialogue it is an error.

Dialogues of the format before version 2, whose lines have `do` in the place of `kind`, can still be played. Sessions of
version 1 are refused.

## Lines of a session

An `answer` belongs to the `request` of the same `connection` and `correlation_id`. A request without an answer (Produce
with acks 0) has one line. `hex` is the whole frame, header and body, of what is not understood: an API or a version
that fakebroker has no messages for, bytes that do not decode, and frames of more than 16 MiB. Records are
`{{"hex": ..., "batches": [...]}}`: the exact bytes, and beside them their content, up to 256 KiB and for gzip or no
compression. `version` of an answer differs from that of its request only if ApiVersions was answered in v0.
"""
_DIALOGUES = """
## Lines of a dialogue

Lines are played from top to bottom. In messages, groups and topics, these stand for other values:

| text | stands for |
|---|---|
| `$name` | the value that a request saved under this name; `$id:t` is the id of topic `t` |
| `~` | a tag that is new in each run, so that a dialogue can be played twice on one broker |
| `now-5000` | the present time of day less 5000 ms; `now+5000` likewise |
| `@a`, `@a.rack` | the id and the rack of the broker named a |
| `{"batch": {...}}`, `{"batches": [...]}` | record batches to build, in the place of bytes |

A connection is opened by the first request on it. `x@a` is a connection to the broker named a.
"""


def exchange_page(note: str) -> str:
    """The whole page; `note` says that it is generated."""
    parts = ["# Files of sessions and dialogues", note, _TOP.rstrip("\n"), *_kinds(SESSION)]
    return "\n".join([*parts, _DIALOGUES.rstrip("\n"), *_kinds(DIALOGUE), ""])


def _kinds(form: Form) -> Iterator[str]:
    examples = _examples(form)
    for kind in form.kinds.values():
        yield from ["", f"### {kind.name}", "", kind.about, "", *table(kind.columns)]
        yield from ["", "```json", json.dumps(examples[kind.name], ensure_ascii=False), "```"]


def _examples(form: Form) -> dict[str, Row]:
    """The shortest recorded line of each kind, for messages rather than bytes."""
    found: dict[str, tuple[bool, int, str, Row]] = {}
    for path in sorted(FOLDERS[form.name].rglob("*.jsonl")):
        for _, row in read_lines(path):
            text = json.dumps(row)
            rank = ("hex" in row, len(text), text, row)
            if row["kind"] not in found or rank[:3] < found[row["kind"]][:3]:
                found[row["kind"]] = rank
    return {kind: rank[-1] for kind, rank in found.items()}
