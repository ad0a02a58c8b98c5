"""Durations as Java's `Duration` reads them: ISO 8601, such as "PT1H30M"."""

import re
from typing import Final

_FORM: Final = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS: Final = (86_400, 3_600, 60, 1)  # of a day, an hour, a minute, a second
_MAX_SECONDS: Final = 2**63 - 1
_MAX_DIGITS: Final = 19  # of a number that fits, beside zeros in front of it


def duration_ms(text: str) -> int:
    """The whole milliseconds of a duration, rounded down. Raises ValueError for one that Java does not read."""
    found = _FORM.fullmatch(text)
    if found is None or not any(found.group(2, 4, 5, 6)) or found[3] in ("T", "t"):
        raise ValueError(f"{text!r} is not a duration such as PT1H30M")
    seconds = sum(_whole(number) * unit for number, unit in zip(found.group(2, 4, 5, 6), _SECONDS, strict=True))
    nanos = int((found[7] or "").ljust(9, "0")) * (-1 if (found[6] or "").startswith("-") else 1)
    if abs(seconds) > _MAX_SECONDS:
        raise ValueError(f"{text[:50]!r} is too long a duration")
    return (seconds * 1_000_000_000 + nanos) * (-1 if found[1] == "-" else 1) // 1_000_000


def _whole(number: str | None) -> int:
    """Raises ValueError for one that does not fit into 64 bits."""
    digits = (number or "0").lstrip("+-0")
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"{digits[:50]} is too long a duration")
    return int(digits or "0") * (-1 if (number or "").startswith("-") else 1)
