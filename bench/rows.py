"""Rows of the page's tables, printed as soon as they are measured."""

from bench.driver import median_and_spread


def line(cells: list[str]) -> str:
    """A row; it is printed, too."""
    text = "| " + " | ".join(cells) + " |"
    print(text, flush=True)
    return text


def verdict(good: bool) -> str:
    """A word for whether a goal was met."""
    return "met" if good else "MISSED"


def one_number(what: str, values: list[float], goal: float, unit: str) -> str:
    """One row about a number that should be small."""
    middle, low, high = median_and_spread(values)
    return line([what, f"{middle:.1f} {unit} ({low:.1f} .. {high:.1f})", f"{goal} {unit} {verdict(middle <= goal)}"])


def section(title: str, header: list[str], rows: list[str]) -> str:
    """A table under its title."""
    return "\n".join([f"## {title}", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header), *rows, ""])
