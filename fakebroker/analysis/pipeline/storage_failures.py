"""What goes wrong with files while tables are read and written, in a line that names the file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fakebroker.protocol.errors import FakebrokerError

# What DuckDB raises for a query that is wrong: an error of ours, not of a file.
_OF_QUERIES: Final = ("BinderException", "CatalogException", "InternalException", "ParserException")


@contextmanager
def storage_failures_reported(what: str = "") -> Iterator[None]:
    """Turn what the system, Arrow and DuckDB raise in the block into FakebrokerError, with the exception as its cause.

    `what` is read in the block, for errors that name no file. A pipe that nobody reads is left to the command line.
    """
    from pyarrow import ArrowException

    try:
        yield
    except BrokenPipeError:
        raise
    except (ArrowException, *_of_duckdb()) as error:
        if type(error).__name__ in _OF_QUERIES:
            raise
        raise FakebrokerError(f"{what or 'a table'} cannot be read: {_first_line(error)}") from error
    except OSError as error:
        where = error.filename if error.filename is not None else what  # Arrow's name no file
        raise FakebrokerError(f"{f'{where}: ' if where else ''}{error.strerror or _first_line(error)}") from error


def _of_duckdb() -> tuple[type[Exception], ...]:
    """What DuckDB raises; nothing where it does not run."""
    duckdb = sys.modules.get("duckdb")
    return () if duckdb is None else (duckdb.Error,)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
