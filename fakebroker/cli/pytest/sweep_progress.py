"""The progress of a sweep on pytest's terminal: `12/39 OffsetCommit#1:disconnect`, with and without -s."""

import time
from typing import Any

import pytest

from fakebroker.testing.sweeps.report import BROKEN, HUNG, CaseResult

QUIET_S = 5.0  # a short sweep shows nothing where lines cannot be rewritten


class Progress:
    """Shows which run is under way, and those that break.

    A terminal has one line that changes. Elsewhere, as in the log of a CI job, there is a line for each run once the
    sweep has taken QUIET_S. Nothing is shown by the workers of pytest-xdist, which have no terminal.
    """

    def __init__(self, item: pytest.Item, runs: int) -> None:
        self._reporter: Any = item.config.pluginmanager.get_plugin("terminalreporter")
        self._name = item.name
        self._runs = runs
        self._begun = 0
        self._current = ""
        self._start_s = time.monotonic()
        self._is_line_open = False

    @property
    def current(self) -> str:
        """The run that is under way: "12/39 OffsetCommit#1:disconnect"."""
        return self._current

    def begins(self, name: str) -> None:
        """The next run begins, with this fault."""
        self._begun += 1
        self._current = f"{self._begun}/{self._runs} {name}"
        if self._is_terminal:
            self._reporter.rewrite(f"{self._name}: {self._current}", erase=True)
            self._is_line_open = True
        elif time.monotonic() - self._start_s >= QUIET_S:
            self._line(self._current)

    def ended(self, result: CaseResult) -> None:
        """That run has ended."""
        if result.outcome in (BROKEN, HUNG) and (self._is_terminal or time.monotonic() - self._start_s >= QUIET_S):
            self._line(f"{self._current}: {result.outcome}: {result.message}")

    def over(self) -> None:
        """The sweep has ended: what follows begins on a line of its own."""
        if self._is_line_open:
            self._reporter.rewrite("", erase=True)
            self._is_line_open = False

    def say(self, text: str) -> None:
        """Lines that are shown in any case."""
        self.over()
        if self._reporter is not None:
            self._reporter.ensure_newline()
            for line in text.splitlines():
                self._reporter.write_line(line)
            self._reporter.flush()

    def _line(self, text: str) -> None:
        if self._reporter is not None and self._reporter.verbosity >= 0:
            self.say(f"{self._name}: {text}")

    @property
    def _is_terminal(self) -> bool:
        return bool(self._reporter is not None and self._reporter.isatty and self._reporter.verbosity >= 0)
