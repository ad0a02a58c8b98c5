"""Places by their URIs."""

from pathlib import Path

import pytest

from fakebroker.analysis.pipeline.export.export import fetched
from fakebroker.analysis.pipeline.export.store import Store
from fakebroker.protocol.errors import FakebrokerError


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("tables", "'tables' is not the URI of a place for tables; a URI begins with one of s3://, s3a://, gs://"),
        ("ftp://host/tables", "'ftp://host/tables' is not the URI of a place"),
        ("file:///", "'file:///' is not the URI of a place"),
        ("file://elsewhere/tables", "file://elsewhere/tables: Unsupported hostname"),
    ],
)
def test_a_uri_of_no_place_is_refused(uri: str, problem: str) -> None:
    """The error has the URI and says what would be right."""
    with pytest.raises(FakebrokerError) as raised:
        Store(uri)
    assert problem in str(raised.value)


def test_where_nothing_was_exported(tmp_path: Path) -> None:
    """Reading is an error that names the place."""
    with pytest.raises(FakebrokerError, match=r"none is not an export of tables: it has no manifest.json"):
        fetched((tmp_path / "none").as_uri()).__enter__()


def test_a_manifest_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Who has opened the one before reads it to its end."""
    store = Store(tmp_path.as_uri())
    store.write_manifest({"manifest_version": 1, "tables": {}, "n": 1})
    with (tmp_path / "manifest.json").open() as before:
        store.write_manifest({"manifest_version": 1, "tables": {}})
        assert '"n": 1' in before.read()
    assert store.manifest() == {"manifest_version": 1, "tables": {}}
    assert store.names() == ["manifest.json"]
