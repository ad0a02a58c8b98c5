"""The result as JUnit XML: a suite for each chapter; what was not judged is skipped, with the reason."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from fakebroker.scenarios.conformance.report_text import difference
from fakebroker.scenarios.conformance.score import by_chapter
from fakebroker.scenarios.conformance.verdicts import Result, Verdict
from fakebroker.scenarios.running.junit import xml_seconds, xml_text


def write(path: str, results: Sequence[Result]) -> None:
    """Write the file, and the folder for it. Raises OSError."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    root = Element("testsuites", _counts("fakebroker conformance", results))
    for chapter, _ in by_chapter(results):
        inside = [result for result in results if result.case.chapter == chapter]
        suite = SubElement(root, "testsuite", _counts(chapter.name, inside))
        suite.extend(_case(result) for result in sorted(inside, key=lambda result: result.case.name))
    tree = ElementTree(root)
    indent(tree)
    tree.write(path, encoding="utf-8", xml_declaration=True)


def _counts(name: str, results: Sequence[Result]) -> dict[str, str]:
    not_judged = sum(result.verdict not in (Verdict.SAME, Verdict.DIFFERS, Verdict.NOT_RUN) for result in results)
    return {
        "name": name,
        "tests": str(len(results)),
        "failures": str(sum(result.verdict is Verdict.DIFFERS for result in results)),
        "errors": str(sum(result.verdict is Verdict.NOT_RUN for result in results)),
        "skipped": str(not_judged),
        "time": xml_seconds(sum(result.took_ms for result in results)),
    }


def _case(result: Result) -> Element:
    folder, _, name = result.case.name.rpartition("/")
    seconds = xml_seconds(result.took_ms)
    element = Element("testcase", {"name": name, "classname": f"conformance.{folder}", "time": seconds})
    match result.verdict:
        case Verdict.SAME:
            pass
        case Verdict.DIFFERS:
            SubElement(element, "failure", {"message": xml_text(result.problems[0])}).text = xml_text(
                difference(result, True)
            )
        case Verdict.NOT_RUN:
            SubElement(element, "error", {"message": xml_text(result.reason)})
        case _:
            SubElement(element, "skipped", {"message": xml_text(f"{result.verdict.value}: {result.reason}")})
    return element
