"""Wording that fails: an error in the words for one request must not cost those for all others."""

from collections.abc import Callable

WORDING_FAILED = "wording failed"


def wording_or_error(make: Callable[[], str]) -> str:
    """What `make` returns; that the wording failed, and by which exception, if it raises one: a bug of the broker."""
    try:
        return make()
    except Exception as error:
        return f"({WORDING_FAILED}: {type(error).__name__})"
