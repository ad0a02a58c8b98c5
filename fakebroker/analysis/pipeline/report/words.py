"""Numbers, times and spans of time as the report writes them."""

from datetime import UTC, datetime

_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))


def visible(text: str) -> str:
    """A text with its control characters, and others that are not seen, as Python writes them; lines stay lines.

    Names come from clients: one that turns the direction of writing must not turn the page.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text)


def span_text(ms: float | None) -> str:
    """A span of time in its two largest units: 3 d 4 h, 1.5 s, 250 ms."""
    if ms is None:
        return "unknown"
    left = round(ms)
    if 1000 <= left < 60_000:
        return f"{left / 1000:.3g} s"
    parts: list[str] = []
    for size, unit in _SPANS:
        if left >= size and len(parts) < 2:
            parts.append(f"{left // size} {unit}")
            left %= size
        elif parts:
            break
    return " ".join(parts) or "0 ms"


def time_text(ms: int | None) -> str:
    """A time of day, UTC, to the second."""
    return "unknown" if ms is None else f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def moment_text(ms: int, precision_ms: int = 1000) -> str:
    """A moment, UTC: with milliseconds if the precision is below a second, and without seconds if it is minutes."""
    if precision_ms < 1000:
        return f"{time_text(ms)}.{ms % 1000:03}"
    return time_text(ms)[: -3 if precision_ms % 60_000 == 0 else None]


def short(number: float) -> str:
    """A number in a few characters: 950, 12k, 3.4M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            value = number / size
            return f"{value:.1f}".removesuffix(".0") + unit if value < 10 else f"{value:.0f}{unit}"
    return f"{number:.0f}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """1 group, 2,000 groups."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(part: float, whole: float) -> str:
    """A share: 0 %, 0.4 %, 12 %."""
    if not whole or not part:
        return "0 %"
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 10 else f"{share:.2g} %" if share >= 0.01 else "< 0.01 %"


def left_out(number: int, one: str, what: str = "not shown") -> str:
    """The end of a caption: how many others there are; nothing if there are none."""
    return f"; {counted(number, one)} {what}" if number > 0 else ""
