"""`fakebroker pipeline export`, and reading what it wrote."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker.cli.main import main
from tests.support.exported import published


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with tables."""
    monkeypatch.chdir(tmp_path)
    published(tmp_path / "tables", 1)
    return tmp_path


def pipeline(*words: str) -> Result:
    return CliRunner().invoke(main, ["pipeline", *words])


def test_an_export_is_checked_and_reported_by_its_uri(folder: Path) -> None:
    """The report says of which place it is, and is the same each time; no copy is left on this machine."""
    uri = (folder / "lake").as_uri()
    exported = pipeline("export", "--to", uri)
    checked = pipeline("check", "--tables", uri, "--engine", "embedded")
    reported = pipeline("report", "--tables", uri, "--out", "one.html"), pipeline("report", "--tables", uri)

    assert [each.exit_code for each in (exported, checked, *reported)] == [0, 0, 0, 0], exported.output + checked.output
    assert f"exported to {uri}: 2 new files" in exported.output
    assert uri in (folder / "one.html").read_text()
    assert (folder / "one.html").read_bytes() == (folder / "report.html").read_bytes()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("export", "--to", "lake"), "'lake' is not the URI of a place for tables"),
        (("export", "--to", "file:///lake", "--tables", "none"), "none is not a folder of published tables"),
        (("export", "--to", "file:///lake", "--format", "iceberg"), "--format iceberg and --catalog go together"),
        (("export", "--to", "file:///lake", "--catalog", "sqlite:///x"), "--format iceberg and --catalog go together"),
        (("build", "--tables", "s3://lake/tables"), "'s3://lake/tables' is not a directory; `pipeline export` writes"),
        (("check", "--tables", "file:///none/at/all"), "file:///none/at/all is not an export of tables"),
    ],
)
def test_what_cannot_be_done_is_a_line(words: tuple[str, ...], problem: str) -> None:
    """It says what is wrong; nothing is written."""
    failed = pipeline(*words)

    assert failed.exit_code == 2
    assert problem in failed.output
