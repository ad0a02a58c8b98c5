"""How far a campaign is: runs done of all, and failures so far, on standard error."""

import sys
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Final, TextIO

from fakebroker.analysis.campaign.one_run import PASSED, Row

EVERY_S: Final = (0.2, 10.0)  # on a terminal, where a line replaces the one before; elsewhere


class CampaignProgress:
    """Says now and then how far it is. On a terminal this is one line, which goes at the end."""

    def __init__(self, all_runs: int, out: TextIO | None = None) -> None:
        self._all_runs = all_runs
        self._out = out if out is not None else sys.stderr
        self._is_terminal = self._out.isatty()
        self._shown_s = self._began_s = monotonic()
        self._every_s = EVERY_S[0 if self._is_terminal else 1]
        self._is_shown = False

    def show(self, done: int, failures: int) -> None:
        """Say it, unless that was done just now."""
        now_s = monotonic()
        if now_s - self._shown_s < self._every_s:
            return
        self._shown_s = now_s
        text = f"{done:,} of {self._all_runs:,} runs, {failures:,} failed, {now_s - self._began_s:.0f} s"
        self._out.write(f"\r\x1b[K{text}" if self._is_terminal else f"{text}\n")
        self._out.flush()
        self._is_shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._is_terminal and self._is_shown:
            self._out.write("\r\x1b[K")
            self._out.flush()

    def counting(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows; they are counted on their way."""
        failures = 0
        for done, row in enumerate(rows, 1):
            failures += row["outcome"] != PASSED
            self.show(done, failures)
            yield row
        self.clear()
