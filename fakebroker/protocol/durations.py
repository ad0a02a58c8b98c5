"""Durations as people write them: "250ms", "10s", "1h 10m", "3d"."""

import re
from typing import Final

UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_AMOUNT = rf"\d+(\.\d+)?({'|'.join(UNITS_MS)})"
_AMOUNTS = re.compile(_AMOUNT)
DURATION: Final = rf"\s*{_AMOUNT}(\s*{_AMOUNT})*\s*"
"""A duration as a regular expression, of Python and of JSON Schema."""
_WHOLE_DURATION = re.compile(DURATION)
_LONGEST_MS: Final = 10**15  # what a clock of the year 9999 has room for, and more
_MAX_CHARACTERS: Final = 60


def duration_ms(text: str) -> int:
    """Milliseconds of "250ms", "10s", "1h 10m", "3d". Raises ValueError, whose text goes on after the duration."""
    if len(text) > _MAX_CHARACTERS or not _WHOLE_DURATION.fullmatch(text):
        raise ValueError("is not a duration, such as 250ms, 10s, 1h 10m or 3d")
    amounts = [(found[0].removesuffix(found[2]), found[2]) for found in _AMOUNTS.finditer(text)]
    total = round(sum(float(number) * UNITS_MS[unit] for number, unit in amounts))
    if total > _LONGEST_MS:
        raise ValueError("is too long")
    return total
