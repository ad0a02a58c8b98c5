"""What a command of the pipeline tells while it works: a line for each stage, with its rows, on standard error."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from pyspark import SparkContext, StatusTracker

_LOOK_EVERY_S: Final = 1.0


@dataclass
class Stage:
    """One stage; who works in it says how many rows it made."""

    name: str
    rows: int | None = None


class Progress:
    """Tells of stages. On a terminal a stage is shown as it works, with the tasks of Spark that are done."""

    def __init__(self, out: TextIO | None = None, context: "SparkContext | None" = None) -> None:
        self._out = out if out is not None else sys.stderr
        self._context = context

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Tell of a stage when it ends well: its name, its rows, how long it took."""
        stage, began_s = Stage(name), monotonic()
        with self._watched(name):
            yield stage
        rows = "" if stage.rows is None else f"{stage.rows:>14,} {'checks' if name == 'checks' else 'rows'}"
        self._out.write(f"{name:<22}{rows:<20} {monotonic() - began_s:6.1f} s\n")
        self._out.flush()

    @contextmanager
    def _watched(self, name: str) -> Iterator[None]:
        if not self._out.isatty():
            yield
            return
        self._show(name)
        try:
            if self._context is None:
                yield
            else:
                tracker = self._context.statusTracker()
                with repeated(lambda: self._show_tasks(name, tracker), _LOOK_EVERY_S):
                    yield
        finally:
            self._out.write("\r\x1b[K")

    def _show_tasks(self, name: str, tracker: "StatusTracker") -> None:
        stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
        tasks = sum(each.numTasks for each in stages if each is not None)
        finished = sum(each.numCompletedTasks for each in stages if each is not None)
        self._show(f"{name}: {finished} of {tasks} tasks")

    def _show(self, text: str) -> None:
        """Write a line that the next one replaces."""
        self._out.write(f"\r\x1b[K{text}")
        self._out.flush()


@contextmanager
def repeated(look: Callable[[], None], every_s: float) -> Iterator[None]:
    """While the block works, call `look` every so often, in a thread of its own, which has ended after the block."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(every_s):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
