"""The report as Markdown."""

from pathlib import Path

from fakebroker.analysis.pipeline.report.markdown import markdown_of
from fakebroker.analysis.pipeline.report.page import page_of
from fakebroker.analysis.pipeline.report.report import make_report
from fakebroker.analysis.pipeline.report.tables import Tables
from tests.analysis.pipeline.report.small import publish, rows, small_tables

GOLDEN = Path(__file__).with_name("small.md")


def markdown(folder: Path) -> str:
    """The report of a folder, without its path and the list of tables, whose words are those of the contracts."""
    text = markdown_of(make_report(Tables([folder])))
    return text.partition("Source tables")[0].replace(str(folder), "TABLES")


def test_the_small_tables_make_this_text(tmp_path: Path) -> None:
    """Headline numbers, what to look at first, and every section; read the file when it changes."""
    assert markdown(publish(tmp_path / "tables", small_tables())) == GOLDEN.read_text("utf-8")


def test_names_are_no_markdown(tmp_path: Path) -> None:
    """What stands in a name is neither a column, a link nor HTML."""
    row = {"group_id": "a|b [x](http://y) <img> *c* `d`\ne", "group_type": "classic"}
    text = markdown(publish(tmp_path / "tables", {"group_health": rows("group_health", row)}))

    (line,) = [each for each in text.splitlines() if each.startswith("| a")]
    assert line.startswith("| a\\|b \\[x\\](http://y) &lt;img&gt; \\*c\\* \\`d\\` e | classic |")


def test_what_every_client_learns_is_no_failure(tmp_path: Path) -> None:
    """Errors that belong to joining and rebalancing are listed as usual; they are neither counted nor a finding."""
    seen = {"version": 5, "is_seen": True, "clients": ["svc-1"]}
    table = rows(
        "protocol_coverage",
        {**seen, "api": "JoinGroup", "api_key": 11, "error": "MEMBER_ID_REQUIRED", "requests": 50},
        {**seen, "api": "Fetch", "api_key": 1, "error": "NOT_COORDINATOR", "requests": 40},
        {**seen, "api": "Fetch", "api_key": 1, "error": "NONE", "requests": 9},
        {**seen, "api": "Fetch", "api_key": 1, "error": "OFFSET_OUT_OF_RANGE", "requests": 1},
    )
    text = markdown(publish(tmp_path / "tables", {"protocol_coverage": table}))

    assert "| answered with an error | 1 % | 1 request |" in text
    assert "Nothing stands out." in text
    assert "| 50 % | svc-1 | usual: told to rejoin with its new member id |" in text
    assert "| OFFSET_OUT_OF_RANGE | Fetch | 5 | 1 | 1 % | svc-1 |" in text


def test_what_is_not_seen_is_shown(tmp_path: Path) -> None:
    """Characters that turn the direction of writing, or that a terminal obeys, are written out."""
    row = {"group_id": "a\u202egnp.exe\x1b[31m", "group_type": "classic"}
    report = make_report(Tables([publish(tmp_path / "tables", {"group_health": rows("group_health", row)})]))

    for text in (markdown_of(report), page_of(report)):
        assert "gnp.exe" in text
        assert "u202e" in text
        assert not {"\u202e", "\x1b"} & set(text)
