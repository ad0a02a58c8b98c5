"""Regular expressions in scenarios: those of RE2, which take no longer than the text is long, whatever a file says."""

from functools import lru_cache

from fakebroker.broker.core.re2.pattern import InvalidPattern, Pattern, compile_pattern
from fakebroker.protocol.pace import Pace, finished

_NO_PAUSE = 1 << 62


def is_pattern(text: str) -> bool:
    """Whether the text is a regular expression."""
    try:
        _anywhere(text)
    except InvalidPattern:
        return False
    return True


def is_found(pattern: str, text: str) -> bool:
    """Whether the pattern matches some part of the text. Raises InvalidPattern."""
    return finished(_anywhere(pattern).fullmatch(text, Pace(_NO_PAUSE)))


@lru_cache(maxsize=256)
def _anywhere(pattern: str) -> Pattern:
    compile_pattern(pattern)  # by itself: it may not close the group that it is put into
    return compile_pattern(f"(?s:.*)(?:{pattern})(?s:.*)")
