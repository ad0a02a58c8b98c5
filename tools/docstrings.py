"""Functions as generated pages show them."""

from collections.abc import Callable
from typing import Any


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, as code."""
    return f"`{function.__name__}`"


def first_line(function: Callable[..., Any]) -> str:
    """The first line of what a function says about itself."""
    return (function.__doc__ or "").strip().splitlines()[0]
