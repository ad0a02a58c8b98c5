"""The list of public names in docs/reference, and what is said when names are gone."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

PATH: Final = Path(__file__).resolve().parents[2] / "docs/reference/public-names.txt"
_HEAD: Final = """\
# Every public name, one a line (docs/reference/versions.md). Written by `make public-names`, which refuses removals.
"""


def listed() -> list[str]:
    """The names of the list."""
    return [line for line in PATH.read_text().splitlines() if line and not line.startswith("#")]


def write(names: Iterable[str]) -> None:
    """Write the list."""
    PATH.write_text(_HEAD + "".join(f"{name}\n" for name in names))


def gone(before: Iterable[str], now: Iterable[str]) -> list[str]:
    """The names of before that are gone."""
    return sorted(set(before) - set(now))


def removal_text(removed: Iterable[str]) -> str:
    """What to decide, and how."""
    return "\n".join(
        [
            "These public names are gone:",
            *(f"  {name}" for name in removed),
            "A removal is a decision: users' tests, scripts and files that use the name fail. Keep the name. Or, if it",
            "has been deprecated for as long as docs/reference/versions.md promises, raise the major version in",
            "pyproject.toml, write the removal into CHANGELOG.md, and run",
            "  make public-names ARGS=--accept-removals",
        ]
    )
