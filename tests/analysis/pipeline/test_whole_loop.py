"""The pipeline from end to end, by its commands, on histories that brokers made."""

from pathlib import Path

import pytest

from tools.spark_loop import loop


def test_the_loop_closes_without_spark(tmp_path: Path) -> None:
    """Ingest, build, check, decode, what-if, compile, the compiled scenario, a campaign and the report, one after the
    other; what was decoded is what the broker knew.
    """
    loop(tmp_path / "loop", ["embedded"], 2, 60)

    page = (tmp_path / "loop" / "embedded" / "report.html").read_text()
    assert "<title>" in page


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("spark")  # the commands take the session that runs
def test_the_loop_closes_on_spark_with_the_same_tables(tmp_path: Path) -> None:
    """The same with Spark, and every table is equal, row by row."""
    loop(tmp_path / "loop", ["spark", "embedded"], 2, 60)
