"""The report as Markdown."""

from pathlib import Path

from fakebroker.pipeline.report.markdown import markdown_of
from fakebroker.pipeline.report.report import make_report
from fakebroker.pipeline.report.tables import Tables
from tests.pipeline.report.small import publish, rows, small_tables

GOLDEN = Path(__file__).with_name("small.md")


def markdown(folder: Path) -> str:
    """The report of a folder, without its path and the list of tables, whose words are those of the contracts."""
    text = markdown_of(make_report(Tables([folder])))
    return text.partition("The tables that this is made of")[0].replace(str(folder), "TABLES")


def test_the_small_tables_make_this_text(tmp_path: Path) -> None:
    """Headline numbers, what to look at first, and every section; read the file when it changes."""
    assert markdown(publish(tmp_path / "tables", small_tables())) == GOLDEN.read_text("utf-8")


def test_names_are_no_markdown(tmp_path: Path) -> None:
    """What stands in a name is neither a column, a link nor HTML."""
    row = {"group_id": "a|b [x](http://y) <img> *c* `d`\ne", "group_type": "classic"}
    text = markdown(publish(tmp_path / "tables", {"group_health": rows("group_health", row)}))

    (line,) = [each for each in text.splitlines() if each.startswith("| a")]
    assert line.startswith("| a\\|b \\[x\\](http://y) &lt;img&gt; \\*c\\* \\`d\\` e | classic |")
