"""When long work is to let others have their turn (Call.work)."""


class Pace:
    """Counts what was done since the last pause, in whatever unit the work is counted: topics, groups, entries."""

    __slots__ = ("_left", "_units_per_step")

    def __init__(self, units_per_step: int) -> None:
        self._units_per_step = self._left = units_per_step

    def is_over(self, units: int = 1) -> bool:
        """Note that so much more was done. True when that fills a step: the caller yields."""
        self._left -= units
        if self._left >= 0:
            return False
        self._left = self._units_per_step
        return True
