"""Imports the modules that requests need, before the process may have no file descriptors left to import them with.

A broker starts fast because modules are imported when a request needs them. A process that has run out of file
descriptors cannot import any more, and would have to fail the requests of clients that did nothing wrong. So the
rest is loaded once clients have connected, a module at a time between their requests; and one descriptor is reserved
to load what is missing if they run out before that.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages

import fakebroker

# The packages that serve requests, in the order of their layers: a module imports little that is not loaded already.
PACKAGES = ("protocol.schema", "protocol.records", "protocol.wire", "broker.core", "broker.apis")
# What those modules, or Python, import late.
FOREIGN = ("difflib", "encodings.utf_16_be", "encodings.utf_16_le", "xxhash")
FIRST_AFTER_S = 1.0  # do not slow the first requests down; most tests are over by then
PAUSE_S = 0.05

_loaded = False  # modules belong to the process: all its brokers have them


class Preload:
    """Imports, step by step in an event loop, what serving may need. One for each start of a server."""

    def __init__(self) -> None:
        self._modules: Iterator[str] = iter(())
        self._next: asyncio.TimerHandle | None = None
        self._spare_fd: int | None = None

    def prepare(self) -> None:
        """Reserve a file descriptor, unless everything is loaded."""
        if not _loaded:
            self._modules = _modules()
            self._spare_fd = _spare()

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to import FIRST_AFTER_S from now, a module at a time; called when the first client has connected."""
        if self._spare_fd is not None and self._next is None:
            self._next = loop.call_later(FIRST_AFTER_S, self._step, loop)

    def finish(self) -> None:
        """Import all that is missing now, with the reserved descriptor; for when there is no other left."""
        if self._spare_fd is None:
            return
        self.stop()
        # From the beginning: those that failed in a step, for want of a descriptor, are tried again.
        failed = [name for name in _modules() if not _load(name)]
        if not failed:
            _done()

    def stop(self) -> None:
        """Stop importing, and close the reserved descriptor."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
        if self._spare_fd is not None:
            os.close(self._spare_fd)
            self._spare_fd = None

    def _step(self, loop: asyncio.AbstractEventLoop) -> None:
        for name in self._modules:
            if name not in sys.modules:
                if _load(name):
                    self._next = loop.call_later(PAUSE_S, self._step, loop)
                else:
                    self.finish()  # most likely descriptors have run out, with no client to find it in accept()
                return
        self.stop()
        _done()


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        yield f"fakebroker.{package}"
        path = [f"{fakebroker.__path__[0]}/{package.replace('.', '/')}"]
        yield from (found.name for found in walk_packages(path, f"fakebroker.{package}."))
    yield from FOREIGN


def _load(name: str) -> bool:
    """Import a module; whether it is loaded now. If not, the request that needs it tries again, and fails."""
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
