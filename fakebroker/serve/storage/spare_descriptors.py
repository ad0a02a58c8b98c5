"""File descriptors that are kept back for the files of a data directory.

Connections may use all descriptors: a thousand idle clients take as many as a process may have by default. A write that
finds none left would take the log directory offline, as in Kafka; here it gets these.
"""

import errno
import os
from collections.abc import Callable
from typing import Final, TypeVar

from fakebroker.platform.files import OPEN_FLAGS

T = TypeVar("T")

COUNT: Final = 16
_NONE_LEFT: Final = (errno.EMFILE, errno.ENFILE)


def are_used_up(error: OSError) -> bool:
    """Whether an operation failed for want of a descriptor."""
    return error.errno in _NONE_LEFT


class SpareDescriptors:
    """Descriptors that are closed when a file needs them; the first `run` opens them.

    `close_files` closes files that can be opened again.
    """

    def __init__(self, close_files: Callable[[], None]) -> None:
        self._close_files = close_files
        self._kept: list[int] = []

    def run(self, action: Callable[..., T], *arguments: object) -> T:
        """Do something with files, once more if there was no descriptor left for it; returns its result.

        Raises OSError.
        """
        if len(self._kept) < COUNT:
            self._fill()
        try:
            return action(*arguments)
        except OSError as error:
            if not are_used_up(error):
                raise
            self.close()
            self._close_files()
            return action(*arguments)

    def close(self) -> None:
        """Close them."""
        while self._kept:
            os.close(self._kept.pop())

    def _fill(self) -> None:
        try:
            while len(self._kept) < COUNT:
                self._kept.append(os.open(os.devnull, os.O_RDONLY | OPEN_FLAGS))
        except OSError:
            return  # there are none at the moment
