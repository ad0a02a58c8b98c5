"""`fakebroker pipeline report`: what it writes and what it refuses."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker.cli.main import main
from tests.analysis.pipeline.report.small import publish, rows, small_tables


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(*words: str) -> Result:
    return CliRunner().invoke(main, ["pipeline", "report", *words])


def test_page_and_markdown_are_written(folder: Path) -> None:
    """Without options it is `tables` that becomes report.html; folders may be several."""
    tables = small_tables()
    publish(folder / "tables", {name: tables[name] for name in ("rebalances", "group_health")})
    publish(folder / "whatif", {"retention_whatif": tables["retention_whatif"]})

    alone = report()
    both = report("--tables", "tables", "--tables", "whatif", "--out", "out/both.html", "--markdown", "out/both.md")

    assert (alone.exit_code, both.exit_code) == (0, 0), alone.output + both.output
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    text = (folder / "out" / "both.md").read_text()
    assert "## Rebalances" in text
    assert "## Other retentions" in text
    assert both.stdout.splitlines()[1].startswith("wrote out/both.md, ")
    assert not list((folder / "out").glob(".*"))
    assert [line.split()[0] for line in alone.stderr.splitlines()] == ["rebalances", "group_health", "tables"]


def test_a_second_report_is_the_same(folder: Path) -> None:
    """The same tables make the same bytes: nothing of the hour, and no order by chance."""
    publish(folder / "tables", small_tables())

    report("--out", "one.html", "--markdown", "one.md")
    report("--out", "two.html", "--markdown", "two.md")

    assert (folder / "one.html").read_bytes() == (folder / "two.html").read_bytes()
    assert (folder / "one.md").read_bytes() == (folder / "two.md").read_bytes()


def test_what_cannot_be_is_reported_in_a_line(folder: Path) -> None:
    """No folder, no manifest, no place to write: a sentence, and no page."""
    publish(folder / "tables", {"rejects": rows("rejects")})
    (folder / "file").write_text("")
    for words, message in (
        (["--tables", "nowhere"], "no such folder"),
        (["--tables", str(folder)], "it has no manifest.json"),
        (["--out", "file/report.html"], "cannot be written"),
    ):
        result = report(*words)

        assert result.exit_code == 2
        assert message in result.output
        assert "Traceback" not in result.output
    assert not (folder / "report.html").exists()
