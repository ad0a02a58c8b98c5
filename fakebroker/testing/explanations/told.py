"""What cannot be told is said to be so: a fault in the words for one request must not cost those for all others."""

from collections.abc import Callable

NOT_TOLD = "cannot be told"


def told(tell: Callable[[], str]) -> str:
    """What `tell` says; that it cannot be told, and by which exception, if that raises one: a bug of the broker."""
    try:
        return tell()
    except Exception as error:
        return f"({NOT_TOLD}: {type(error).__name__})"
