"""Times of day as text for people."""

from datetime import UTC, datetime


def date_text(ms: int) -> str:
    """2026-03-01 09:00, with seconds where there are any; a number where no calendar reaches."""
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(ms)
    return moment.strftime("%Y-%m-%d %H:%M" if ms % 60_000 == 0 else "%Y-%m-%d %H:%M:%S")


def span_text(ms: int) -> str:
    """7 d, 36 h, 90 min: the largest unit that divides it."""
    for unit_ms, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min")):
        if ms % unit_ms == 0:
            return f"{ms // unit_ms} {name}"
    return f"{ms} ms"
