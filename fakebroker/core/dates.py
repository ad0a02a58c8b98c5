"""Times of day as text for people."""

from datetime import UTC, datetime


def date_text(ms: int) -> str:
    """2026-03-01 09:00, with seconds where there are any; a number where no calendar reaches."""
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(ms)
    return moment.strftime("%Y-%m-%d %H:%M" if ms % 60_000 == 0 else "%Y-%m-%d %H:%M:%S")
