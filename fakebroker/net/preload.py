"""What answers need is loaded before there are no file descriptors left to load it with.

A broker starts fast because modules are imported when a request needs them. A process that has run out of file
descriptors cannot import any more, and would have to refuse clients that did nothing wrong. So the rest is loaded once
clients have come, a module at a time between their requests; and one descriptor is kept back to load what is missing
if they run out before that.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages

import fakebroker

# The packages that requests are served with, those that the others need first: so every step is short.
PACKAGES = ("schema", "records", "wire", "core", "apis")
FOREIGN = ("difflib", "encodings.utf_16_be", "encodings.utf_16_le")  # what those import late, or Python for them
FIRST_AFTER_S = 1.0  # the first clients are in a hurry, and most tests are over by then
PAUSE_S = 0.05

_loaded = False  # modules belong to the process: all its brokers have them


class Preload:
    """Imports, step by step in an event loop, what serving may need. One for each start of a server."""

    def __init__(self) -> None:
        self._modules: Iterator[str] = iter(())
        self._next: asyncio.TimerHandle | None = None
        self._spare_fd: int | None = None

    def prepare(self) -> None:
        """Keep a file descriptor back, unless all is loaded."""
        if not _loaded:
            self._modules = _modules()
            self._spare_fd = _spare()

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """A client has come: load the rest soon."""
        if self._spare_fd is not None and self._next is None:
            self._next = loop.call_later(FIRST_AFTER_S, self._step, loop)

    def finish(self) -> None:
        """No descriptors are left: load all that is missing now, by the one that was kept back."""
        if self._spare_fd is None:
            return
        self.stop()
        failed = [name for name in self._modules if not _load(name)]
        if not failed:
            _done()

    def stop(self) -> None:
        """Do not go on, and give the spare descriptor back."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
        if self._spare_fd is not None:
            os.close(self._spare_fd)
            self._spare_fd = None

    def _step(self, loop: asyncio.AbstractEventLoop) -> None:
        for name in self._modules:
            if name not in sys.modules:
                _load(name)
                self._next = loop.call_later(PAUSE_S, self._step, loop)
                return
        self.stop()
        _done()


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        yield f"fakebroker.{package}"
        path = [f"{fakebroker.__path__[0]}/{package}"]
        yield from (found.name for found in walk_packages(path, f"fakebroker.{package}."))
    yield from FOREIGN


def _load(name: str) -> bool:
    """Whether it is loaded. If not, it is tried again when a request needs it, and then the failure is told."""
    with suppress(Exception):
        import_module(name)
    return name in sys.modules


def _done() -> None:
    global _loaded
    _loaded = True


def _spare() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None
