"""The table of clients shows what was run, and never that something passed that was not run."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.client_table import Recorder
from tools.scoreboard import client_page
from tools.scoreboard.client_page import CLIENTS, LACKS, ROOT, ROWS, page, verdict

ROW, CLOCK_ROW = "Round trip, gzip", "Offsets expire after eight days without members"


def report(
    test: str, cell: list[str], outcome: Any = "passed", when: Any = "call", why: Any = None
) -> pytest.TestReport:
    """A report of a test that fills a cell."""
    made = pytest.TestReport(f"tests/x.py::{test}", ("tests/x.py", 1, test), {}, outcome, why, when)
    made.user_properties.append(("cell", cell))
    return made


def filled(file: Path, *reports: pytest.TestReport, is_again: bool = False) -> dict[str, Any]:
    """The file after a run with these reports."""
    recorder = Recorder(file, is_again)
    for each in reports:
        recorder.pytest_runtest_logreport(each)
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_a_cell_says_what_became_of_its_tests(tmp_path: Path) -> None:
    """All passed, one failed, some were skipped, all were skipped, none is there, or the library lacks it."""
    cells = {client: [ROW, client, "fakebroker"] for client in CLIENTS}
    found = filled(
        tmp_path / "clients.json",
        report("a", cells["java"], when="setup"),
        report("a", cells["java"]),
        report("b", cells["sarama"]),
        report("c", cells["sarama"], "failed", why="it broke\nbecause"),
        report("d", cells["franz-go"]),
        report("e", cells["franz-go"], "skipped", "setup", ("x.py", 1, "Skipped: no go")),
        report("f", cells["rdkafka"], "skipped", "setup", ("x.py", 1, "Skipped: no rust")),
        report("g", cells["aiokafka"]),
        report("g", cells["aiokafka"], "failed", "teardown", why="it did not close"),
    )

    said = {client: verdict(found, ROW, client, "fakebroker") for client in CLIENTS}
    assert said | {"confluent-kafka": "not run"} == said
    assert {name: said[name] for name in ("java", "sarama", "franz-go", "rdkafka", "aiokafka")} == {
        "java": "passed",
        "sarama": "failed",
        "franz-go": "partly",
        "rdkafka": "not run",
        "aiokafka": "failed",
    }
    assert verdict(found, "Share group", "kafkajs", "fakebroker") == "none"
    assert verdict(found, CLOCK_ROW, "java", "kafka") == "needs a clock"
    assert verdict(found, CLOCK_ROW, "java", "fakebroker") == "not run"


def test_what_failed_is_replaced_when_it_is_run_again(tmp_path: Path) -> None:
    """The second run's outcome counts, and the others stay."""
    file, cell = tmp_path / "clients.json", [ROW, "java", "kafka"]
    filled(file, report("a", cell), report("b", cell, "failed", why="late"))

    found = filled(file, report("b", cell), is_again=True)

    assert found["behaviours"][ROW]["java"]["kafka"] == {"passed": 2}


def test_the_page_lists_what_did_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the broker, the library, the test and the reason."""
    monkeypatch.setattr(client_page, "RESULTS", tmp_path / "clients.json")
    filled(tmp_path / "clients.json", report("a[x]", [ROW, "java", "kafka"], "failed", why="<nothing>"))

    assert f"- Kafka 4.3.1, java, {ROW}: failed: `a[x]`: \\<nothing>" in page().splitlines()


def test_every_behaviour_has_its_row() -> None:
    """The names that tests give with the marker are the rows of the table, and each row has a test."""
    named = set()
    for file in (ROOT / "tests" / "clients").glob("test_*.py"):
        named |= set(re.findall(r'mark\.behaviour\("([^"]+)"', file.read_text()))
    wanted = {
        name.replace("{codec}", codec).replace("{mechanism}", mechanism)
        for name in named
        for codec in ("none", "gzip", "snappy", "lz4", "zstd")
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    }

    assert wanted == set(ROWS)
    assert set().union(*LACKS.values()) < set(ROWS)
    assert LACKS.keys() < CLIENTS.keys()
