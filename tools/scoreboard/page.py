"""The page docs/reference/scoreboard.md, from the files of `results` and those of differential play."""

import json
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fakebroker.scenarios.conformance.chapters import CHAPTERS
from fakebroker.scenarios.conformance.score import percent
from fakebroker.scenarios.conformance.verdicts import Verdict
from tools.scoreboard.differential_section import TITLE, section
from tools.scoreboard.targets import ROOT, TARGETS, TARGETS_3_9, Target

PAGE = ROOT / "docs" / "reference" / "scoreboard.md"
EXPLAINED = Path(__file__).with_name("explained.json")
_NOT_JUDGED = (Verdict.NOT_SERVED, Verdict.NEEDS_SETTINGS, Verdict.NEEDS_MORE, Verdict.NOT_RUN)
_HEAD = """# Scoreboard
<!-- Written by `make scoreboard`. -->

A case is a dialogue that was recorded from a running Kafka 4.3.1. A cell shows how many cases of a chapter the broker
answers as Kafka did, of those that were played. Cases that were not played are counted by reason in the last rows
([what the reasons mean](../how-to/conformance.md)). The chapter Cluster is played on three brokers.

A case goes as in Kafka only if every field of every answer, and every wait, is as recorded, so a broker that serves its
clients well may have few. Kafka 3.9.1 differs where the releases do. Defects found in other brokers and in clients are
in [found.md](found.md). What client libraries do with fakebroker and with Kafka is in [clients.md](clients.md).
"""
_YOURS = """
## Judge your broker

```
pip install 'fakebroker[conformance]'
fakebroker conformance 127.0.0.1:9092
```

[Judge your own broker](../how-to/conformance.md) says what the command does on your broker, and how it starts
your broker with the settings of the recordings, which most cases need.
"""
_REPEAT = """
## Repeat it

`make scoreboard` judges them all on a machine with Python, Java, Maven and Go, and writes this page. One column, from
the root of a checkout in its virtual environment (`. .venv/bin/activate`):
"""


def page() -> str:
    """The text of the page."""
    parts = [
        _HEAD,
        _table(TARGETS),
        _versions(TARGETS),
        _YOURS,
        _REPEAT,
        _commands(TARGETS),
        "\n## Kafka 3.9\n\nThe same, judged by the recordings of Kafka 3.9.1.\n",
        _table(TARGETS_3_9),
        "\n## Where fakebroker differs\n",
        _differences(),
    ]
    return "\n".join(parts) + "\n\n" + section()


def with_plays(text: str) -> str:
    """The text of a page with the section of today's plays."""
    head, _, _ = text.partition(TITLE)
    return head + section()


def unexplained() -> list[str]:
    """The cases that differ on fakebroker without a reason."""
    return sorted(_ours().keys() - _explained().keys())


def _table(targets: Iterable[Target]) -> str:
    results = [(target, _result(target)) for target in targets]
    lines = ["| chapter | " + " | ".join(target.title for target, _ in results) + " |"]
    lines.append("|---|" + "---|" * len(results))
    known = {name for _, result in results for name in result.get("chapters", {})}
    for chapter in CHAPTERS:
        if chapter.name in known:
            cells = [_cell(result.get("chapters", {}).get(chapter.name), result) for _, result in results]
            lines.append(f"| {chapter.title} | " + " | ".join(cells) + " |")
    lines.append("| **all** | " + " | ".join(f"**{_cell(r.get('total'), r)}**" for _, r in results) + " |")
    for verdict in _NOT_JUDGED:
        counts = [str(result.get("total", {}).get(verdict.value, "")) for _, result in results]
        if any(counts):
            lines.append(f"| {verdict.value} | " + " | ".join(counts) + " |")
    return "\n".join(lines)


def _cell(counts: dict[str, int] | None, result: dict[str, Any]) -> str:
    if "not run" in result:
        return "not run"
    same, differs = ((counts or {}).get(verdict.value, 0) for verdict in (Verdict.SAME, Verdict.DIFFERS))
    if not same + differs:
        return "-"
    return f"{same} of {same + differs} ({percent(same, differs)})"


def _versions(targets: Iterable[Target]) -> str:
    lines = ["\n| broker | version | judged on |", "|---|---|---|"]
    for target in targets:
        result = _result(target)
        judged = f"not run: {result['not run']}" if "not run" in result else result["date"]
        lines.append(f"| {target.title} | {result.get('version', '')} | {judged} |")
    return "\n".join(lines)


def _commands(targets: Iterable[Target]) -> str:
    lines = ["```"]
    for target in targets:
        lines.append(f"fakebroker conformance --command {shlex.quote(_written(target.command))}")
        if target.control_command:
            lines[-1] += f" \\\n  --control-command {shlex.quote(_written(target.control_command))}"
    return "\n".join([*lines, "```"])


def _written(command: str) -> str:
    """A command as it is written at the root of a checkout, with its environment active."""
    return command.replace(shlex.quote(sys.executable), "python").replace(f"{ROOT}/", "")


def _differences() -> str:
    ours, explained = _ours(), _explained()
    if "not run" in _result(TARGETS[0]):
        return "Not judged."
    if not ours:
        return "No case differs."
    lines = ["| case | difference | reason |", "|---|---|---|"]
    for name, problem in sorted(ours.items()):
        lines.append(f"| {name} | {_escaped(problem)} | {explained.get(name, 'not explained yet')} |")
    return "\n".join(lines)


def _ours() -> dict[str, str]:
    """The first difference of each case that differs on fakebroker."""
    found: dict[str, str] = {}
    for target in (*TARGETS, *TARGETS_3_9):
        if target.is_ours:
            found |= _result(target).get("differs", {})
    return found


def _explained() -> dict[str, str]:
    found: dict[str, str] = json.loads(EXPLAINED.read_text(encoding="utf-8"))
    return found


def _result(target: Target) -> dict[str, Any]:
    if not target.result.exists():
        return {"not run": "make scoreboard has not judged it yet"}
    found: dict[str, Any] = json.loads(target.result.read_text(encoding="utf-8"))
    return found


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
