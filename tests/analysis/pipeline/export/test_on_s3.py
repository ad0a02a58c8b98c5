"""Exports to an object store: an S3 on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker.analysis.pipeline.export.export import fetched
from fakebroker.analysis.pipeline.export.store import Store
from fakebroker.cli.main import main
from tests.support.exported import offsets_in, published
from tests.support.s3 import S3, running_s3

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    """The S3."""
    with running_s3() as found:
        yield found


@pytest.fixture
def s3(server: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """The S3 with an empty bucket, where the environment says."""
    server.make_bucket()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server


def exported(folder: Path, uri: str = "s3a://lake/tables") -> Result:
    return CliRunner().invoke(main, ["pipeline", "export", "--tables", str(folder), "--to", uri])


def test_tables_go_there_and_back(s3: S3, tmp_path: Path) -> None:
    """What is exported can be checked and fetched by its URI; the second time nothing is written."""
    published(tmp_path / "tables", 1, 2)
    first, again = exported(tmp_path / "tables"), exported(tmp_path / "tables")
    checked = CliRunner().invoke(main, ["pipeline", "check", "--engine", "embedded", "--tables", "s3://lake/tables"])

    assert "exported to s3://lake/tables: 2 new files" in first.output
    assert "s3://lake/tables has these tables; nothing was written" in again.output
    assert "checks passed" in checked.output
    with fetched("s3a://lake/tables") as copy:
        assert offsets_in(copy) == [1, 2]


def test_what_is_not_named_is_removed(s3: S3, tmp_path: Path) -> None:
    """Two exports later."""
    for offset in (1, 2, 3):
        published(tmp_path / "tables", offset)
        exported(tmp_path / "tables")

    assert len(Store("s3://lake/tables").names("log_ends")) == 2


def test_what_the_store_refuses_is_a_line(s3: S3, tmp_path: Path) -> None:
    """A bucket that is missing, rights that are missing, a store that does not answer: the command says which."""
    published(tmp_path / "tables", 1)
    no_bucket = exported(tmp_path / "tables", "s3://elsewhere/tables")
    s3.deny()
    try:
        no_rights = exported(tmp_path / "tables")
    finally:
        s3.allow()

    assert (no_bucket.exit_code, no_rights.exit_code) == (2, 2)
    assert no_bucket.output.startswith("Error: s3://elsewhere/tables: ")
    assert "NO_SUCH_BUCKET" in no_bucket.output
    assert "ACCESS_DENIED" in no_rights.output
    assert {no_bucket.output.count("\n"), no_rights.output.count("\n")} == {1}
