"""How errors become the exit status of a command."""

import errno

import click
import pytest

from fakebroker.cli.exit_status import MEANINGS, CommandError, ExitStatus, errors_end_the_command
from fakebroker.protocol.errors import CheckFailed, FakebrokerError, InvalidArgument, Unavailable


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (InvalidArgument("nodes", 0, "nodes is 0"), ExitStatus.BAD_INPUT, "nodes is 0"),
        (ValueError("odd"), ExitStatus.BAD_INPUT, "odd"),
        (PermissionError(errno.EACCES, "Permission denied", "x"), ExitStatus.BAD_INPUT, "x: Permission denied"),
        (OSError("odd"), ExitStatus.BAD_INPUT, "odd"),
        (CheckFailed("2 rows"), ExitStatus.FAILED, "2 rows"),
        (Unavailable("no Java"), ExitStatus.UNAVAILABLE, "no Java"),
        (OSError(errno.EADDRINUSE, "Address in use"), ExitStatus.UNAVAILABLE, "Address in use"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), ExitStatus.UNAVAILABLE, "refused"),
        (TimeoutError("too late"), ExitStatus.UNAVAILABLE, "too late"),
    ],
)
def test_an_error_ends_the_command(error: Exception, status: ExitStatus, text: str) -> None:
    """With one line, and the status of its kind."""
    with pytest.raises(CommandError) as ended, errors_end_the_command():
        raise error

    assert (ended.value.exit_code, ended.value.message) == (status, text)


@pytest.mark.parametrize("error", [KeyError("x"), BrokenPipeError(), click.UsageError("wrong")])
def test_other_errors_go_on_as_they_are(error: Exception) -> None:
    """A bug has its traceback; a reader that has gone, and wrong usage, are click's."""
    with pytest.raises(type(error)), errors_end_the_command():
        raise error


def test_every_status_has_a_meaning() -> None:
    """They are the rows of docs/reference/cli.md; wrong usage is click's own number."""
    assert MEANINGS.keys() == set(ExitStatus)
    assert click.UsageError.exit_code == ExitStatus.BAD_INPUT
    assert issubclass(Unavailable, FakebrokerError)
