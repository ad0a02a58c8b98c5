"""What commands that make a scenario file share: how they write it."""

from pathlib import Path

from fakebroker.protocol.errors import FakebrokerError


def check_is_new(path: Path, *, force: bool) -> None:
    """Raise FakebrokerError for a file that exists, unless `--force` allows to overwrite it."""
    if path.exists() and not force:
        raise FakebrokerError(f"{path} already exists; --force overwrites it")


def write_whole(path: Path, text: str) -> None:
    """Write a file, all of it or nothing. Raises OSError."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
