"""The engine in plain Python."""

import sqlite3

import pytest

from fakebroker.analysis.pipeline.contract import Check
from fakebroker.analysis.pipeline.engines import PythonEngine


def test_a_check_closes_its_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the query fails: Python 3.13 and later warn of each database that is left open."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def kept(path: str) -> sqlite3.Connection:
        opened.append(connect(path))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", kept)
    assert PythonEngine().failing_rows(Check("one", "one is one", "SELECT 1 AS x"), {}) == [{"x": 1}]
    with pytest.raises(sqlite3.OperationalError, match="syntax"):
        PythonEngine().failing_rows(Check("none", "a query", "SELEC"), {})
    for each in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            each.execute("SELECT 1")
    assert len(opened) > 1
