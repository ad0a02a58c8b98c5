"""What came of scenarios as JUnit XML, which CI systems show: a suite for each folder, a case for each play."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePath
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from fakebroker.scenarios.running.run import Outcome, Status
from fakebroker.scenarios.running.summary import KEEP, failure_text

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot say


def write(path: str, outcomes: Iterable[Outcome]) -> None:
    """Write the file, and the folder for it. Raises OSError."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    tree = ElementTree(suites(outcomes))
    indent(tree)
    tree.write(path, encoding="utf-8", xml_declaration=True)


def suites(outcomes: Iterable[Outcome]) -> Element:
    """The document's root."""
    by_folder: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_folder.setdefault(PurePath(outcome.task.path).parent.as_posix(), []).append(outcome)
    every = [each for folder in by_folder.values() for each in folder]
    root = Element("testsuites", _counts("fakebroker scenario run", every))
    for folder, inside in by_folder.items():
        suite = SubElement(root, "testsuite", _counts(folder, inside))
        for outcome in inside:
            suite.append(_case(folder, outcome))
    return root


def _counts(name: str, outcomes: list[Outcome]) -> dict[str, str]:
    return {
        "name": xml_text(name),
        "tests": str(len(outcomes)),
        "failures": str(sum(each.status in (Status.FAILED, Status.DIFFERENT) for each in outcomes)),
        "errors": str(sum(each.status is Status.UNREADABLE for each in outcomes)),
        "skipped": "0",
        "time": xml_seconds(sum(each.took_ms for each in outcomes)),
    }


def _case(folder: str, outcome: Outcome) -> Element:
    name = PurePath(outcome.task.path).stem
    if outcome.task.seed is not None:
        name += f"[seed {outcome.task.seed}]"
    classname = ".".join(part for part in PurePath(folder).parts if part not in ("/", ".", "..")) or "scenarios"
    case = Element(
        "testcase",
        {
            "name": xml_text(name),
            "classname": xml_text(classname),
            "file": xml_text(outcome.task.path),
            "time": xml_seconds(outcome.took_ms),
        },
    )
    if not outcome.is_good:
        kind = "error" if outcome.status is Status.UNREADABLE else "failure"
        problem = SubElement(case, kind, {"type": outcome.status.name.lower(), "message": xml_text(_message(outcome))})
        problem.text = xml_text(failure_text(outcome))
    notes = [f"skipped {each}" for each in outcome.skipped]
    notes += [f"new: no approved transcript; {KEEP}"] if outcome.status is Status.NEW else []
    if notes:
        SubElement(case, "system-out").text = xml_text("\n".join(notes))
    return case


def _message(outcome: Outcome) -> str:
    """The first thing that is wrong, on one line."""
    if outcome.failed:
        step = outcome.failed[0]
        return f"{step.place}: {step.problems[0] if step.problems else step.text}"
    if outcome.errors:
        return outcome.errors[0]
    return "no approved transcript" if outcome.approved is None else "differs from the approved transcript"


def xml_seconds(ms: float) -> str:
    """Milliseconds as JUnit has them: seconds."""
    return f"{ms / 1000:.3f}"


def xml_text(text: str) -> str:
    """The text without what XML cannot say, and without colours."""
    return _NO_XML.sub("?", text)
