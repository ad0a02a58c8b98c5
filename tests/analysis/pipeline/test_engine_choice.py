"""Which engine suits an amount of work."""

from pathlib import Path

import pytest

from fakebroker.analysis.pipeline import engine_choice
from fakebroker.analysis.pipeline.contract import MAX_CHECKED_ROWS
from fakebroker.analysis.pipeline.engine_choice import LIVE, REMOTE, Chosen, Work, choose, work_on_files, work_on_tables
from fakebroker.analysis.pipeline.extras import MissingExtra
from fakebroker.analysis.pipeline.java import NoJava
from tests.analysis.pipeline.report.small import publish, small_tables


def test_an_amount_up_to_the_limit_is_for_the_embedded_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is for Spark, if Spark can run."""
    monkeypatch.setattr(engine_choice, "need_extra", lambda name: None)  # noqa: ARG005 - whichever
    monkeypatch.setattr(engine_choice, "java_home", lambda: "/java")

    assert choose(Work(150, 150, "MB")) == Chosen("embedded", "150 MB; up to 150 need no Spark")
    assert choose(Work(1510, 150, "MB")) == Chosen("spark", "1,510 MB; more than 150 are for Spark")
    assert choose(LIVE).engine == "embedded"


@pytest.mark.parametrize(("name", "error"), [("need_extra", MissingExtra("x")), ("java_home", NoJava("x"))])
def test_without_spark_or_java_it_is_embedded(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception) -> None:
    """The reason says what to install. Work that only Spark does stays Spark's, which says what is missing."""

    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(engine_choice, "need_extra", lambda name: None)  # noqa: ARG005 - whichever
    monkeypatch.setattr(engine_choice, name, fails)

    engine, reason = choose(Work(2, 1, "runs"))

    assert engine == "embedded"
    assert reason.startswith("2 runs; more than 1 are for Spark, but Spark or Java is missing: pip install ")
    assert choose(REMOTE).engine == "spark"


def test_files_are_counted_as_they_are_unpacked(tmp_path: Path) -> None:
    """Folders with all that is in them, patterns, packed files but Parquet as more; what is missing counts nothing."""
    (tmp_path / "in").mkdir()
    for name in ("a.jsonl", "in/b.log", "c.jsonl.gz", "d.parquet"):
        (tmp_path / name).write_bytes(bytes(1_000_000))

    def amount(*paths: str) -> object:
        work = work_on_files([str(tmp_path / each) for each in paths], 100)
        return work.amount if isinstance(work, Work) else work

    assert amount("a.jsonl", "in") == 2
    assert amount("c.jsonl.gz") == 10
    assert amount("*.parquet") == 1
    assert amount("") == 13
    assert amount("missing") == 0
    assert work_on_files(["s3a://dump/x"], 100) == REMOTE


def test_tables_are_counted_by_their_rows(tmp_path: Path) -> None:
    """Those that the folder has; others count nothing."""
    publish(tmp_path / "tables", small_tables())

    assert work_on_tables(tmp_path / "tables", ("expiries", "rebalances", "events"), 9) == Work(7, 9, "rows")


def test_the_page_has_the_limits() -> None:
    """docs/how-to/pipeline.md has a row for each, with its number."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "pipeline.md").read_text()

    assert f" | {MAX_CHECKED_ROWS:,} " in page
    for name in ("MAX_JOURNAL_MB", "MAX_LOG_MB", "MAX_EVENTS", "MAX_WHATIF_ROWS", "MAX_RUNS"):
        assert f" | {getattr(engine_choice, name):,} " in page, name
