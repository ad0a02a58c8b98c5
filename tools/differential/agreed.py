"""Differences that are meant: each with the reason, as docs/explanation/fidelity.md explains it."""

import re
from typing import Final

AGREED: Final[dict[str, str]] = {}


def is_agreed(difference: str) -> bool:
    """Whether a difference is one of these."""
    return any(re.search(pattern, difference) for pattern in AGREED)
