"""Fills the table of clients from a run of the tests.

    python -m pytest -p tests.support.client_table --client-table FILE -m behaviour tests/clients

A test with the marker `behaviour` fills a cell: its row is the name of the marker, its client and its broker are among
its parameters. FILE is written anew; with --client-table-again the tests of this run replace their own outcomes in it,
for those that failed on a busy machine. A test that was skipped, or whose broker did not start, is "not run", with
the reason.
"""

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.clients.versions import broker_versions, client_versions

BROKERS = ("fakebroker", "kafka")
_CELL = "cell"
_REASON_LENGTH = 300
LIMIT_S = 600  # of a test of the table, whatever its own limit is: Kafka is slow beside others


class Cell(NamedTuple):
    """Where a test's outcome stands."""

    behaviour: str
    client: str
    broker: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the table."""
    parser.addoption("--client-table", metavar="FILE", type=Path, help="Write the table of clients to this JSON file.")
    parser.addoption("--client-table-again", action="store_true", help="Replace only the outcomes of this run's tests.")


def pytest_configure(config: pytest.Config) -> None:
    """Begins to record, if there is a file to write."""
    if file := config.getoption("--client-table"):
        if hasattr(config, "workerinput"):  # another process takes in the reports
            config.pluginmanager.register(Cells())
        else:
            config.pluginmanager.register(Recorder(file, is_again=config.getoption("--client-table-again")))


class Cells:
    """Notes the cell of each test where its report shows it, also that of another process; lets it take LIMIT_S."""

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """A test is there."""
        if cell := cell_of(item):
            item.user_properties.append((_CELL, list(cell)))
            item.add_marker(pytest.mark.timeout(LIMIT_S), append=False)


class Recorder(Cells):
    """Keeps the outcomes of the tests that fill a cell.

    Args:
        file: The file to write.
        is_again: Whether its other outcomes are kept.
    """

    def __init__(self, file: Path, is_again: bool) -> None:
        self._file = file
        self._found: dict[str, Any] = json.loads(file.read_text()) if is_again and file.exists() else {"behaviours": {}}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what came of a test."""
        place = dict(report.user_properties).get(_CELL)
        if isinstance(place, list) and (report.when == "call" or report.outcome != "passed"):
            self._note(Cell(*map(str, place)), report.nodeid.rpartition("::")[2], report)
            self._write()  # a run takes long: what it found so far outlives its end

    def _note(self, place: Cell, test: str, report: pytest.TestReport) -> None:
        behaviours = self._found["behaviours"]
        cell = behaviours.setdefault(place.behaviour, {}).setdefault(place.client, {}).setdefault(place.broker, {})
        if report.when == "teardown":
            cell["passed"] = cell.get("passed", 1) - 1
        for kind in ("failed", "not run"):
            cell.get(kind, {}).pop(test, None)
        if report.outcome == "passed":
            cell["passed"] = cell.get("passed", 0) + 1
        else:
            kind = "failed" if report.outcome == "failed" and report.when != "setup" else "not run"
            cell.setdefault(kind, {})[test] = _reason(report)

    def _write(self) -> None:
        self._found["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
        self._found["clients"], self._found["brokers"] = client_versions(), broker_versions()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(_without_empty(self._found), indent=1, sort_keys=True) + "\n")


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell that a test fills. UsageError for a test with the marker whose parameters name no client."""
    marker = item.get_closest_marker("behaviour")
    if marker is None:
        return None
    params: Mapping[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    clients = [name for value in params.values() if (name := _client(value)) in client_versions()]
    brokers = [str(value) for value in params.values() if value in BROKERS]
    if len(clients) != 1 or len(brokers) != 1:
        raise pytest.UsageError(f"{item.nodeid}: the marker `behaviour` needs a client and a broker as parameters")
    return Cell(marker.args[0].format(**params), clients[0], brokers[0])


def _client(value: object) -> str:
    return str(value).removesuffix("-server-side")


def _reason(report: pytest.TestReport) -> str:
    """Why a test was skipped or how it failed, in a line."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return text.strip().splitlines()[0][:_REASON_LENGTH]


def _without_empty(value: Any) -> Any:
    """Without what no test filled."""
    if not isinstance(value, dict):
        return value
    made = {key: _without_empty(each) for key, each in value.items()}
    return {key: each for key, each in made.items() if each not in ({}, 0)}
