"""What commands that make a scenario file share: how they write it, and how they tell what went wrong."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from fakebroker.errors import FakebrokerError

BAD_INPUT = 2  # exit status


def check_is_new(path: Path, *, force: bool) -> None:
    """Raise FakebrokerError if there is a file already that `--force` does not give up."""
    if path.exists() and not force:
        raise FakebrokerError(f"{path} is there already; --force overwrites it")


@contextmanager
def told_in_a_line(path: Path) -> Iterator[None]:
    """End the command with a line on standard error and BAD_INPUT for errors of ours, and of files.

    `path` is the file that is made: it is named in errors that name no file.
    """
    try:
        yield
    except FakebrokerError as error:
        click.echo(f"Error: {error}", err=True)
    except OSError as error:
        click.echo(f"Error: {error.filename or path} cannot be read or written: {error.strerror or error}", err=True)
    else:
        return
    sys.exit(BAD_INPUT)


def write_whole(path: Path, text: str) -> None:
    """Write a file, all of it or nothing. Raises OSError."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
