"""What the things of one run are in another: ids in pairs, counters by how far apart they began."""

from typing import Any

Json = Any


class Pairs:
    """A one-to-one mapping between values of a recorded run and ours, for each kind of thing; it only grows.

    What was paired on trial can be taken back: `mark`, then `undo`.
    """

    def __init__(self) -> None:
        self._ours: dict[tuple[Json, ...], Json] = {}
        self._recorded: dict[tuple[Json, ...], Json] = {}
        self._added: list[tuple[tuple[Json, ...], tuple[Json, ...] | None]] = []
        self._trials = 0

    def pair(self, kind: str, recorded: Json, ours: Json) -> bool:
        """Note that the two are the same thing; False if either is known to be another one."""
        there, here = (kind, recorded), (kind, ours)
        if there in self._ours or here in self._recorded:
            return there in self._ours and self._ours[there] == ours
        self._ours[there] = ours
        self._recorded[here] = recorded
        self._note(there, here)
        return True

    def ours(self, kind: str, recorded: Json) -> Json:
        """Our value for a recorded one; None while there is none."""
        return self._ours.get((kind, recorded))

    def recorded(self, kind: str, ours: Json) -> Json:
        """The recorded value that one of ours stands for; None while there is none."""
        return self._recorded.get((kind, ours))

    def count(self, counter: tuple[Json, ...], recorded: int, ours: int) -> bool:
        """Whether a counter that only grows has grown by the same in both runs since it was first seen."""
        key = ("counter", *counter)
        if key not in self._ours:
            self._ours[key] = ours - recorded
            self._note(key, None)
        return bool(self._ours[key] == ours - recorded)

    def our_count(self, counter: tuple[Json, ...], recorded: int) -> int:
        """What a counter's recorded value is in our run; unchanged while the counter was not seen."""
        return recorded + int(self._ours.get(("counter", *counter), 0))

    def mark(self) -> int:
        """Begin a trial: what is paired from here on can be taken back by `undo`."""
        self._trials += 1
        return len(self._added)

    def undo(self, mark: int) -> None:
        """End a trial and take back what was paired since."""
        self._trials -= 1
        while len(self._added) > mark:
            there, here = self._added.pop()
            del self._ours[there]
            if here is not None:
                del self._recorded[here]

    def keep(self) -> None:
        """End a trial and keep what was paired."""
        self._trials -= 1
        if not self._trials:
            self._added.clear()

    def _note(self, there: tuple[Json, ...], here: tuple[Json, ...] | None) -> None:
        if self._trials:
            self._added.append((there, here))
