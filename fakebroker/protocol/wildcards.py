"""Names with wildcards, as the shell has them: "order*", "[ab]?"."""

from fnmatch import fnmatchcase
from typing import Final

MAX_LENGTH: Final = 1000
"""Characters of a pattern. The cost is the product of both lengths, and reading "[[[[" takes the square of its own."""


def is_like(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern. One of more than MAX_LENGTH characters matches only itself."""
    return name == pattern if len(pattern) > MAX_LENGTH else fnmatchcase(name, pattern)
