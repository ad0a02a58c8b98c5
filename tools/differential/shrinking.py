"""Histories made shorter and plainer, as long as they show the same."""

from collections.abc import Callable, Sequence

from tools.differential.chapters import Action


def shrunk(
    actions: Sequence[Action], shows: Callable[[list[Action]], bool], is_over: Callable[[], bool]
) -> list[Action]:
    """A short history that still `shows` the difference, found until time `is_over`.

    First actions are left out, many at once and then one by one; then the numbers of each become 0.
    """
    found = list(actions)

    def is_better(tried: list[Action]) -> bool:
        nonlocal found
        if is_over() or not shows(tried):
            return False
        found = tried
        return True

    size = len(found)
    while size:
        at = len(found) - size  # from the end: what comes before it may be needed
        while at > -size:
            is_better([*found[: max(at, 0)], *found[max(at, 0) + size :]])
            at -= size
        size //= 2
    for at, (name, *_) in enumerate(found):
        _, first, second = found[at]
        for numbers in ((0, 0), (first, 0), (0, second)):
            if numbers != (first, second) and is_better([*found[:at], (name, *numbers), *found[at + 1 :]]):
                break
    return found
