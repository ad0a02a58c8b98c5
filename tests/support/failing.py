"""One test for many cases that are alike: which of them fail, and how."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Case = TypeVar("Case")


def failing(
    cases: Iterable[Case], check: Callable[[Case], object], name: Callable[[Case], str] = str
) -> dict[str, str]:
    """What a check raises for each case that it fails for, by the name of the case.

    There must be at least one case.
    """
    failures, count = {}, 0
    for case in cases:
        count += 1
        try:
            check(case)
        except Exception as error:
            failures[name(case)] = f"{type(error).__name__}: {error}"
    assert count, "there was nothing to check"
    return failures
