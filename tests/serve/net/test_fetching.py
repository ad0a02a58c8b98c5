"""Documents from URLs."""

from pathlib import Path

import pytest

from fakebroker.serve.net import fetching
from fakebroker.serve.net.fetching import read


def test_files_are_read(tmp_path: Path) -> None:
    """Also those whose names have blanks."""
    path = tmp_path / "a key set.json"
    path.write_bytes(b"{}")

    assert read(path.as_uri()) == b"{}"


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1/x", "file:///no/such/file", "http://127.0.0.1:1/x"])
def test_what_cannot_be_read_is_reported(url: str) -> None:
    """As a value: nobody is there to catch an exception."""
    assert isinstance(read(url), OSError | ValueError)


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker reads no more than a megabyte."""
    monkeypatch.setattr(fetching, "MAX_BYTES", 10)
    (tmp_path / "large").write_bytes(b"x" * 11)

    assert "larger than 10 bytes" in str(read((tmp_path / "large").as_uri()))
