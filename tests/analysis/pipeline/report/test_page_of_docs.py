"""docs/how-to/report.md: the sections that it names are those of the report."""

import re
from pathlib import Path

from fakebroker.analysis.pipeline.report.report import make_report
from fakebroker.analysis.pipeline.report.tables import Tables
from tests.analysis.pipeline.report.small import publish, small_tables

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "how-to" / "report.md").read_text()


def test_the_page_names_every_section(tmp_path: Path) -> None:
    """In the order of the report, after what is at its top."""
    report = make_report(Tables([publish(tmp_path / "tables", small_tables())]))

    named = re.findall(r"^\| ([A-Z][^|]*?) \|", PAGE, re.M)

    assert named == ["What to look at first", *(section.title for section in report.sections)]
