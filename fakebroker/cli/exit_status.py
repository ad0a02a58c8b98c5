"""The exit status of every command, and how errors become one: docs/reference/cli.md has the table."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from socket import gaierror

import click

from fakebroker.protocol.errors import CheckFailed, FakebrokerError, InvalidArgument, Unavailable


class ExitStatus(IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    UNAVAILABLE = 3


MEANINGS = {
    ExitStatus.OK: "Success: the command is done, and its checks passed.",
    ExitStatus.FAILED: "Failure: a scenario, check or campaign failed, a comparison found differences, or the broker "
    "refused a request.",
    ExitStatus.BAD_INPUT: "Usage: an option, an argument or a file is wrong.",
    ExitStatus.UNAVAILABLE: "Environment: no answer from an address, a port in use, an extra or Java that is "
    "not installed, a "
    "Spark failure, or a folder locked by another process.",
}
_OF_NETWORK = {
    errno.EADDRINUSE,
    errno.EADDRNOTAVAIL,
    errno.ECONNABORTED,
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ETIMEDOUT,
}


class CommandError(click.ClickException):
    """The end of a command with a line on standard error and a status."""

    def __init__(self, message: str, status: ExitStatus = ExitStatus.BAD_INPUT) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]  # click declares it for the class, and reads it of the object


def command_error(error: Exception) -> CommandError:
    """An error of this package, or of the system, as the end of a command."""
    text = _text(error)
    if isinstance(error, InvalidArgument):
        text = _with_option(text, error.field)
    return CommandError(text, status_of(error))


def _with_option(text: str, field: str) -> str:
    """The text of an error about an argument, under the name that the argument has in a shell."""
    context = click.get_current_context(silent=True)
    for param in () if context is None else context.command.params:
        if isinstance(param, click.Option) and (field == param.name or f"--{field}" in param.opts):
            option = param.opts[0]
            return text if option in text else f"{option}: {text.removeprefix(f'{field}: ')}"
    return text


def status_of(error: Exception) -> ExitStatus:
    """What an error means for the caller of a command."""
    if isinstance(error, CheckFailed):
        return ExitStatus.FAILED
    is_of_network = isinstance(error, gaierror | ConnectionError | TimeoutError)
    if isinstance(error, OSError) and error.errno in _OF_NETWORK:
        is_of_network = True
    return ExitStatus.UNAVAILABLE if is_of_network or isinstance(error, Unavailable) else ExitStatus.BAD_INPUT


@contextmanager
def errors_end_the_command() -> Iterator[None]:
    """End the command for errors of this package, of values and of the system. Bugs go on as they are."""
    try:
        yield
    except BrokenPipeError:
        raise  # click ends the command quietly
    except (FakebrokerError, ValueError, OSError) as error:
        raise command_error(error) from None


def _text(error: Exception) -> str:
    if not isinstance(error, OSError) or isinstance(error, FakebrokerError):
        return str(error)
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}"
