"""Counts of what members of a group subscribe to, such as the topics that they name."""

from collections.abc import Iterable


def add_to_counts(counts: dict[str, int], keys: Iterable[str], by: int) -> bool:
    """Count each of `keys` up by 1 or down by -1; one that comes to 0 is dropped. Returns whether any came or went."""
    changed = False
    for key in keys:
        count = counts.get(key, 0) + by
        changed |= count in (0, by)
        if count:
            counts[key] = count
        else:
            del counts[key]
    if not counts:
        counts.clear()  # it would keep the room that it once needed as long as the group lives
    return changed
